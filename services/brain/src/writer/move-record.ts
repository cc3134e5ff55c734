/**
 * What a move in git leaves to be stored, as a record on disk from before the move until it is stored: a process that is
 * killed in between loses neither the event nor the outcome of a keyed call, which whoever opens the brain next stores.
 */
import { CallError } from '@svc/contract/codes.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { allow } from '@svc/contract/decision.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { noteCommit } from '../evolution/notes.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import { findMergeBase } from '../git/integration.ts';
import { readRef } from '../git/refs.ts';
import { GitError } from '../git/run.ts';
import { forgetBranch, renameBranchRows } from '../store/branch-rows.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { type BrainContext, type OpContext, writeSection } from './context.ts';
import { isOutcomeUnknown } from './lost-answer.ts';

export interface MoveOutcome<Value> {
  /** Has this commit, or one that came of it, once it has moved. */
  readonly moved: { readonly ref: string; readonly commit: string };
  readonly value: Value;
  readonly events: readonly NewEvent[];
  /** What becomes of what the database knows of a branch. */
  readonly rows?: { readonly forget: string } | { readonly rename: string; readonly to: string };
  /** The commit is work of the caller's session. */
  readonly isWork?: boolean;
}

type Kept<Value> = MoveOutcome<Value> & { readonly session: string };

interface Stored {
  readonly brain: string;
  readonly scope: IdempotencyScope;
  readonly outcome: Kept<unknown>;
}

const PREFIX = 'mov';
/** For what must be stored because something has moved, also when the caller's time is over. */
export const AFTERWARDS_MS = 20_000;
const NOT_YET = 'What came of an earlier change of this brain cannot be stored yet.';

/** Of one move. Without a key of its caller it has one of its own: its outcome may be stored by two, and once. */
export class MoveRecord<Value> {
  readonly scope: IdempotencyScope;
  readonly #brain: BrainContext;
  readonly #id: string;
  readonly #session: string;
  #outcome: Kept<Value> | null = null;
  #journal: Journal | null = null;

  constructor(brain: BrainContext, { idempotency, session }: Pick<OpContext, 'idempotency' | 'session'>) {
    this.#brain = brain;
    this.#session = session;
    this.#id = brain.platform.ids.next(PREFIX);
    this.scope = idempotency ?? { principal: 'brain', tool: 'move', key: this.#id, argsHash: '' };
  }

  get outcome(): Kept<Value> {
    if (this.#outcome === null) throw new Error('something moved in git that nobody had intended');
    return this.#outcome;
  }

  /** A second intention takes the place of the first, which did not come about. */
  async intend(outcome: MoveOutcome<Value>): Promise<void> {
    await this.close();
    this.#outcome = { ...outcome, session: this.#session };
    const { name, journalDir } = this.#brain;
    const record: Stored = { brain: name, scope: this.scope, outcome: this.#outcome };
    this.#journal = await openJournal(journalDir, `${name}.${this.#id}`, record, { survives: 'kill' });
  }

  async close(): Promise<void> {
    await this.#journal?.close();
    this.#journal = null;
  }

  /** The database did not take it: the next call that changes the brain tries again. */
  leave(): void {
    this.#brain.unstored.add(this.#id);
  }
}

/** In the section in which it moved, or in a later one. */
export async function storeOutcome<Value>(
  brain: BrainContext,
  { transaction, isEvolving }: Pick<WriteSection, 'transaction' | 'isEvolving'>,
  { value, events, rows, isWork, moved, session }: Kept<Value>,
): Promise<Value> {
  if (rows !== undefined && 'forget' in rows) await forgetBranch(transaction, brain.name, rows.forget);
  if (rows !== undefined && 'rename' in rows) await renameBranchRows(transaction, brain.name, rows.rename, rows.to);
  await brain.outbox.write(transaction, events);
  if (isWork && isEvolving) await noteCommit(transaction, { brainId: brain.homes.home.id, session }, moved.commit);
  return value;
}

/** What this process could not store. Throws what `writeSection` throws. */
export async function storeLeft(brain: BrainContext): Promise<void> {
  for (const id of brain.unstored) {
    await finish(brain, id);
    brain.unstored.delete(id);
  }
}

/** Of a brain that opens: what a process that is gone did not store. */
export function finishMoves(brain: BrainContext): Promise<void> {
  return finish(brain, `${PREFIX}_`);
}

/** Stores what came of moves that happened, and forgets those that did not. */
async function finish(brain: BrainContext, ids: string): Promise<void> {
  for (const { record, journal } of await leftJournals(brain.journalDir, `${brain.name}.${ids}`)) {
    const { brain: name, scope, outcome } = record as Stored;
    if (name !== brain.name) continue; // a brain whose name goes on where ours ends
    if (await hasMoved(brain, outcome)) await store(brain, scope, outcome);
    await journal.close();
  }
}

async function hasMoved({ repository }: BrainContext, { moved }: Kept<unknown>): Promise<boolean> {
  const now = await readRef(repository, moved.ref);
  if (now === null || now === moved.commit) return now !== null;
  try {
    return (await findMergeBase(repository, now, moved.commit)) === moved.commit;
  } catch (error) {
    if (error instanceof GitError) return false; // of a commit that no reference ever had
    throw error;
  }
}

async function store(brain: BrainContext, scope: IdempotencyScope, outcome: Kept<unknown>): Promise<void> {
  try {
    await writeSection(brain, brain.platform.clock.now() + AFTERWARDS_MS, (section, irrevocable) => {
      irrevocable(true);
      const once = async () => allow(await storeOutcome(brain, section, outcome));
      return brain.idempotency.once(section.transaction, scope, once);
    });
  } catch (error) {
    // Whoever waits for this has begun nothing of his own.
    throw isOutcomeUnknown(error) ? new CallError('SERVICE_UNAVAILABLE', NOT_YET) : error;
  }
}
