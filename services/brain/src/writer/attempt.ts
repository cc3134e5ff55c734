/** One try at changing files of a working tree: what is on disk because of it, and how to take it in or back. */
import { CallError } from '@svc/contract/codes.ts';
import { stoodStillWith } from '@svc/runtime/timely.ts';
import {
  type AppliedChanges,
  applyChanges,
  ChangedUnderneath,
  DiskRefusal,
  type FileChange,
} from '../files/durable-write.ts';
import { noteChanges } from '../evolution/notes.ts';
import type { Journal } from '../files/journal-file.ts';
import type { DescribedFile } from '../files/file-entry.ts';
import { NoticedDifferences } from '../files/noticed-changes.ts';
import { StagedContents } from '../files/staged-contents.ts';
import type { Worktree } from '../files/worktree.ts';
import type { CatalogueChange } from '../store/catalogue.ts';
import type { WriteSection } from '../store/lease-store.ts';
import type { HomeNote } from '../store/file-homes.ts';
import { resolveConflicts } from '../store/sync-store.ts';
import { changeEvent, recordNoticed, recordSoon } from './change-records.ts';
import type { BrainContext } from './context.ts';
import type { OpenConflicts } from './open-conflicts.ts';
import { isOutcomeUnknown, isRecorded, type Recorded } from './lost-answer.ts';
import { Staging } from './staging.ts';
import { openStepJournal } from './step-journal.ts';

/** The branch as an attempt sees it. */
export interface AttemptPlace {
  readonly brain: BrainContext;
  readonly tree: Worktree;
  readonly openConflicts: OpenConflicts;
  /** Whether these changes are journalled, so that a killed process leaves all of them, with their outcome, or none. */
  isJournalled(changes: readonly FileChange[]): boolean;
}

const NOTHING_NOTICED = new NoticedDifferences(new Map());

export class Attempt {
  #staging: Staging;
  readonly #place: AttemptPlace;
  readonly #contents: StagedContents;
  #noticed = NOTHING_NOTICED;
  #changes: readonly FileChange[] = [];
  #described = new Map<string, DescribedFile | null>();
  #applied: AppliedChanges | null = null;
  #journal: Journal | null = null;
  #homes: readonly HomeNote[] = [];
  #isCarriedOut = false;
  #isAccepted = false;
  /** Milliseconds since the epoch. */
  readonly #since: number;

  constructor(place: AttemptPlace) {
    this.#place = place;
    this.#since = place.brain.platform.clock.now();
    this.#staging = new Staging(place.tree);
    this.#contents = new StagedContents(place.tree.root, () => place.brain.platform.ids.next('w'));
  }

  get staging(): Staging {
    return this.#staging;
  }

  /** Of what is staged by now, before it is sure that it will be carried out. */
  beginContents(): void {
    const { tree } = this.#place;
    const placed = this.#staging.changes().map((change) => placedChange(tree, change));
    this.#contents.begin(
      placed.flatMap(({ content, ...change }) => (content === null ? [] : [{ ...change, content }])),
    );
  }

  /** Nothing is staged any more. */
  async restart(): Promise<void> {
    this.#staging = new Staging(this.#place.tree);
    await this.#contents.discard();
  }

  /** Puts what is staged in place, and records it together with what others changed. */
  async carryOut(section: WriteSection): Promise<void> {
    const { brain, tree } = this.#place;
    const { transaction, isEvolving } = section;
    this.#noticed = tree.takeNoticed();
    const hides = brain.rules.lastHiding(brain.name);
    await recordNoticed({ brain, branch: tree.branch, hides }, section, this.#noticed, 'external');
    await this.#noteHomes(transaction);
    // The server may have ended the section meanwhile, and another process have deleted what would be placed here.
    if (this.#stoodStill()) await transaction.$queryRawUnsafe('SELECT');
    // While the disk is waited for, the database works.
    this.#tell(section);
    await this.#apply(() => this.#record(section));
    await this.#settleConflicts(section);
    const { homes } = brain;
    if (isEvolving) await noteChanges(transaction, homes.home.id, this.staging.events);
    this.#isCarriedOut = true;
  }

  /** Before anything is on disk, so that a file is never seen without its home. */
  async #noteHomes(transaction: WriteSection['transaction']): Promise<void> {
    const { brain, tree } = this.#place;
    const notes = this.staging.events.flatMap(({ path, change, home }): HomeNote[] => {
      if (home === null || home === brain.homes.home.workspace || change === 'updated') return [];
      return [{ path, workspace: change === 'created' ? home : null }];
    });
    this.#homes = await brain.homes.note(transaction, { brain: brain.name, branch: tree.branch }, notes);
  }

  /** `whenPlaced`: before the disk has made sure of the places. */
  async #apply(whenPlaced: () => void): Promise<void> {
    const { brain, tree } = this.#place;
    this.#changes = this.staging.changes();
    if (this.#place.isJournalled(this.#changes)) {
      this.#journal = await openStepJournal(brain, tree, this.#changes);
    }
    for (const { path } of this.#changes) tree.applying.add(path);
    try {
      const placed = this.#changes.map((change) => placedChange(tree, change));
      this.#applied = await applyChanges(this.#contents, placed, () => {
        this.#describe();
        whenPlaced();
      });
    } catch (error) {
      // What is on disk is unsure then: the journal stays, and the next opening of the brain undoes the rest.
      if (!(error instanceof DiskRefusal || error instanceof ChangedUnderneath)) this.#journal = null;
      throw error;
    }
  }

  #describe(): void {
    const { tree } = this.#place;
    for (const { path, content } of this.#changes) {
      this.#described.set(path, content === null ? null : tree.describe(path, content));
    }
  }

  #tell(section: WriteSection): void {
    const { brain, tree } = this.#place;
    // A file that is just made may have hidden fields because of where it is at home.
    const hides = brain.rules.lastHiding(brain.name);
    const shown = (path: string, hash: string | null): string | null => (hash === null || hides(path) ? null : hash);
    const events = this.staging.events.map(({ path, change, hash, by }) =>
      changeEvent(brain, tree.branch, { file: path, change, hash: shown(path, hash), by, source: 'tool' }),
    );
    recordSoon(brain, section, { branch: tree.branch, rows: [], events });
  }

  #record(section: WriteSection): void {
    const { brain, tree } = this.#place;
    const rows: CatalogueChange[] = [...this.#described].map(([path, file]) =>
      file === null ? { removed: path } : { entry: file.entry, by: this.staging.lastActor(path) },
    );
    recordSoon(brain, section, { branch: tree.branch, rows, events: [] });
  }

  async #settleConflicts(section: WriteSection): Promise<void> {
    const { brain, tree, openConflicts } = this.#place;
    const changed = this.#described.size === 0 ? [] : this.staging.events;
    const settled = changed.map(({ path }) => path).filter((path) => openConflicts.has(path));
    if (settled.length > 0) await resolveConflicts(section.transaction, brain.name, tree.branch, settled);
  }

  /** Something lies in place, or is gone, because of it. */
  get hasPlaced(): boolean {
    return this.#applied !== null && this.#described.size > 0;
  }

  /**
   * Of one whose COMMIT nobody has answered: finds out what came of it, and takes it in or back. Null when nobody can say it
   * until then; what is in place is served meanwhile. Throws NotOwner, and E_OUTCOME_UNKNOWN as `abandon`.
   */
  async findOut(until: number): Promise<boolean | null> {
    const { brain, tree } = this.#place;
    const placed: Recorded = new Map(Array.from(this.#described, ([path, file]) => [path, file?.entry ?? null]));
    const isCommitted = await isRecorded(brain, tree.branch, placed, until).finally(() => this.#accept());
    if (isCommitted === true) {
      await this.confirm();
      brain.outbox.kick();
    } else if (isCommitted === false) await this.#takeBack(() => this.#undo());
    return isCommitted;
  }

  /** The transaction committed. */
  async confirm(): Promise<void> {
    if (this.#isCarriedOut) for (const { path } of this.staging.events) this.#place.openConflicts.delete(path);
    await this.#keep();
  }

  async #keep(): Promise<void> {
    this.#accept();
    await this.#journal?.close();
  }

  /** Once: somebody may have changed the files since. */
  #accept(): void {
    if (!this.#isAccepted) for (const [path, described] of this.#described) this.#place.tree.accept(path, described);
    this.#isAccepted = true;
    this.#release();
  }

  /** The old bytes are back, unless it throws. */
  undo(): Promise<void> {
    // Another process may own the brain now, and have acknowledged what it found on disk: to it others changed that.
    return this.#undo(() => {
      if (this.#applied !== null && this.#stoodStill()) throw new CallError('E_OUTCOME_UNKNOWN');
    });
  }

  async #undo(assertOurs: () => void = () => {}): Promise<void> {
    const { brain, tree } = this.#place;
    brain.homes.forget(this.#homes);
    this.#homes = [];
    tree.putBackNoticed(this.#noticed);
    this.#noticed = NOTHING_NOTICED;
    try {
      assertOurs();
      await this.#applied?.undo();
    } finally {
      await this.#contents.discard();
      this.#applied = null;
      this.#release();
      // Putting back gave the files new times; what they hold is what the table says, so this is no news.
      for (const { path } of this.#changes) tree.refresh(path);
    }
    await this.#journal?.close();
  }

  /**
   * After any failure, but `findOut` where a commit of unknown outcome has put something in place.
   * Throws E_OUTCOME_UNKNOWN when the old bytes cannot be put back.
   */
  async abandon(error: unknown): Promise<void> {
    if (!isOutcomeUnknown(error)) return this.#takeBack(() => this.undo());
    this.#place.tree.putBackNoticed(this.#noticed);
    await this.#keep();
  }

  async #takeBack(undo: () => Promise<void>): Promise<void> {
    const { platform, name } = this.#place.brain;
    try {
      await undo();
    } catch (undoError) {
      platform.log.error({ err: undoError, brain: name }, 'old bytes could not be put back');
      throw new CallError('E_OUTCOME_UNKNOWN');
    }
  }

  #stoodStill(): boolean {
    return stoodStillWith(this.#place.brain.platform, { since: this.#since, repeatable: true });
  }

  #release(): void {
    for (const { path } of this.#changes) this.#place.tree.applying.delete(path);
  }
}

/** Put where the disk spells it. */
function placedChange(tree: Worktree, change: FileChange): FileChange {
  return { ...change, path: tree.onDisk(change.path) };
}
