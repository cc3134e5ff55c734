/** The single writer of one branch's working tree: file calls in batches, everything else alone. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { guardWrite } from '../domain/lease.ts';
import { ChangedUnderneath, DiskRefusal, type FileChange } from '../files/durable-write.ts';
import type { FileText, Worktree } from '../files/worktree.ts';
import { isOnBranch, readWorktreeState } from '../git/worktree-state.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { resolveConflicts } from '../store/sync-store.ts';
import { Attempt, type AttemptPlace } from './attempt.ts';
import { type ChangeSource, recordNoticed, recordSoon } from './change-records.ts';
import { type BrainContext, NotOwner, type OpContext, TreeClosed, writeSection } from './context.ts';
import {
  type FileAnswer,
  FileBatch,
  type FileCall,
  type FileResult,
  type GuardRefusal,
  type QueuedFileCall,
} from './file-batch.ts';
import { isOutcomeUnknown } from './lost-answer.ts';
import { type OpenConflict, OpenConflicts } from './open-conflicts.ts';
import { WriteQueue } from './queue.ts';
import { SkippedEntries } from './skipped-entries.ts';
import type { FileRequest, Staging } from './staging.ts';
import { needsJournal } from './step-journal.ts';

/** What a step answers and tells besides its changes of files. */
export interface Step<Value, Code extends string = never> {
  readonly value: Value;
  readonly events: readonly NewEvent[];
  /** What else is kept in the transaction of the step, before the files change. A denial has written nothing. */
  record?(transaction: SqlClient): Promise<Denial<Code> | null>;
}

const ATTEMPTS = 5;
/** The server ends a transaction of which it hears nothing any more within this. */
const ANSWERED_WITHIN_MS = 6000;

/** What an attempt is made of. */
interface Trial<Value> extends Pick<AttemptPlace, 'isJournalled'> {
  /** As that of a section. */
  begin?(attempt: Attempt): Promise<void>;
  /** Stages changes and carries them out. */
  work(section: WriteSection, attempt: Attempt): Promise<Value>;
}

export class BranchWriter {
  readonly tree: Worktree;
  readonly openConflicts: OpenConflicts;
  readonly skipped: SkippedEntries;
  #usedAt: number;
  readonly #brain: BrainContext;
  readonly #queue: WriteQueue<FileCall, FileAnswer>;
  #applied: Promise<void> = Promise.resolve();
  #retired: Error | null = null;
  /** The last attempt, when its COMMIT was not answered. */
  #unanswered: Attempt | null = null;

  constructor(brain: BrainContext, tree: Worktree, openConflicts: readonly OpenConflict[]) {
    this.#brain = brain;
    this.tree = tree;
    this.openConflicts = new OpenConflicts(tree.table, openConflicts);
    this.skipped = new SkippedEntries(brain.repository, tree);
    const now = (): number => brain.platform.clock.now();
    this.#usedAt = now();
    this.#queue = new WriteQueue({
      now,
      runBatch: (calls) => this.#runBatch(calls),
      onAbandoned: () => brain.counters.gaveUp(),
    });
  }

  get depth(): number {
    return this.#queue.depth;
  }

  oldestMs(): number {
    return this.#queue.oldestMs();
  }

  settled(): Promise<void> {
    return this.#queue.settled();
  }

  /** Takes in what anybody changed before the call, where that costs no more than what changed. */
  async catchUp(): Promise<void> {
    await this.tree.catchUp();
    await this.skipped.note(); // what has gone may have been narrowed away
  }

  /** Milliseconds since the epoch. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** Who only reads in the working tree has use of it too. */
  use(): void {
    this.#usedAt = this.#brain.platform.clock.now();
  }

  /** The working tree is going away; whoever still comes here gets `reason`, or is sent to look for the branch again. */
  retire(reason: Error = new TreeClosed(this.tree.branch)): void {
    this.#retired = reason;
  }

  /** Writes or removes one file. Rejects with CallError, NotOwner, TreeClosed or a database error. */
  change(request: FileRequest, context: OpContext): Promise<FileAnswer> {
    this.use();
    return this.#queue.enqueue({ request, context }, request.content?.byteLength ?? 0, context.deadlineAt);
  }

  /**
   * Several changes judged and made in one step, in its turn: all or none of them, also when the process is killed
   * inside. What `judge` staged before it denies has no effect. Rejects as `change` does.
   */
  async step<Value, Code extends string>(
    context: OpContext,
    judge: (staging: Staging) => Decision<Step<Value, Code>, Code>,
  ): Promise<Once<Value, Code | GuardRefusal | 'E_STATE_WRITE'>> {
    const { idempotency } = this.#brain;
    const work = (section: WriteSection, attempt: Attempt) =>
      idempotency.once<Value, Code | GuardRefusal>(section.transaction, context.idempotency, async () => {
        const guarded = await this.guard(section, context);
        if (!guarded.ok) return guarded;
        const judged = judge(attempt.staging);
        if (!judged.ok) return judged;
        const unkept = await judged.value.record?.(section.transaction);
        if (unkept) return unkept;
        await attempt.carryOut(section);
        recordSoon(this.#brain, section, { branch: this.tree.branch, rows: [], events: judged.value.events });
        return allow(judged.value.value);
      });
    const isJournalled = (changes: readonly FileChange[]): boolean =>
      context.idempotency !== null || needsJournal(this.tree, changes);
    return this.alone(context.deadlineAt, () => this.#attempt(context.deadlineAt, { isJournalled, work }));
  }

  /** Runs in its turn with nothing else of this branch; enter a section inside. */
  alone<Value>(deadlineAt: number, work: () => Promise<Value>): Promise<Value> {
    this.use();
    return this.aside(deadlineAt, work);
  }

  /** As `alone`, by whom nobody called for: whoever only looks does not use what he looks at. */
  aside<Value>(deadlineAt: number, work: () => Promise<Value>): Promise<Value> {
    return this.#queue.alone(deadlineAt, () =>
      this.#applying(async () => {
        this.#assertInUse();
        await this.#settleLast(deadlineAt);
        return work();
      }),
    );
  }

  /** From inside work that runs alone, while it has no section open: what waits to write files goes first. */
  letWritesPass(): Promise<void> {
    return this.#queue.letPass();
  }

  /** Within work that runs alone: reads of these files wait for the end of this part only. */
  async whileChanging<Value>(paths: readonly string[], work: () => Promise<Value>): Promise<Value> {
    for (const path of paths) this.tree.applying.add(path);
    try {
      return await this.#applying(work);
    } finally {
      for (const path of paths) this.tree.applying.delete(path);
    }
  }

  /** Reads of the files that `work` is changing wait for its end. */
  async #applying<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = Promise.withResolvers<void>();
    const around = this.#applied;
    this.#applied = done.promise;
    try {
      return await work();
    } finally {
      this.#applied = around;
      done.resolve();
    }
  }

  /** The file as acknowledged: a write under way is waited for. */
  async read(path: string): Promise<FileText | null> {
    while (this.tree.applying.has(path)) await this.#applied;
    return this.tree.read(path);
  }

  /** Records and tells what others changed; called in the queue or at boot. */
  async tellNoticed(source: ChangeSource, deadlineAt: number): Promise<void> {
    const cleared = this.openConflicts.cleared();
    if (!this.tree.hasNoticed && cleared.length === 0) return;
    const brain = this.#brain;
    const place = { brain, branch: this.tree.branch, hides: await brain.rules.hiding(brain.name) };
    const noticed = this.tree.takeNoticed();
    try {
      await writeSection(brain, deadlineAt, async (section) => {
        await recordNoticed(place, section, noticed, source);
        if (cleared.length > 0) await resolveConflicts(section.transaction, brain.name, this.tree.branch, cleared);
      });
    } catch (error) {
      this.tree.putBackNoticed(noticed);
      throw error;
    }
    for (const file of cleared) this.openConflicts.delete(file);
  }

  /**
   * Everything a guarded change must pass besides its own rules; asked in its turn, or a tree that is about to follow its
   * renamed branch would count as diverted.
   */
  async guard(section: WriteSection, context: OpContext): Promise<Decision<null, GuardRefusal>> {
    const guarded = guardWrite(section.lease, context, section.now);
    if (!guarded.ok) return guarded;
    return (await this.isDiverted()) ? deny('E_BRAIN_DIVERTED', { branch: this.tree.branch }) : guarded;
  }

  /** A person has its tree on another branch, or in the middle of something. */
  async isDiverted(): Promise<boolean> {
    const state = await readWorktreeState(this.#brain.repository, this.tree.root);
    return !isOnBranch(state, this.tree.branch);
  }

  #assertInUse(): void {
    if (this.#retired !== null) throw this.#retired;
  }

  #runBatch(calls: readonly QueuedFileCall[]): Promise<void> {
    return this.#applying(async () => {
      try {
        this.#assertInUse();
        const results = await this.#commitBatch(calls);
        for (const [index, result] of results.entries()) {
          if ('rejected' in result) calls[index]?.reject(result.rejected);
          else calls[index]?.resolve(result);
        }
      } catch (error) {
        if (error instanceof DiskRefusal && calls.length > 1) {
          for (const call of calls) await this.#runBatch([call]); // find the ones that do fit
        } else for (const call of calls) call.reject(error);
      }
    });
  }

  /** Judges, puts in place, records and commits; on any failure the disk is as before (or the error says unsure). */
  async #commitBatch(calls: readonly QueuedFileCall[]): Promise<FileResult[]> {
    await this.catchUp(); // a name that somebody has just given may be in the way
    const deadlineAt = Math.max(...calls.map((call) => call.deadlineAt));
    const batch = new FileBatch(this.#brain.idempotency, this.tree.branch, calls);
    return this.#attempt(deadlineAt, {
      isJournalled: (changes) => batch.removesOnce && changes.some(({ content }) => content === null),
      begin: async (attempt) => batch.begin(attempt, await this.isDiverted()),
      work: (section, attempt) => batch.settle(attempt, section, () => this.isDiverted()),
    });
  }

  /** Tries again when somebody changed a file between the judgement and its taking effect. */
  async #attempt<Value>(deadlineAt: number, trial: Trial<Value>): Promise<Value> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#attemptOnce(deadlineAt, trial);
      } catch (error) {
        if (!(error instanceof ChangedUnderneath)) throw error;
        if (tried === ATTEMPTS) throw new CallError('E_BUSY', 'Somebody keeps changing the same files.');
      }
    }
  }

  /** In one section; after a conflict in the database it begins again. */
  async #attemptOnce<Value>(deadlineAt: number, { isJournalled, begin, work }: Trial<Value>): Promise<Value> {
    await this.#settleLast(deadlineAt);
    const place = { brain: this.#brain, tree: this.tree, openConflicts: this.openConflicts, isJournalled };
    let attempt = new Attempt(place);
    let hasBegun = false;
    const beginAgain = async (): Promise<void> => {
      if (hasBegun) await attempt.undo();
      attempt = new Attempt(place);
      hasBegun = true;
      await begin?.(attempt);
    };
    let done: { readonly value: Value } | null = null;
    const workOn = async (section: WriteSection): Promise<{ readonly value: Value }> => {
      done = { value: await work(section, attempt) };
      return done;
    };
    try {
      done = await writeSection(this.#brain, deadlineAt, workOn, beginAgain);
    } catch (error) {
      if (!hasBegun) throw error;
      await this.#afterFailure(attempt, error, deadlineAt);
      if (done === null) throw error;
      return done.value;
    }
    await attempt.confirm();
    return done.value;
  }

  /** Returns when it has committed after all. */
  async #afterFailure(attempt: Attempt, error: unknown, deadlineAt: number): Promise<void> {
    if (!attempt.hasPlaced || !isOutcomeUnknown(error)) {
      await attempt.abandon(error);
      throw error;
    }
    const until = Math.max(deadlineAt, this.#brain.platform.clock.now() + ANSWERED_WITHIN_MS);
    const isCommitted = await attempt.findOut(until).catch((problem: unknown) => {
      throw problem instanceof NotOwner ? error : problem; // it may have happened, so that nobody else may be asked for it
    });
    if (isCommitted === false) throw new CallError('SERVICE_UNAVAILABLE');
    if (isCommitted === true) return;
    this.#unanswered = attempt;
    throw error;
  }

  /** Nothing is changed as long as nobody knows what came of the last attempt. */
  async #settleLast(deadlineAt: number): Promise<void> {
    if (this.#unanswered === null) return;
    if ((await this.#unanswered.findOut(deadlineAt)) === null) throw new CallError('SERVICE_UNAVAILABLE');
    this.#unanswered = null;
  }
}
