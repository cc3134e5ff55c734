/** The single writer of one branch's working tree: file calls in batches, everything else alone. */
import { CallError } from '@svc/contract/codes.ts';
import { deny, type Decision } from '@svc/contract/decision.ts';
import type { EventPayload } from '@svc/contract/events.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { guardWrite } from '../domain/lease.ts';
import { type AppliedChanges, applyChanges, DiskRefusal, type FileChange } from '../files/durable-write.ts';
import type { DescribedFile, FileText, NoticedChange, Worktree } from '../files/worktree.ts';
import { isOnBranch, readWorktreeState } from '../git/worktree-state.ts';
import { type CatalogueChange, writeCatalogue } from '../store/catalogue.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { resolveConflicts } from '../store/sync-store.ts';
import { type BrainContext, NotOwner, type OpContext, resourceKeys, writeSection } from './context.ts';
import { type QueuedCall, WriteQueue } from './queue.ts';
import { type FileOutcome, type FileRequest, Staging } from './staging.ts';

export type GuardRefusal = 'E_LOCKED' | 'E_FENCED' | 'E_BRAIN_DIVERTED';
export type FileRefusal = GuardRefusal | 'E_CONFLICT' | 'E_FILE_ABSENT' | 'E_QUOTA' | 'E_STATE_WRITE';

type ChangeSource = EventPayload<'brain:change'>['source'];

interface FileCall {
  readonly request: FileRequest;
  readonly context: OpContext;
}

type FileAnswer = Once<FileOutcome, FileRefusal>;
type Queued = QueuedCall<FileCall, FileAnswer>;
type Verdict = { readonly call: Queued } & ({ readonly answer: FileAnswer } | { readonly error: CallError });

export class BranchWriter {
  readonly tree: Worktree;
  /** Files with an open sync conflict; writing one settles it. */
  readonly openConflicts: Set<string>;
  /** Milliseconds since the epoch of the last call. */
  usedAt: number;
  readonly #brain: BrainContext;
  readonly #queue: WriteQueue<FileCall, FileAnswer>;
  #applied: Promise<void> = Promise.resolve();
  #isRetired = false;

  constructor(brain: BrainContext, tree: Worktree, openConflicts: Set<string>) {
    this.#brain = brain;
    this.tree = tree;
    this.openConflicts = openConflicts;
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

  /** The working tree is going away; whoever still comes here is sent to look for the branch again. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Writes or removes one file. Rejects with CallError, NotOwner or a database error. */
  change(request: FileRequest, context: OpContext): Promise<FileAnswer> {
    this.usedAt = this.#brain.platform.clock.now();
    return this.#queue.enqueue({ request, context }, request.content?.byteLength ?? 0, context.deadlineAt);
  }

  /** Runs in its turn with nothing else of this branch; enter a section inside. */
  alone<Value>(deadlineAt: number, work: () => Promise<Value>): Promise<Value> {
    this.usedAt = this.#brain.platform.clock.now();
    return this.#queue.alone(deadlineAt, async () => {
      this.#assertInUse();
      return work();
    });
  }

  /** The file as acknowledged: a write under way is waited for. */
  async read(path: string): Promise<FileText | null> {
    while (this.tree.applying.has(path)) await this.#applied;
    return this.tree.read(path);
  }

  /** Records and tells what others changed; called in the queue or at boot. */
  async tellNoticed(source: ChangeSource, deadlineAt: number): Promise<void> {
    if (!this.tree.hasNoticed) return;
    const noticed = this.tree.takeNoticed();
    try {
      await writeSection(this.#brain, deadlineAt, ({ transaction }) =>
        this.#recordNoticed(transaction, noticed, source),
      );
    } catch (error) {
      this.tree.putBackNoticed(noticed);
      throw error;
    }
  }

  /** Everything a guarded change must pass besides its own rules. */
  async guard(section: WriteSection, context: OpContext): Promise<Decision<null, GuardRefusal>> {
    const guarded = guardWrite(section.lease, context.caller, context.fence, section.now);
    if (!guarded.ok) return guarded;
    return (await this.#isDiverted()) ? deny('E_BRAIN_DIVERTED', { branch: this.tree.branch }) : guarded;
  }

  async #isDiverted(): Promise<boolean> {
    const state = await readWorktreeState(this.#brain.repository, this.tree.root);
    return !isOnBranch(state, this.tree.branch);
  }

  #assertInUse(): void {
    if (this.#isRetired) throw new NotOwner(this.#brain.name);
  }

  async #runBatch(calls: readonly Queued[]): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#applied = done.promise;
    try {
      this.#assertInUse();
      for (const verdict of await this.#commitBatch(calls)) {
        if ('error' in verdict) verdict.call.reject(verdict.error);
        else verdict.call.resolve(verdict.answer);
      }
    } catch (error) {
      if (error instanceof DiskRefusal && calls.length > 1) {
        for (const call of calls) await this.#runBatch([call]); // find the ones that do fit
      } else this.#failBatch(calls, error);
    } finally {
      done.resolve();
    }
  }

  #failBatch(calls: readonly Queued[], error: unknown): void {
    for (const call of calls) {
      if (error instanceof DiskRefusal) call.resolve({ decision: deny('E_STATE_WRITE'), replayed: false });
      else call.reject(error);
    }
  }

  /** Judges, puts in place, records and commits; on any failure the disk is as before (or the error says unsure). */
  async #commitBatch(calls: readonly Queued[]): Promise<Verdict[]> {
    const deadlineAt = Math.max(...calls.map((call) => call.deadlineAt));
    let attempt: Attempt | null = null;
    const noticed: NoticedChange[] = [];
    try {
      const verdicts = await writeSection(this.#brain, deadlineAt, async (section) => {
        await attempt?.undo(); // a conflict in the database made this run again
        attempt = new Attempt(this.#brain, this.tree);
        const judged = await this.#judge(calls, section, attempt.staging);
        noticed.push(...this.tree.takeNoticed());
        await this.#recordNoticed(section.transaction, noticed, 'external');
        const described = await attempt.apply();
        await this.#record(section, attempt.staging, described);
        return judged;
      });
      const applied = attempt as Attempt | null;
      applied?.accept();
      for (const { path } of applied?.staging.events ?? []) this.openConflicts.delete(path);
      return verdicts;
    } catch (error) {
      this.tree.putBackNoticed(noticed);
      await this.#afterFailure(attempt, error);
      throw error;
    }
  }

  /** A commit of unknown outcome keeps the new bytes: the row that calls them acknowledged may exist. */
  async #afterFailure(attempt: Attempt | null, error: unknown): Promise<void> {
    if (attempt === null) return;
    if (error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN') {
      attempt.accept();
      return;
    }
    try {
      await attempt.undo();
    } catch (undoError) {
      this.#brain.platform.log.error({ err: undoError, brain: this.#brain.name }, 'old bytes could not be put back');
      throw new CallError('E_OUTCOME_UNKNOWN');
    }
  }

  async #judge(calls: readonly Queued[], section: WriteSection, staging: Staging): Promise<Verdict[]> {
    const verdicts: Verdict[] = [];
    const diverted = await this.#isDiverted();
    for (const call of calls) {
      const { request, context } = call.request;
      const judge = async (): Promise<Decision<FileOutcome, FileRefusal>> => {
        const guarded = guardWrite(section.lease, context.caller, context.fence, section.now);
        if (!guarded.ok) return guarded;
        if (diverted) return deny('E_BRAIN_DIVERTED', { branch: this.tree.branch });
        return staging.judge(request, context.actor);
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

  async #record(
    { transaction }: WriteSection,
    staging: Staging,
    described: ReadonlyMap<string, DescribedFile | null>,
  ): Promise<void> {
    const rows: CatalogueChange[] = [...described].map(([path, file]) =>
      file === null ? { removed: path } : { entry: file.entry, by: staging.lastActor(path) },
    );
    await writeCatalogue(transaction, this.#brain.name, this.tree.branch, rows);
    const events = staging.events.map(({ path, change, hash, by }) => this.changeEvent(path, change, hash, by, 'tool'));
    await this.#brain.outbox.write(transaction, events);
    const settled =
      rows.length === 0 ? [] : staging.events.map(({ path }) => path).filter((path) => this.openConflicts.has(path));
    if (settled.length > 0) await resolveConflicts(transaction, this.#brain.name, this.tree.branch, settled);
  }

  async #recordNoticed(
    transaction: WriteSection['transaction'],
    noticed: readonly NoticedChange[],
    source: ChangeSource,
  ): Promise<void> {
    if (noticed.length === 0) return;
    const rows: CatalogueChange[] = noticed.map(({ path, entry }) =>
      entry === null ? { removed: path } : { entry, by: source },
    );
    await writeCatalogue(transaction, this.#brain.name, this.tree.branch, rows);
    const events = noticed.map(({ path, change, entry }) =>
      this.changeEvent(path, change, entry?.hash ?? null, source, source),
    );
    await this.#brain.outbox.write(transaction, events);
  }

  changeEvent(
    file: string,
    change: NoticedChange['change'],
    hash: string | null,
    by: string,
    source: ChangeSource,
  ): NewEvent<'brain:change'> {
    const { name: brain } = this.#brain;
    const resources = resourceKeys(brain, file);
    return {
      name: 'brain:change',
      payload: { file, brain, branch: this.tree.branch, hash, change, by, source, resources },
    };
  }
}

/** One try at a batch: what is on disk because of it, and how to take it in or back. */
class Attempt {
  readonly staging: Staging;
  readonly #brain: BrainContext;
  readonly #tree: Worktree;
  #changes: readonly FileChange[] = [];
  #described = new Map<string, DescribedFile | null>();
  #applied: AppliedChanges | null = null;

  constructor(brain: BrainContext, tree: Worktree) {
    this.#brain = brain;
    this.#tree = tree;
    this.staging = new Staging(tree);
  }

  async apply(): Promise<ReadonlyMap<string, DescribedFile | null>> {
    this.#changes = this.staging.changes();
    for (const { path } of this.#changes) this.#tree.applying.add(path);
    this.#applied = await applyChanges(this.#tree.root, this.#changes, () => this.#brain.platform.ids.next('w'));
    for (const { path, content } of this.#changes) {
      this.#described.set(path, content === null ? null : this.#tree.describe(path, content));
    }
    return this.#described;
  }

  /** The new bytes stay. */
  accept(): void {
    for (const [path, described] of this.#described) this.#tree.accept(path, described);
    this.#release();
  }

  async undo(): Promise<void> {
    try {
      await this.#applied?.undo();
    } finally {
      this.#applied = null;
      this.#release();
      // Putting back gave the files new times; what they hold is what the table says, so this is no news.
      for (const { path } of this.#changes) this.#tree.refresh(path);
    }
  }

  #release(): void {
    for (const { path } of this.#changes) this.#tree.applying.delete(path);
  }
}
