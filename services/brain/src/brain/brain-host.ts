/** The brains this process owns: claimed, opened, created, handed over. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { Idempotency } from '@svc/runtime/idempotency.ts';
import type { Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { TEMP_PREFIX } from '../files/durable-write.ts';
import { findDamage, repairRepository } from '../git/boot-repair.ts';
import { createRepository, openRepository, type Repository, RepositoryProblem } from '../git/repository.ts';
import { pruneWorktrees, relinkWorktrees } from '../git/worktrees.ts';
import type { Git } from '../git/run.ts';
import type { RowRules } from '../ports.ts';
import type { DenialLog } from '../rules/denial-log.ts';
import { IndexMemory } from '../search/index-memory.ts';
import { createLeaseRow } from '../store/lease-store.ts';
import { claim, type Owner, release } from '../store/ownership.ts';
import type { Counters } from '../writer/counters.ts';
import type { OpContext } from '../writer/context.ts';
import { createGate } from '../writer/gate.ts';
import { BrainFolders } from './brain-folders.ts';
import { DiskWatch } from './disk-watch.ts';
import { OpenBrain } from './open-brain.ts';
import { BrainOperations } from './operations.ts';
import type { SyncSettings } from './remotes.ts';

export const MAX_BRAINS = 256;
const MAX_REASON = 300;

export interface HostOptions {
  readonly platform: Platform;
  readonly git: Git;
  readonly idempotency: Idempotency;
  readonly outbox: Outbox;
  readonly rules: RowRules;
  readonly denials: DenialLog;
  readonly counters: Counters;
  readonly sync: SyncSettings;
  /** Absolute. */
  readonly dataDir: string;
}

interface Held {
  readonly brain: OpenBrain;
  readonly operations: BrainOperations;
  readonly owner: Owner;
  /** Of the repository that was opened. */
  readonly identity: string | null;
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
  /** Of all brains. */
  readonly indexes = new IndexMemory();
  readonly #entries = new Map<string, Entry>();
  #closing = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.folders = new BrainFolders(options.dataDir);
    this.disk = new DiskWatch(options.platform, options.dataDir);
  }

  get process(): string {
    return this.#options.platform.node.instance;
  }

  /** Every brain in the data directory, by name. */
  names(): Promise<string[]> {
    return this.folders.names();
  }

  exists(name: string): Promise<boolean> {
    return this.folders.exists(name);
  }

  /** False when the brain was there already. Throws VAF_INPUT_INVALID for a name that folds to another's, E_BUSY. */
  async create(name: string, by: string): Promise<'created' | 'exists' | 'quota'> {
    const names = await this.names();
    if (names.includes(name)) return 'exists';
    if (names.length >= MAX_BRAINS) return 'quota';
    if (names.some((other) => foldCase(other) === foldCase(name))) {
      throw new CallError('VAF_INPUT_INVALID', `brain: differs only in case from an existing one`);
    }
    const { git, outbox, platform } = this.#options;
    try {
      const repository = await createRepository(git, {
        dir: this.folders.of(name),
        at: new Date(platform.clock.now()),
      });
      repository[Symbol.dispose]();
    } catch (error) {
      if (await this.exists(name)) return 'exists';
      throw error;
    }
    const payload = { brain: name, by, resources: [`brain:${name}`] };
    await withPgTransaction(platform.database.pool, (transaction) =>
      outbox.write(transaction, [{ name: 'brain:created', payload }]),
    );
    outbox.kick();
    return 'created';
  }

  /** The brain's operations when this process owns it or can claim it; null when another one has it. */
  async serve(name: string): Promise<BrainOperations | null> {
    const known = this.#entries.get(name);
    if (known !== undefined) return (await known.opening)?.operations ?? null;
    if (this.#closing) return null;
    const entry: Entry = { opening: this.#claimAndOpen(name), held: null };
    this.#entries.set(name, entry);
    try {
      entry.held = await entry.opening;
    } finally {
      if (entry.held === null && this.#entries.get(name) === entry) this.#entries.delete(name);
    }
    return entry.held?.operations ?? null;
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
    const damage = await findDamage(held.brain.context.repository, 'heads').catch(String);
    if (damage === null) return;
    await this.lose(name);
    throw this.#cannotLoad(name, new RepositoryProblem('damaged', damage));
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
      await held.brain.settled();
      this.#entries.delete(name);
      await held.brain.close();
      await release(client, name, held.owner);
    }
    await this.indexes.close();
  }

  async #claimAndOpen(name: string): Promise<Held | null> {
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
    const { dataDir, sync, git: _git, ...shared } = this.#options;
    const { platform } = shared;
    const worktrees = join(dataDir, 'worktrees', name);
    const identity = this.folders.identity(name);
    const repository = await this.#openRepository(name, worktrees);
    await createLeaseRow(poolClient(platform.database.pool), name);
    const context = { ...shared, name, owner, repository, gate: createGate(), indexes: this.indexes, disk: this.disk };
    const brain = new OpenBrain(
      context,
      { worktrees, cache: join(dataDir, 'cache', name), journal: join(dataDir, 'journal') },
      sync,
    );
    await brain.start();
    return { brain, operations: new BrainOperations(brain), owner, identity };
  }

  async #openRepository(name: string, worktrees: string): Promise<Repository> {
    const { git, counters } = this.#options;
    try {
      const repository = await openRepository(git, this.folders.of(name));
      await relinkWorktrees(repository, worktrees);
      await pruneWorktrees(repository);
      const { removedLocks, damage } = await repairRepository(repository);
      counters.mutex.takeovers += removedLocks.length;
      if (damage !== null) throw new RepositoryProblem('damaged', damage);
      await removeLeftovers(repository.dir);
      await removeLeftovers(worktrees);
      return repository;
    } catch (error) {
      if (!(error instanceof RepositoryProblem)) throw error;
      throw this.#cannotLoad(name, error);
    }
  }

  #cannotLoad(name: string, problem: RepositoryProblem): CallError {
    const { platform, dataDir } = this.#options;
    platform.log.error({ brain: name, reason: problem.reason, err: problem }, 'a brain cannot be opened');
    if (problem.reason === 'absent') return new CallError('BRAIN_LOAD_FAIL');
    const [reason = ''] = problem.message.replaceAll(dataDir, '').split('\n');
    return new CallError('BRAIN_LOAD_FAIL', `Failed to load brain: ${reason.slice(0, MAX_REASON)}`, {}, 503);
  }
}

/** Temp files of a killed process. */
async function removeLeftovers(directory: string): Promise<void> {
  const children = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const child of children) {
    if (child.name === '.git') continue;
    const path = join(directory, child.name);
    if (child.isDirectory()) await removeLeftovers(path);
    else if (child.name.startsWith(TEMP_PREFIX)) await rm(path, { force: true });
  }
}
