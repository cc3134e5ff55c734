/** Serving the operations that other services ask for, and asking for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, Refusal, type RefusalCode } from '@svc/contract/codes.ts';
import type { Decision, Denial } from '@svc/contract/decision.ts';
import {
  type AskedBy,
  type GatheredReply,
  GatheredRequest,
  mayAsk,
  OPERATION_SUBJECTS,
  type OperationDeclaration,
  type OperationOf,
  type OperationReply,
  OperationRequest,
  type Operations,
  type Outcome,
  type ParsedQuestion,
  type Question,
} from '@svc/contract/operation.ts';
import { callErrorOf, failureOf } from '@svc/contract/rpc.ts';
import type { z } from 'zod';
import { invalidArguments } from './arguments.ts';
import { type Bus, BusError, type RequestOptions, type Subscription } from './bus.ts';
import { createGathering } from './gathering.ts';
import { diskRefusalOf } from './disk-errors.ts';
import { callErrorFor, createFailureReport } from './failures.ts';
import type { StatelessPlatform } from './platform.ts';

/** Beside the question: who asks, on whose behalf, and until when. */
export interface OperationContext<Deps> {
  readonly deps: Deps;
  /** The service that asks. */
  readonly asker: string;
  /** Who caused it, for the audit; null = nobody said so. */
  readonly by: string | null;
  /** The call that caused it was an operator's. */
  readonly operator: boolean;
  readonly deadlineAt: number;
}

export type Handlers<Of extends Operations, Deps, Name extends OperationOf<Of> = OperationOf<Of>> = {
  readonly [Each in Name]: (
    question: ParsedQuestion<Of, Each>,
    context: OperationContext<Deps>,
  ) => Promise<Outcome<Of, Each>>;
};

type AnyHandler<Deps> = (question: unknown, context: OperationContext<Deps>) => Promise<unknown>;

interface Serving<Of extends Operations, Deps> {
  readonly operations: Of;
  readonly handlers: Handlers<Of, Deps>;
  readonly deps: Deps;
  /** Only what is addressed to this process; absent = a share of what is asked of the service. */
  readonly process?: string;
}

type ServingPlatform = Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;

/** Answers until the subscription is drained. Whatever a handler throws is answered; a bug is logged and answered INTERNAL. */
export function serveOperations<Of extends Operations, Deps>(
  platform: ServingPlatform,
  serving: Serving<Of, Deps>,
): Promise<Subscription> {
  const { operations, process } = serving;
  const { service, declared } = operations;
  const handlers = serving.handlers as Readonly<Record<string, AnyHandler<Deps>>>;
  const report = createFailureReport(platform.log, 'an operation failed');

  async function replyTo(asked: unknown, subject: string): Promise<OperationReply> {
    const [, , asker = '', name = ''] = subject.split('.');
    const declaration = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const handler = handlers[name];
    try {
      if (declaration === undefined || handler === undefined)
        throw new CallError('TOOL_NOT_FOUND', `${service} has no operation ${name}.`);
      if (!mayAsk(declaration, asker)) throw new CallError('FORBIDDEN', `${asker} may not ask for ${service}.${name}.`);
      const { deadlineAt, by = null, operator = false, question } = OperationRequest.parse(asked);
      if (declaration.effect !== 'read' && deadlineAt <= platform.clock.now()) throw new CallError('TIMEOUT');
      const context = { deps: serving.deps, asker, by, operator, deadlineAt };
      return replyWith(await handler(parsedQuestion(declaration, question), context), declaration);
    } catch (error) {
      return failedWith(error, declaration, () => {
        report(error, { operation: `${service}.${name}`, asker });
      });
    }
  }

  async function replyToAll(payload: string, subject: string): Promise<OperationReply | GatheredReply> {
    const asked = jsonOf(payload);
    const gathered = GatheredRequest.safeParse(asked);
    if (!gathered.success) return replyTo(asked, subject);
    return { replies: await Promise.all(gathered.data.many.map((one) => replyTo(one, subject))) };
  }

  return platform.bus.respond(
    OPERATION_SUBJECTS.servedBy(service, process),
    async (payload, subject) => JSON.stringify(await replyToAll(payload, subject)),
    process === undefined ? { queue: service } : {},
  );
}

/** Undefined is no question either. */
function jsonOf(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

function parsedQuestion({ question }: OperationDeclaration, given: unknown): unknown {
  const parsed = question.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalidArguments(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
}

/** Throws for what the declaration does not know. */
function replyWith(outcome: unknown, { answer, refuses }: OperationDeclaration): OperationReply {
  if (refuses === undefined) return { answer: answer.parse(outcome) };
  const decision = outcome as Decision<unknown, RefusalCode>;
  if (decision.ok) return { answer: answer.parse(decision.value) };
  const { code, message, details } = decision;
  throw new Refusal(code, details, message);
}

function failedWith(error: unknown, declaration: OperationDeclaration | undefined, report: () => void): OperationReply {
  const refusal = error instanceof Refusal ? error : diskRefusalOf(error);
  if (refusal !== null && declaration?.refuses?.includes(refusal.code) === true) {
    const { code, message, details } = refusal;
    return { refusal: { code, message, details } };
  }
  const told = callErrorFor(refusal ?? error);
  if (refusal !== null || (told.code === 'INTERNAL' && told !== error)) report();
  return { failure: failureOf(told) };
}

/** On whose behalf a service asks, and how long it waits. */
export interface AskOptions {
  readonly by?: string | null;
  readonly operator?: boolean;
  /** Milliseconds since the epoch; absent = ANSWERED_WITHIN_MS from now. */
  readonly deadlineAt?: number;
  /** Of the processes of the service, this one. */
  readonly process?: string;
}

/**
 * The operations of a service as `Asker` may ask for them. Each throws what the handler threw; SERVICE_UNAVAILABLE when
 * nobody answers; TIMEOUT when the deadline that was given passes; E_OUTCOME_UNKNOWN when a `write` may have happened. The
 * cause of the latter three is the BusError.
 */
export type OperationClient<Of extends Operations, Asker extends string> = {
  readonly [Name in AskedBy<Of, Asker>]: (
    question: Question<Of, Name>,
    options?: AskOptions,
  ) => Promise<Outcome<Of, Name>>;
};

/** How long services wait for each other unless they say so. That nobody is there shows at once, and who is busy is not away. */
export const ANSWERED_WITHIN_MS = 5000;
/** A service that is being replaced is away for a moment. */
const PAUSES_MS = [10, 30, 60];

export interface AskingPlatform extends Pick<StatelessPlatform, 'clock'> {
  readonly bus: Pick<Bus, 'request'>;
}

export function createOperationClient<Of extends Operations, const Asker extends string>(
  platform: AskingPlatform,
  { service, declared }: Of,
  asker: Asker,
): OperationClient<Of, Asker> {
  const operations = Object.entries(declared)
    .filter(([, declaration]) => mayAsk(declaration, asker))
    .map(([name, declaration]) => {
      const toAny = OPERATION_SUBJECTS.one(service, asker, name);
      const gather = createGathering<RequestMessage, OperationReply>((asked) =>
        requestTogether(platform, toAny, declaration, asked),
      );
      const ask = async (question: unknown, options: AskOptions = {}): Promise<unknown> => {
        const subject = OPERATION_SUBJECTS.one(service, asker, name, options.process);
        const asked = messageOf(platform, question, options);
        const { process, deadlineAt } = options;
        const isGathered = declaration.gathered === true && process === undefined && deadlineAt === undefined;
        const send = (message: RequestMessage) =>
          isGathered ? gather(message) : request<OperationReply>(platform, subject, declaration, message, options);
        const reply = await send(asked);
        const older = isNotUnderstood(reply) ? inOlderWords(asked, declaration) : null;
        return outcomeOf(older === null ? reply : await send(older), declaration, subject);
      };
      return [name, ask] as const;
    });
  return Object.fromEntries(operations) as unknown as OperationClient<Of, Asker>;
}

type RequestMessage = z.input<typeof OperationRequest>;

function messageOf(
  { clock }: Pick<AskingPlatform, 'clock'>,
  question: unknown,
  { by, operator, deadlineAt }: AskOptions,
): RequestMessage {
  return {
    deadlineAt: deadlineAt ?? clock.now() + ANSWERED_WITHIN_MS,
    ...(by === undefined || by === null ? {} : { by }),
    ...(operator === true ? { operator } : {}),
    question,
  };
}

/** Nothing was begun. */
function isNotUnderstood(reply: OperationReply): boolean {
  return 'failure' in reply && reply.failure.code === 'VAF_INPUT_INVALID';
}

/** As the version before is asked; null = that was no other question. */
function inOlderWords(message: RequestMessage, { newer = [] }: OperationDeclaration): RequestMessage | null {
  const members = Object.entries(message.question ?? {});
  const older = members.filter(([name]) => !newer.includes(name));
  return older.length === members.length ? null : { ...message, question: Object.fromEntries(older) };
}

/** Those that together are more than a message may be go one by one. */
async function requestTogether(
  platform: AskingPlatform,
  subject: string,
  declaration: OperationDeclaration,
  asked: readonly RequestMessage[],
): Promise<readonly OperationReply[]> {
  const one = (message: RequestMessage) => request<OperationReply>(platform, subject, declaration, message);
  if (asked.length === 1) return Promise.all(asked.map(one));
  try {
    const deadlineAt = Math.max(...asked.map((message) => message.deadlineAt));
    return (await request<GatheredReply>(platform, subject, declaration, { deadlineAt, many: [...asked] })).replies;
  } catch (error) {
    if (error instanceof CallError && error.code === 'PAYLOAD_TOO_LARGE') return Promise.all(asked.map(one));
    throw error;
  }
}

async function request<Reply>(
  { bus }: AskingPlatform,
  subject: string,
  { effect }: OperationDeclaration,
  message: RequestMessage | (z.input<typeof GatheredRequest> & Pick<RequestMessage, 'deadlineAt'>),
  { deadlineAt: given }: AskOptions = {},
): Promise<Reply> {
  const { deadlineAt } = message;
  const payload = JSON.stringify('many' in message ? { many: message.many } : message);
  const options: RequestOptions = { deadlineAt, isRepeatable: effect !== 'write' };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return JSON.parse(await bus.request(subject, payload, options)) as Reply;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      const pauseMs = isWorthAnother(error, options) ? PAUSES_MS[attempt] : undefined;
      if (pauseMs === undefined) throw unanswered(error, effect, given !== undefined);
      await sleep(pauseMs);
    }
  }
}

function isWorthAnother({ code, undelivered }: BusError, { isRepeatable = false }: RequestOptions): boolean {
  if (code === 'TOO_LARGE' || code === 'TIMEOUT') return false;
  return undelivered || isRepeatable;
}

function unanswered(cause: BusError, effect: OperationDeclaration['effect'], hasDeadline: boolean): CallError {
  const error = errorWithout(cause, effect, hasDeadline);
  error.cause = cause;
  return error;
}

function errorWithout(
  { code, undelivered }: BusError,
  effect: OperationDeclaration['effect'],
  hasDeadline: boolean,
): CallError {
  if (effect === 'write' && !undelivered) return new CallError('E_OUTCOME_UNKNOWN');
  if (code === 'TOO_LARGE')
    return new CallError('PAYLOAD_TOO_LARGE', 'It is more than services tell each other at once.');
  if (code === 'TIMEOUT' && hasDeadline) return new CallError('TIMEOUT');
  return new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
}

function outcomeOf(reply: OperationReply, { answer, refuses }: OperationDeclaration, subject: string): unknown {
  if ('failure' in reply) throw callErrorOf(reply.failure);
  if ('refusal' in reply) return { ok: false, ...reply.refusal } satisfies Denial<RefusalCode>;
  const parsed = answer.safeParse(reply.answer);
  if (!parsed.success) throw new Error(`${subject} was answered by something else`, { cause: parsed.error });
  return refuses === undefined ? parsed.data : { ok: true, value: parsed.data };
}
