/** The single writer of one branch's working tree: file calls in batches, everything else alone. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { guardWrite } from '../domain/lease.ts';
import { ChangedUnderneath, DiskRefusal } from '../files/durable-write.ts';
import type { FileText, Worktree } from '../files/worktree.ts';
import { isOnBranch, readWorktreeState } from '../git/worktree-state.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { resolveConflicts } from '../store/sync-store.ts';
import { Attempt, type ChangeSource, recordLastly, recordNoticed } from './attempt.ts';
import { type BrainContext, type OpContext, TreeClosed, writeSection } from './context.ts';
import { type OpenConflict, OpenConflicts } from './open-conflicts.ts';
import { type QueuedCall, WriteQueue } from './queue.ts';
import { SkippedEntries } from './skipped-entries.ts';
import type { FileOutcome, FileRequest, Staging } from './staging.ts';

export const GUARD_REFUSALS = ['E_LOCKED', 'E_FENCED', 'E_BRAIN_DIVERTED'] as const;
type GuardRefusal = (typeof GUARD_REFUSALS)[number];
export const FILE_REFUSALS = [...GUARD_REFUSALS, 'E_CONFLICT', 'E_FILE_ABSENT', 'E_QUOTA', 'E_STATE_WRITE'] as const;
export type FileRefusal = (typeof FILE_REFUSALS)[number];

/** What a step answers and tells besides its changes of files. */
export interface Step<Value, Code extends string = never> {
  readonly value: Value;
  readonly events: readonly NewEvent[];
  /** What else is kept in the transaction of the step, before the files change. A denial has written nothing. */
  record?(transaction: SqlClient): Promise<Denial<Code> | null>;
}

interface FileCall {
  readonly request: FileRequest;
  readonly context: OpContext;
}

type FileAnswer = Once<FileOutcome, FileRefusal>;
type Queued = QueuedCall<FileCall, FileAnswer>;
const ATTEMPTS = 5;

type Verdict = { readonly call: Queued } & ({ readonly answer: FileAnswer } | { readonly error: CallError });

export class BranchWriter {
  readonly tree: Worktree;
  readonly openConflicts: OpenConflicts;
  readonly skipped: SkippedEntries;
  /** Milliseconds since the epoch of the last call. */
  usedAt: number;
  readonly #brain: BrainContext;
  readonly #queue: WriteQueue<FileCall, FileAnswer>;
  #applied: Promise<void> = Promise.resolve();
  #retired: Error | null = null;

  constructor(brain: BrainContext, tree: Worktree, openConflicts: readonly OpenConflict[]) {
    this.#brain = brain;
    this.tree = tree;
    this.openConflicts = new OpenConflicts(tree.table, openConflicts);
    this.skipped = new SkippedEntries(brain.repository, tree);
    const now = (): number => brain.platform.clock.now();
    this.usedAt = now();
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

  /** The working tree is going away; whoever still comes here gets `reason`, or is sent to look for the branch again. */
  retire(reason: Error = new TreeClosed(this.tree.branch)): void {
    this.#retired = reason;
  }

  /** Writes or removes one file. Rejects with CallError, NotOwner, TreeClosed or a database error. */
  change(request: FileRequest, context: OpContext): Promise<FileAnswer> {
    this.usedAt = this.#brain.platform.clock.now();
    return this.#queue.enqueue({ request, context }, request.content?.byteLength ?? 0, context.deadlineAt);
  }

  /**
   * Several changes judged and made in one step, in its turn: all or none of them, also when the process is killed
   * inside. What `judge` staged before it denies has no effect. Rejects as `change` does.
   */
  async step<Value, Code extends string>(
    { context, journalDir }: { readonly context: OpContext; readonly journalDir: string },
    judge: (staging: Staging) => Decision<Step<Value, Code>, Code>,
  ): Promise<Once<Value, Code | GuardRefusal | 'E_STATE_WRITE'>> {
    const { idempotency } = this.#brain;
    return this.alone(context.deadlineAt, () =>
      this.#attempt(context.deadlineAt, journalDir, (section, attempt) =>
        idempotency.once<Value, Code | GuardRefusal>(section.transaction, context.idempotency, async () => {
          const guarded = await this.guard(section, context);
          if (!guarded.ok) return guarded;
          const judged = judge(attempt.staging);
          if (!judged.ok) return judged;
          const unkept = await judged.value.record?.(section.transaction);
          if (unkept) return unkept;
          await attempt.carryOut(section);
          recordLastly(this.#brain, section, { branch: this.tree.branch, rows: [], events: judged.value.events });
          return allow(judged.value.value);
        }),
      ),
    );
  }

  /** Runs in its turn with nothing else of this branch; enter a section inside. */
  alone<Value>(deadlineAt: number, work: () => Promise<Value>): Promise<Value> {
    this.usedAt = this.#brain.platform.clock.now();
    return this.#queue.alone(deadlineAt, () =>
      this.#applying(async () => {
        this.#assertInUse();
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
        recordNoticed(place, section, noticed, source);
        if (cleared.length > 0) await resolveConflicts(section.transaction, brain.name, this.tree.branch, cleared);
      });
    } catch (error) {
      this.tree.putBackNoticed(noticed);
      throw error;
    }
    for (const file of cleared) this.openConflicts.delete(file);
  }

  /** Everything a guarded change must pass besides its own rules. */
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

  #runBatch(calls: readonly Queued[]): Promise<void> {
    return this.#applying(async () => {
      try {
        this.#assertInUse();
        for (const verdict of await this.#commitBatch(calls)) {
          if ('error' in verdict) verdict.call.reject(verdict.error);
          else verdict.call.resolve(verdict.answer);
        }
      } catch (error) {
        if (error instanceof DiskRefusal && calls.length > 1) {
          for (const call of calls) await this.#runBatch([call]); // find the ones that do fit
        } else for (const call of calls) call.reject(error);
      }
    });
  }

  /** Judges, puts in place, records and commits; on any failure the disk is as before (or the error says unsure). */
  async #commitBatch(calls: readonly Queued[]): Promise<Verdict[]> {
    await this.catchUp(); // a name that somebody has just given may be in the way
    const deadlineAt = Math.max(...calls.map((call) => call.deadlineAt));
    return this.#attempt(deadlineAt, null, async (section, attempt) => {
      const verdicts = await this.#judge(calls, section, attempt.staging);
      await attempt.carryOut(section);
      return verdicts;
    });
  }

  /** Tries again when somebody changed a file between the judgement and its taking effect. */
  async #attempt<Value>(
    deadlineAt: number,
    journalDir: string | null,
    work: (section: WriteSection, attempt: Attempt) => Promise<Value>,
  ): Promise<Value> {
    for (let trial = 1; ; trial += 1) {
      try {
        return await this.#attemptOnce(deadlineAt, journalDir, work);
      } catch (error) {
        if (!(error instanceof ChangedUnderneath)) throw error;
        if (trial === ATTEMPTS) throw new CallError('E_BUSY', 'Somebody keeps changing the same files.');
      }
    }
  }

  /** `work` stages changes and carries them out, in one section; it may run again after a conflict in the database. */
  async #attemptOnce<Value>(
    deadlineAt: number,
    journalDir: string | null,
    work: (section: WriteSection, attempt: Attempt) => Promise<Value>,
  ): Promise<Value> {
    const place = { brain: this.#brain, tree: this.tree, openConflicts: this.openConflicts, journalDir };
    let attempt: Attempt | null = null;
    let value: Value;
    try {
      value = await writeSection(this.#brain, deadlineAt, async (section) => {
        await attempt?.undo();
        attempt = new Attempt(place);
        return work(section, attempt);
      });
    } catch (error) {
      await (attempt as Attempt | null)?.abandon(error);
      throw error;
    }
    await (attempt as Attempt | null)?.confirm();
    return value;
  }

  async #judge(calls: readonly Queued[], section: WriteSection, staging: Staging): Promise<Verdict[]> {
    const verdicts: Verdict[] = [];
    const diverted = await this.isDiverted();
    for (const call of calls) {
      const { request, context } = call.request;
      const judge = async (): Promise<Decision<FileOutcome, FileRefusal>> => {
        const guarded = guardWrite(section.lease, context, section.now);
        if (!guarded.ok) return guarded;
        if (diverted) return deny('E_BRAIN_DIVERTED', { branch: this.tree.branch });
        return staging.judge(request, context);
      };
      try {
        const answer = await this.#brain.idempotency.once(section.transaction, context.idempotency, judge);
        verdicts.push({ call, answer });
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        verdicts.push({ call, error });
      }
    }
    return verdicts;
  }
}
