/**
 * Reaches any brain of the system, whichever process owns it. Processes that share a data directory share the brains;
 * one at a time owns each, and every other sends it the work over the bus.
 */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  CALL_ERRORS,
  CallError,
  type CallErrorCode,
  Refusal,
  REFUSALS,
  type RefusalCode,
} from '@svc/contract/codes.ts';
import { callErrorOf, failureOf } from '@svc/contract/rpc.ts';
import { BusError, type Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { assertTimely } from '@svc/runtime/timely.ts';
import { isDatabaseAway, poolClient } from '@svc/runtime/transaction.ts';
import { isAbsent } from '../files/fsync.ts';
import { BrokenBranch } from '../git/broken-branch.ts';
import { heldLockOf } from '../git/held-lock.ts';
import { placeInGit } from '../git/odd-file.ts';
import { RepositoryProblem } from '../git/repository.ts';
import { GitError } from '../git/run.ts';
import { readLiveProcesses, readOwner } from '../store/ownership.ts';
import { operations } from '../operations/all.ts';
import { type AnyOperation, noteDenial, type Operation, type Served } from '../operations/operation.ts';
import { NotOwner, OpContext, TreeClosed } from '../writer/context.ts';
import type { BrainHost } from './brain-host.ts';
import { brainLoadFailure } from './brain-opening.ts';
import { withShownIds } from './shown-ids.ts';

/** A brain as one caller asks it, whichever process owns it. */
export interface AskedBrain {
  /** Throws what the operation throws, BRAIN_LOAD_FAIL when there is no such brain. */
  readonly ask: <Question, Answer>(
    operation: Operation<Question, Answer>,
    question: NoInfer<Question>,
  ) => Promise<Answer>;
}

/** A piece of work on one brain, here or where the brain is. */
interface Work<Answer> {
  readonly brain: string;
  readonly context: OpContext;
  readonly operation: Operation<never, Answer>;
  readonly question: unknown;
  readonly run: (served: Served) => Promise<Answer>;
}

/** Between processes: a question and what came of it. */
const Request = z.strictObject({
  brain: z.string(),
  operation: z.string(),
  context: OpContext,
  question: z.unknown(),
});
const Details = z.record(z.string(), z.unknown());
const Failure = z.strictObject({
  code: z.custom<CallErrorCode>((code) => typeof code === 'string' && Object.hasOwn(CALL_ERRORS, code)),
  message: z.string(),
  status: z.number(),
  data: Details,
  late: z.literal(true).optional(),
});
const Refused = z.strictObject({
  code: z.custom<RefusalCode>((code) => typeof code === 'string' && Object.hasOwn(REFUSALS, code)),
  message: z.string(),
  details: Details,
});
const Reply = z.union([
  z.strictObject({ answer: z.unknown() }),
  z.strictObject({ failure: Failure }),
  z.strictObject({ refusal: Refused }),
  z.strictObject({ moved: z.literal(true) }),
]);
type Reply = z.output<typeof Reply>;

const served: ReadonlyMap<string, AnyOperation> = new Map(operations.map((operation) => [operation.name, operation]));
const RETRY_MS = 50;
const ABSENT = 404;
const LOOK_FOR_DEATH_MS = 1000;
const OLDER = 'The process that has the brain is of an older version, which cannot do this yet. Try again later.';

export class BrainRouter {
  readonly #host: BrainHost;
  readonly #platform: Platform;
  /** Where each brain was last found. */
  readonly #places = new Map<string, string>();
  #subscription: Subscription | null = null;

  constructor(host: BrainHost, platform: Platform) {
    this.#host = host;
    this.#platform = platform;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#platform.bus.respond(processSubject(this.#host.process), (payload) =>
      this.#answer(payload),
    );
  }

  /** Takes no more work from other processes; what is in flight is finished. */
  async drain(): Promise<void> {
    await this.#subscription?.drain();
  }

  brain(name: string, context: OpContext): AskedBrain {
    return {
      ask: (operation, question) =>
        this.#ask({ brain: name, context, operation, question, run: (given) => operation.run(given, question) }),
    };
  }

  async #ask<Answer>(work: Work<Answer>): Promise<Answer> {
    try {
      return await this.#reach(work);
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'BRAIN_LOAD_FAIL' || error.status === ABSENT) throw error;
      // Why a brain does not open is nobody's business who may not see it: to them there is none.
      throw (await this.#host.mayOpen(work.brain, work.context)) ? error : new CallError('BRAIN_LOAD_FAIL');
    }
  }

  async #reach<Answer>(work: Work<Answer>): Promise<Answer> {
    for (;;) {
      const reply = await this.#tryOnce(work);
      if (reply !== null) return reply.answer;
      if (this.#platform.clock.now() + RETRY_MS >= work.context.deadlineAt) throw new CallError('SERVICE_UNAVAILABLE');
      await sleep(RETRY_MS);
    }
  }

  /** Null when the brain was not where it was looked for. */
  async #tryOnce<Answer>(work: Work<Answer>): Promise<{ readonly answer: Answer } | null> {
    const { brain } = work;
    if (this.#host.owns(brain)) return this.#runHere(work);
    const place = this.#places.get(brain) ?? (await this.#locate(brain));
    if (place === this.#host.process) return this.#runHere(work);
    this.#assertTimely(work);
    const reply = await this.#send(place, work);
    if (reply === null || 'moved' in reply) {
      this.#places.delete(brain);
      return null;
    }
    // It began nothing, and whoever asks here still waits.
    if ('failure' in reply && reply.failure.late) return null;
    if ('failure' in reply) throw callErrorOf(reply.failure);
    if ('refusal' in reply) throw new Refusal(reply.refusal.code, reply.refusal.details, reply.refusal.message);
    this.#places.set(brain, place);
    return { answer: work.operation.answerOf(reply.answer) };
  }

  /** A read is never late. */
  #assertTimely({ operation, context }: Work<unknown>): void {
    if (operation.effect !== 'read') assertTimely(this.#platform, context);
  }

  /** The living owner, else whoever should claim the brain: the same process for all who ask at the same time. */
  async #locate(brain: string): Promise<string> {
    if (!(await this.#host.exists(brain))) throw new CallError('BRAIN_LOAD_FAIL');
    const client = poolClient(this.#platform.database.pool);
    const { owner, alive } = await readOwner(client, brain);
    if (owner !== null && alive) return owner.process;
    return preferredProcess(brain, await readLiveProcesses(client)) ?? this.#host.process;
  }

  async #runHere<Answer>(work: Work<Answer>): Promise<{ readonly answer: Answer } | null> {
    const { brain: name, context, operation, run } = work;
    let leave: (() => void) | null = null;
    try {
      await this.#host.dropReplaced(name);
      const entered = await this.#host.enter(name);
      if (entered === null) return null;
      const { brain, retire } = entered;
      leave = entered.leave;
      const given = { brain, context, rows: await brain.rowView(context), retire };
      assertMay(operation, given);
      this.#assertTimely(work);
      if (operation.effect !== 'read') await brain.storeLeftMoves();
      const answer = await shown(operation, given, await run(given));
      if (operation.effect === 'write' && tookEffect(answer)) this.#host.disk.wrote(name);
      return { answer };
    } catch (error) {
      if (error instanceof CallError || error instanceof Refusal) throw error;
      if (error instanceof TreeClosed) return null;
      if (error instanceof NotOwner) {
        await this.#host.lose(name);
        return null;
      }
      throw (await this.#fault(name, error, operation.effect)) ?? error;
    } finally {
      leave?.();
    }
  }

  /** What an unexpected error means when the disk, or a person at it, is the cause; null = it is a bug. */
  async #fault(brain: string, error: unknown, effect: AnyOperation['effect']): Promise<Error | null> {
    if (error instanceof BrokenBranch) return brainLoadFailure(error.message);
    if (error instanceof RepositoryProblem && error.reason !== 'absent') return this.#host.loadFailure(brain, error);
    const refusal = this.#host.disk.refusal(brain, error);
    if (refusal !== null) return refusal;
    await this.#host.dropReplaced(brain);
    if (!(await this.#host.exists(brain))) return new CallError('BRAIN_LOAD_FAIL');
    if (!isOfGit(error) && !isAbsent(error)) return null;
    const lock = heldLockOf(error, this.#host.folders.of(brain));
    if (lock !== null) return new CallError('E_BUSY', lockHeld(lock), { retryAfterMs: 1000, lock });
    await this.#host.dropDamaged(brain);
    if (!isOfGit(error)) return null;
    this.#platform.log.error({ err: error, brain }, 'git refused');
    if (effect === 'read') return new CallError('SERVICE_UNAVAILABLE', unreadable(error));
    const said = 'Git did not take the change; nothing changed. The log of the service says why.';
    return new Refusal('E_STATE_WRITE', { reason: 'git' }, said);
  }

  async #send(process: string, { brain, context, operation, question }: Work<unknown>): Promise<Reply | null> {
    const { deadlineAt } = context;
    const isRepeatable = operation.effect !== 'write' || (context.repeatable && !context.isService);
    const told = context.repeatable ? { ...context, repeatable: undefined } : context;
    const request = JSON.stringify({ brain, operation: operation.name, context: told, question });
    try {
      const asked = this.#platform.bus.request(processSubject(process), request, { deadlineAt });
      return Reply.parse(JSON.parse(await this.#unlessDead(process, asked)));
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (error.code === 'TOO_LARGE') throw new CallError('PAYLOAD_TOO_LARGE');
      if (error.undelivered || (isRepeatable && error.code === 'DISCONNECTED')) return null;
      throw new CallError(isRepeatable ? 'TIMEOUT' : 'E_OUTCOME_UNKNOWN');
    }
  }

  /** A process that dies with work in hand says nothing; its heartbeat does. */
  async #unlessDead(process: string, asked: Promise<string>): Promise<string> {
    let waiting = true;
    const client = poolClient(this.#platform.database.pool);
    const death = async (): Promise<never> => {
      for (;;) {
        await sleep(LOOK_FOR_DEATH_MS, undefined, { ref: false });
        if (!waiting) return new Promise(() => {});
        const living = await readLiveProcesses(client).catch(() => [process]);
        if (!living.includes(process)) throw new BusError('DISCONNECTED', 'the owner of the brain died');
      }
    };
    try {
      return await Promise.race([asked, death()]);
    } finally {
      waiting = false;
    }
  }

  /** What another process asks of a brain that it takes to be here; never throws. */
  async #answer(payload: string): Promise<string> {
    return JSON.stringify(await this.#replyTo(payload));
  }

  async #replyTo(payload: string): Promise<Reply> {
    let asked: Pick<z.output<typeof Request>, 'brain' | 'operation'> | null = null;
    try {
      const request = Request.parse(JSON.parse(payload));
      asked = request;
      const { brain, operation: name, question } = request;
      const context = { ...request.context, since: this.#platform.clock.now() };
      const operation = served.get(name);
      // Whoever asks is of a newer version; before long this process is, too, or another one has the brain.
      if (operation === undefined) throw new CallError('SERVICE_UNAVAILABLE', OLDER);
      const run = (given: Served): Promise<unknown> => operation.serve(given, question);
      return (await this.#runHere({ brain, context, operation, question, run })) ?? { moved: true };
    } catch (error) {
      if (error instanceof CallError) return { failure: failureOf(error) };
      if (error instanceof Refusal) {
        const { code, message, details } = error;
        return { refusal: { code, message, details } };
      }
      const { operation, brain } = asked ?? {};
      this.#platform.log.error({ err: error, operation, brain }, 'an operation for another process failed');
      return { failure: failureOf(new CallError(isDatabaseAway(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL')) };
    }
  }
}

/** An unreadable brain is answered like an absent one. */
function assertMay({ needs }: AnyOperation, given: Served): void {
  if (!given.rows.mayOpen) throw new CallError('BRAIN_LOAD_FAIL');
  if (needs === 'open' || given.rows.mayChange) return;
  noteDenial(given, '', 'write');
  throw new CallError('RLS_DENIED');
}

/** The answer with its commits named as the caller may know them. */
async function shown<Answer>({ namesCommits }: AnyOperation, { brain, rows }: Served, answer: Answer): Promise<Answer> {
  if (!namesCommits || rows.isWhole) return answer;
  const names = await brain.namesFor(rows);
  return names === brain.context.handles.plain ? answer : withShownIds(answer, names);
}

/** Whether an operation that changes something did so, or had done. */
function tookEffect(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { ok, decision } = value as { ok?: unknown; decision?: { ok?: unknown } };
  return (decision?.ok ?? ok) === true;
}

function processSubject(process: string): string {
  return `brain.process.${process}`;
}

/** Rendezvous hashing: each brain has its own order of processes, so a lost one's brains spread over the rest. */
function preferredProcess(brain: string, processes: readonly string[]): string | null {
  let best: { process: string; weight: string } | null = null;
  for (const process of processes) {
    const weight = hash('sha256', `${brain}\0${process}`, 'hex');
    if (best === null || weight > best.weight) best = { process, weight };
  }
  return best?.process ?? null;
}

function lockHeld(lock: string): string {
  return `Another git has ${lock}; nothing changed. Try again when it is done; where none is at work any more, remove the file.`;
}

function unreadable(error: unknown): string {
  if (error instanceof GitError && error.stderr.includes('promisor remote'))
    return 'The brain is a partial clone: what this needs was never fetched. git fetch --refetch --no-filter, run in its folder, gets it.';
  return 'Git could not read what this needs; the log of the service says why.';
}

/** What git said, or what lies where its own files ought to. */
function isOfGit(error: unknown): boolean {
  return error instanceof GitError || placeInGit(error) !== null;
}
