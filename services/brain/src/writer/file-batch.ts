/** File calls that are taken together: each is judged as if it came alone, after those before it. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Idempotency, Once } from '@svc/runtime/idempotency.ts';
import { KeyedCalls, type KeyedResult } from '@svc/runtime/keyed-calls.ts';
import { guardWrite } from '../domain/lease.ts';
import type { WriteSection } from '../store/lease-store.ts';
import type { Attempt } from './attempt.ts';
import type { OpContext } from './context.ts';
import type { QueuedCall } from './queue.ts';
import type { FileOutcome, FileRequest, Staging } from './staging.ts';

export const GUARD_REFUSALS = ['E_LOCKED', 'E_FENCED', 'E_BRAIN_DIVERTED'] as const;
export type GuardRefusal = (typeof GUARD_REFUSALS)[number];
export const FILE_REFUSALS = [...GUARD_REFUSALS, 'E_CONFLICT', 'E_FILE_ABSENT', 'E_QUOTA', 'E_STATE_WRITE'] as const;
export type FileRefusal = (typeof FILE_REFUSALS)[number];

export interface FileCall {
  readonly request: FileRequest;
  readonly context: OpContext;
}

export type FileAnswer = Once<FileOutcome, FileRefusal>;
export type FileResult = KeyedResult<FileOutcome, FileRefusal>;
export type QueuedFileCall = QueuedCall<FileCall, FileAnswer>;

interface Asked extends FileCall {
  readonly scope: IdempotencyScope | null;
}

type Guard = (context: OpContext) => Decision<null, GuardRefusal>;
type FileJudgement = Decision<FileOutcome, FileRefusal> | CallError;
type Judged = ReadonlyMap<Asked, FileJudgement>;

interface Begun {
  readonly keyed: KeyedCalls<Asked>;
  /** What comes of all that may have to be made; null = nothing is judged ahead. */
  readonly ahead: Judged | null;
}

const nobodyIsInTheWay: Guard = () => allow(null);

export class FileBatch {
  readonly #keys: Idempotency;
  readonly #branch: string;
  readonly #asked: readonly Asked[];
  /** Of the last attempt. */
  #begun: Begun | null = null;

  constructor(keys: Idempotency, branch: string, calls: readonly QueuedFileCall[]) {
    this.#keys = keys;
    this.#branch = branch;
    this.#asked = calls.map(({ request }) => ({ ...request, scope: request.context.idempotency }));
  }

  /** Removes a file under a key: a repeat that found it gone would be refused. */
  get removesOnce(): boolean {
    return this.#asked.some(({ request, scope }) => request.content === null && scope !== null);
  }

  /**
   * While the section is being entered: judges as if nobody held the lease and no key had been used before, which is mostly
   * so, and lets the disk begin with what comes of it.
   */
  begin(attempt: Attempt, isDiverted: boolean): void {
    const keyed = new KeyedCalls(this.#keys, this.#asked);
    const ahead = isDiverted ? null : judgeAll(keyed, attempt, nobodyIsInTheWay);
    if (ahead !== null) attempt.beginContents();
    this.#begun = { keyed, ahead };
  }

  /**
   * Judges, carries out and records; the results are in the order of the calls. `isDiverted` is asked once nothing is waited
   * for any more: a person may have left the branch since the batch began.
   */
  async settle(attempt: Attempt, section: WriteSection, isDiverted: () => Promise<boolean>): Promise<FileResult[]> {
    if (this.#begun === null) throw new Error('a batch is settled that has not begun');
    const { keyed, ahead } = this.#begun;
    await keyed.reserve(section.transaction);
    const guard = this.#guardIn(section, await isDiverted());
    const isAsThought = !keyed.hasKnown && this.#asked.every(({ context }) => guard(context).ok);
    const wasRight = isAsThought ? ahead : null;
    if (wasRight === null) await attempt.restart();
    const judged = wasRight ?? judgeAll(keyed, attempt, guard);
    await attempt.carryOut(section);
    for (const statement of keyed.settle(judged)) section.soon(statement);
    return keyed.results(judged);
  }

  #guardIn({ lease, now }: WriteSection, isDiverted: boolean): Guard {
    return (context) => {
      const guarded = guardWrite(lease, context, now);
      if (!guarded.ok) return guarded;
      return isDiverted ? deny('E_BRAIN_DIVERTED', { branch: this.#branch }) : guarded;
    };
  }
}

function judgeAll(keyed: KeyedCalls<Asked>, { staging }: Attempt, guard: Guard): Judged {
  return keyed.make((call) => judgeOne(call, staging, guard));
}

function judgeOne({ request, context }: FileCall, staging: Staging, guard: Guard): FileJudgement {
  const guarded = guard(context);
  if (!guarded.ok) return guarded;
  try {
    return staging.judge(request, context);
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
}
