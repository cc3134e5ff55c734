/**
 * What the disk below the data directory, or that of the database, refused lately, for health; a refusal is forgotten once a
 * write works again.
 */
import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Refusal } from '@svc/contract/codes.ts';
import {
  type DiskReason,
  diskRefusalOf,
  type DiskTrouble,
  diskTroubleOf,
  diskTroubleText,
} from '@svc/runtime/disk-errors.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { BrainProblem } from '../writer/context.ts';

const MIB = 1024 * 1024;
const PROBE_BYTES = 4096;
/** Health is asked often; the disk need not be. */
const PROBED_FOR_MS = 1000;
const DATABASE_WITHIN_MS = 800;

/** What ends for all files at once. */
const OF_THE_WHOLE_DISK = new Set<DiskReason>(['no space', 'read-only']);

export class DiskWatch {
  readonly #platform: Pick<Platform, 'clock' | 'database' | 'log' | 'node'>;
  readonly #dataDir: string;
  readonly #refused = new Map<string, DiskTrouble>();
  #probed: { readonly at: number; readonly problems: Promise<BrainProblem[]> } | null = null;

  constructor(platform: Pick<Platform, 'clock' | 'database' | 'log' | 'node'>, dataDir: string) {
    this.#platform = platform;
    this.#dataDir = dataDir;
  }

  /** The refusal that the error of a brain's operation means, noted; null when it is not about the disk. */
  refusal(brain: string, error: unknown): Refusal | null {
    const trouble = diskTroubleOf(error);
    if (trouble === null) return null;
    if (!this.#refused.has(brain)) this.#platform.log.error({ err: error, brain }, 'the disk refused a write');
    this.#refused.set(brain, trouble);
    this.#probed = null;
    return diskRefusalOf(error);
  }

  /** A change of the brain is on disk. */
  wrote(brain: string): void {
    if (this.#refused.delete(brain)) this.#platform.log.info({ brain }, 'the disk takes writes again');
  }

  async problemsOf(brain: string): Promise<BrainProblem[]> {
    const trouble = this.#refused.get(brain);
    if (trouble === undefined) return [];
    if (OF_THE_WHOLE_DISK.has(trouble.reason) && (await this.problems()).length === 0) {
      this.wrote(brain);
      return [];
    }
    return [{ code: 'E_STATE_WRITE', text: `the disk refused the last write: ${diskTroubleText(trouble)}` }];
  }

  /** Whether the data directory, where none needs to have failed before, and the database take a write now. */
  problems(): Promise<BrainProblem[]> {
    const now = this.#platform.clock.now();
    const known = this.#probed;
    if (known !== null && Math.abs(now - known.at) < PROBED_FOR_MS) return known.problems;
    const problems = Promise.all([this.#probe(), this.#askDatabase()]).then((found) => found.flat());
    this.#probed = { at: now, problems };
    return problems;
  }

  /** Nothing of one that does not answer, which is not ready and refuses every call. */
  async #askDatabase(): Promise<BrainProblem[]> {
    const { database } = this.#platform;
    if (await database.ping(DATABASE_WITHIN_MS).catch(() => true)) return [];
    const text = `${database.name} takes no writes: it has no room left, or is a copy of another one`;
    return [{ code: 'E_STATE_WRITE', text }];
  }

  async #probe(): Promise<BrainProblem[]> {
    const file = join(this.#dataDir, 'brains', `.svc-probe-${this.#platform.node.instance}`);
    try {
      const handle = await open(file, 'w', 0o600);
      try {
        await handle.writeFile(Buffer.alloc(PROBE_BYTES));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      return [];
    } catch (error) {
      const trouble = diskTroubleOf(error) ?? { reason: 'fault', place: null };
      const free = await freeMib(this.#dataDir);
      const text = `the disk refuses writes at ${this.#dataDir} (${trouble.reason}); free space ${free} MiB`;
      return [{ code: 'E_STATE_WRITE', text }];
    } finally {
      await rm(file, { force: true }).catch(() => undefined); // on a disk that takes no writes
    }
  }
}

async function freeMib(directory: string): Promise<string> {
  const found = await statfs(directory).catch(() => null);
  return found === null ? 'unknown' : String(Math.floor((found.bavail * found.bsize) / MIB));
}
