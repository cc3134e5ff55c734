/** The brains this process owns: claimed, opened, created, handed over. */
import { join } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import { type Decision, deny } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Idempotency, Once } from '@svc/runtime/idempotency.ts';
import type { AuditRelay } from '@svc/runtime/audit-relay.ts';
import type { Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { RepeatedTrouble } from '@svc/runtime/repeated-trouble.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { createTurn } from '@svc/runtime/turns.ts';
import { runFsck } from '../git/boot-repair.ts';
import { rememberDamage } from '../git/known-damage.ts';
import type { RepositoryProblem } from '../git/repository.ts';
import type { Git } from '../git/run.ts';
import type { RowRules } from '../ports.ts';
import { CommitHandles } from '../rules/commit-handles.ts';
import type { ClaimBoundary } from '../rules/copy-boundaries.ts';
import type { DenialLog } from '../rules/denial-log.ts';
import { IndexMemory } from '../search/index-memory.ts';
import { openHome, readArriving, readHome } from '../store/home-store.ts';
import { FileHomes } from '../store/file-homes.ts';
import { createLeaseRow } from '../store/lease-store.ts';
import { claim, type Owner, release } from '../store/ownership.ts';
import type { Counters } from '../writer/counters.ts';
import type { BrainContext, OpContext } from '../writer/context.ts';
import { createRwLock } from '../writer/rw-lock.ts';
import { ReferenceCount } from './reference-count.ts';
import { BrainFolders } from './brain-folders.ts';
import { BrainMoves } from './brain-moves.ts';
import { cannotLoad, damageOf, openBrainRepository, type OpeningTools } from './brain-opening.ts';
import { DiskWatch } from './disk-watch.ts';
import { type BrainQuota, type Founded, foundEmpty, foundFrom, type FoundingGround, type Maker } from './founding.ts';
import { IslandPast } from './island-past.ts';
import { OpenBrain } from './open-brain.ts';
import { type Retire, retireBrain, type Retired, type RetireRefusal, type RetireWish } from './retirement.ts';
import type { SyncSettings } from './remotes.ts';

/** What closing a brain and moving its directories may take of the time of a call. */
const FAREWELL_MS = 10_000;

interface HostOptions {
  readonly platform: Platform;
  readonly git: Git;
  readonly idempotency: Idempotency;
  readonly outbox: Outbox;
  readonly audit: Pick<AuditRelay, 'kick'>;
  readonly rules: RowRules;
  readonly claimBoundary: ClaimBoundary;
  readonly denials: DenialLog;
  readonly counters: Counters;
  readonly meaning: BrainContext['meaning'];
  readonly contexts: BrainContext['contexts'];
  readonly sync: SyncSettings;
  /** Under which commits are named for whom something is hidden. */
  readonly handleKey: Uint8Array;
  readonly defaultBrain: string;
  /** Absolute. */
  readonly dataDir: string;
}

interface Held {
  readonly brain: OpenBrain;
  readonly users: ReferenceCount;
  readonly owner: Owner;
  /** Of the repository that was opened. */
  readonly identity: string | null;
}

/** A piece of work on a brain of this process; `leave` ends it. */
interface Entered {
  readonly brain: OpenBrain;
  readonly retire: Retire;
  readonly leave: () => void;
}

/** A brain that this process owns, or is about to own. */
interface Entry {
  readonly opening: Promise<Held | null>;
  /** What the opening ended with; null as long as it goes on. */
  held: Held | null;
}

export class BrainHost {
  readonly folders: BrainFolders;
  readonly disk: DiskWatch;
  readonly #options: HostOptions;
  readonly #opening: OpeningTools;
  /** Of all brains. */
  readonly indexes: IndexMemory;
  readonly #entries = new Map<string, Entry>();
  readonly #moves: BrainMoves;
  /** Brains that are about to go; whoever comes for them waits. */
  readonly #retiring = new Set<string>();
  #closing = false;

  constructor(options: HostOptions) {
    this.#options = options;
    const fsck = rememberDamage(runFsck, () => performance.now());
    this.#opening = { ...options, trouble: new RepeatedTrouble(), fsck };
    const { config, log } = options.platform;
    this.indexes = new IndexMemory({
      limitBytes: config.SVC_SEARCH_MEMORY_MIB * 1024 * 1024,
      onNotAnalysed: (err) => log.error({ err }, 'the thread that analyses texts failed at some'),
    });
    this.#moves = new BrainMoves(options);
    this.folders = new BrainFolders(options.dataDir);
    this.disk = new DiskWatch(options.platform, options.dataDir);
  }

  get process(): string {
    return this.#options.platform.node.instance;
  }

  /** Every brain, by name. */
  async names(): Promise<string[]> {
    const arriving = await readArriving(poolClient(this.#options.platform.database.pool));
    return this.folders.namesWith(arriving);
  }

  /** Also one whose folder is on its way: it is put in its place first. Throws the error of the disk. */
  async exists(name: string): Promise<boolean> {
    if (await this.folders.exists(name)) return true;
    await this.#moves.finish(name);
    return this.folders.exists(name);
  }

  /** Where the brain is at home; the default workspace for one that was never opened. */
  async homeOf(name: string): Promise<string> {
    const home = await readHome(poolClient(this.#options.platform.database.pool), name);
    return home?.workspace ?? DEFAULT_WORKSPACE;
  }

  /** Throws VAF_INPUT_INVALID for a name that folds to another's, E_BUSY. */
  create(name: string, maker: Maker): Promise<'created' | 'exists' | BrainQuota> {
    return foundEmpty(this.#founding(), name, maker);
  }

  /** As `create`, from a backup; null = a brain of that name is there. */
  createFrom(name: string, maker: Maker, founded: Founded): ReturnType<typeof foundFrom> {
    return foundFrom(this.#founding(), name, maker, founded);
  }

  #founding(): FoundingGround {
    return { ...this.#options, folders: this.folders, moves: this.#moves };
  }

  /** The brain, for one piece of work, when this process owns it or can claim it; null when another one has it. */
  async enter(name: string): Promise<Entered | null> {
    const held = await this.open(name);
    if (held === null || this.#entries.get(name)?.held !== held) return null;
    return { brain: held.brain, retire: (wish) => this.#retire(held, wish), leave: held.users.enter() };
  }

  /** Null as `enter` answers it. */
  async open(name: string): Promise<Held | null> {
    if (this.#retiring.has(name)) return null;
    const known = this.#entries.get(name);
    if (known !== undefined) return known.opening;
    if (this.#closing) return null;
    const entry: Entry = { opening: this.#claimAndOpen(name), held: null };
    this.#entries.set(name, entry);
    try {
      entry.held = await entry.opening;
    } finally {
      if (entry.held === null && this.#entries.get(name) === entry) this.#entries.delete(name);
    }
    return entry.held;
  }

  /** Whether the brain is open here, or will be in a moment; never claims. */
  owns(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Whether the brain may be seen by the caller, if there is one of that name. */
  async mayOpen(name: string, { isService, subject, registry }: OpContext): Promise<boolean> {
    return isService || (await this.#options.rules.view(subject, name, registry)).mayOpen;
  }

  /**
   * Lets go of an open brain whose repository is not the one that was opened: a person removed it, or put a backup in its
   * place. The next call opens what is there then.
   */
  async dropReplaced(name: string): Promise<void> {
    const held = this.#entries.get(name)?.held;
    if (held == null || this.folders.identity(name) === held.identity) return;
    if (!(await this.exists(name))) this.folders.noteVanished(name);
    this.#options.platform.log.error({ brain: name }, 'the folder of a brain was removed or replaced');
    await this.lose(name);
  }

  /** Lets go of an open brain whose repository is damaged, and says how. Throws BRAIN_LOAD_FAIL then. */
  async dropDamaged(name: string): Promise<void> {
    const held = this.#entries.get(name)?.held;
    if (held == null) return;
    const error = await damageOf(this.#opening, name, held.brain.context.repository);
    if (error === null) return;
    await this.lose(name);
    throw error;
  }

  /** What it is for a caller that a repository, which was fit to be served when it was opened, is so no more. */
  loadFailure(name: string, problem: RepositoryProblem): CallError {
    return cannotLoad(this.#opening, name, problem);
  }

  /** Another process took the brain while we were away: forget it without a word. */
  async lose(name: string): Promise<void> {
    const known = this.#entries.get(name);
    this.#entries.delete(name);
    await (await known?.opening)?.brain.close();
  }

  /** Waits for nothing: a brain that is still being opened is not among them. */
  openBrains(): OpenBrain[] {
    return [...this.#entries.values()].flatMap(({ held }) => (held === null ? [] : [held.brain]));
  }

  /** Finishes what each brain has queued and lets another process take it. */
  async handOver(): Promise<void> {
    this.#closing = true;
    const client = poolClient(this.#options.platform.database.pool);
    for (const [name, { opening }] of this.#entries) {
      const held = await opening.catch(() => null);
      if (held === null) continue;
      await held.brain.trees.settled();
      this.#entries.delete(name);
      await held.brain.close();
      await release(client, name, held.owner);
    }
    await this.indexes.close();
  }

  /** Finishes what was decided about brains before somebody was killed. */
  async finishMoves(): Promise<void> {
    await this.#moves.sweep();
    await this.#moves.followAll();
  }

  /** What a keyed call of before came to; null = nothing is known of it. */
  retired(scope: IdempotencyScope | null): Promise<Decision<Retired, RetireRefusal> | null> {
    const { idempotency, platform } = this.#options;
    return idempotency.find(poolClient(platform.database.pool), scope);
  }

  async #retire({ brain, users }: Held, wish: RetireWish): Promise<Once<Retired, RetireRefusal>> {
    const { name } = brain.context;
    const busy = { decision: deny('E_BUSY', { retryAfterMs: 1000 }), replayed: false } as const;
    if (this.#retiring.has(name)) return busy;
    this.#retiring.add(name);
    try {
      const waitMs = wish.context.deadlineAt - this.#options.platform.clock.now() - FAREWELL_MS;
      if (!(await users.alone(waitMs))) return busy;
      // Whatever is decided: the next call opens it again, if it is still there.
      this.#entries.delete(name);
      await brain.close();
      const rescue = (await wish.replacement?.rescue()) ?? null;
      const ground = { ...this.#options, moves: this.#moves, folders: this.folders };
      return await retireBrain(brain.context, ground, { ...wish, rescue });
    } finally {
      this.#retiring.delete(name);
    }
  }

  async #claimAndOpen(name: string): Promise<Held | null> {
    await this.#moves.finish(name);
    if (!(await this.exists(name))) throw new CallError('BRAIN_LOAD_FAIL');
    const client = poolClient(this.#options.platform.database.pool);
    const owner = await claim(client, name, this.process);
    if (owner === null) return null;
    try {
      return await this.#open(name, owner);
    } catch (error) {
      await release(client, name, owner).catch(() => {}); // it ends with our heartbeat at the latest
      throw error;
    }
  }

  async #open(name: string, owner: Owner): Promise<Held> {
    const { dataDir, sync, git: _git, handleKey, defaultBrain: _default, ...shared } = this.#options;
    const { platform, rules } = shared;
    const worktrees = join(dataDir, 'worktrees', name);
    const identity = this.folders.identity(name);
    const repository = await openBrainRepository(this.#opening, { name, folder: this.folders.of(name), worktrees });
    const client = poolClient(platform.database.pool);
    await createLeaseRow(client, name);
    const home = await openHome(client, name, platform.ids.next('brn'));
    const handles = new CommitHandles(handleKey, home.id);
    const homes = await FileHomes.read(client, home);
    rules.place(name, homes);
    const parts = { indexes: this.indexes, handles, homes, disk: this.disk, islands: new IslandPast(repository) };
    const journalDir = join(dataDir, 'journal');
    const own = { journalDir, unstored: new Set<string>(), rwLock: createRwLock(), treeTurn: createTurn() };
    const context = { ...shared, ...parts, ...own, name, owner, repository };
    const brain = new OpenBrain(
      context,
      {
        worktrees,
        cache: join(dataDir, 'cache', name),
        dataDir,
        process: this.process,
      },
      sync,
    );
    await brain.start();
    return { brain, users: new ReferenceCount(), owner, identity };
  }
}
