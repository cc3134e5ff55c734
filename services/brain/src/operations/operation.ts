/** How an operation of one brain is declared: once, for the process that owns the brain and for all others that ask it. */
import { z } from 'zod';
import type { RefusalCode } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { PolicyMode } from '@svc/contract/policy.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import type { Retire } from '../brain/retirement.ts';
import type { RowView } from '../ports.ts';
import type { OpContext } from '../writer/context.ts';

/** `read` and `write-idempotent`: doing it twice does no harm, so a lost answer is asked for again. */
type OperationEffect = 'read' | 'write-idempotent' | 'write';

/** What an operation works on, once it is known that the caller may see the brain. */
export interface Served {
  readonly brain: OpenBrain;
  readonly context: OpContext;
  /** What the caller may do there, fixed for the length of the operation. */
  readonly rows: RowView;
  /** What becomes of a brain that goes; for the operation that takes it from its name. */
  readonly retire: Retire;
}

/** Question and answer are plain data: the brain may be in another process, and the bus carries them then. */
export interface Operation<Question, Answer> {
  readonly name: string;
  readonly effect: OperationEffect;
  /** `change`: it changes the brain as a whole, and who may not is denied before it runs. */
  readonly needs: 'open' | 'change';
  /** False: the answer holds what files hold, as deep as those are, and no commit. */
  readonly namesCommits: boolean;
  /** Throws CallError for call errors; expected refusals are decisions. */
  readonly run: (served: Served, question: Question) => Promise<Answer>;
  /** As `run`, for a question that came over the bus. Throws when it is none. */
  readonly serve: (served: Served, question: unknown) => Promise<Answer>;
  /** The answer that came over the bus. Throws when it is none. */
  readonly answerOf: (answer: unknown) => Answer;
}

/** Of any operation, as lists hold it. */
export type AnyOperation = Operation<never, unknown>;
export type AnswerOf<Of extends AnyOperation> = Awaited<ReturnType<Of['run']>>;

interface Declaration<Question, Answer> {
  readonly name: string;
  readonly effect: OperationEffect;
  readonly needs?: 'change';
  readonly namesCommits?: false;
  readonly question: z.ZodType<Question>;
  readonly answer: z.ZodType<Answer>;
  run(served: Served, question: NoInfer<Question>): Promise<NoInfer<Answer>>;
}

export function defineOperation<Question, Answer>({
  name,
  effect,
  needs,
  namesCommits,
  question,
  answer,
  run,
}: Declaration<Question, Answer>): Operation<Question, Answer> {
  return {
    name,
    effect,
    needs: needs ?? 'open',
    namesCommits: namesCommits ?? true,
    run,
    serve: (served, asked) => run(served, question.parse(asked)),
    answerOf: (told) => answer.parse(told),
  };
}

/** The value, or the expected "no" with one of these codes. */
export function decision<Value, const Code extends RefusalCode>(
  value: z.ZodType<Value>,
  refuses: readonly Code[],
): z.ZodType<Decision<Value, Code>> {
  const denial = z.strictObject({
    ok: z.literal(false),
    code: z.enum(refuses),
    message: z.string().exactOptional(),
    details: z.record(z.string(), z.unknown()).exactOptional(),
  });
  return z.union([z.strictObject({ ok: z.literal(true), value }), denial]);
}

/** A decision that took effect once under its key. */
export function once<Value, const Code extends RefusalCode = never>(
  value: z.ZodType<Value>,
  refuses: readonly Code[],
): z.ZodType<Once<Value, Code>> {
  return z.strictObject({ decision: decision(value, refuses), replayed: z.boolean() });
}

export const list = <Item>(item: z.ZodType<Item>): z.ZodType<readonly Item[]> => z.array(item).readonly();

/** Parts of questions: which branch, and which page. */
export const onBranch = { branch: z.string() };
export const page = { limit: z.number(), after: z.string().nullable() };

/** Into the audit. `file` empty = the brain as a whole. */
export function noteDenial({ brain, context, rows }: Omit<Served, 'retire'>, file: string, mode: PolicyMode): void {
  const { denials, name } = brain.context;
  const { subject, operator } = context;
  denials.note({ brain: name, file, mode, verdict: rows.verdict(file, mode), subject, operator });
}

/** The answer of an operation that was refused before anything could be recorded. */
export function unkeyed<Value, Code extends string>(refused: Decision<Value, Code>): Once<Value, Code> {
  return { decision: refused, replayed: false };
}
