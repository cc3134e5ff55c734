/** The second place of the audit: signed ends of chains, one a line, in a file that is only ever added to, and in the log. */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { ChainEnd } from '../domain/audit-chain.ts';
import type { Checkpoints } from '../domain/audit-verdict.ts';
import type { Seal } from './seal.ts';

export interface CheckpointFile {
  /** Resolves when they are durable. */
  append(ends: readonly ChainEnd[]): Promise<void>;
  /** Those of every chain that the key signed; anything else in the file proves nothing. Empty without a directory. */
  read(): Promise<ReadonlyMap<string, Checkpoints>>;
}

const Line = z.strictObject({ chain: z.string(), seq: z.int(), hash: z.string(), at: z.number(), mac: z.string() });
type Line = z.output<typeof Line>;

type Parts = Pick<Platform, 'clock' | 'database' | 'log'>;

export function createCheckpointFile(
  { clock, database, log }: Parts,
  seal: Seal,
  directory: string | null,
): CheckpointFile {
  const file = directory === null ? null : join(directory, 'checkpoints');
  return {
    async append(ends) {
      const lines = ends.map((end): Line => ({ ...end, at: clock.now(), mac: seal.sign(end) }));
      // Whoever has the database to itself has the disk that the file is on too.
      if (!database.exclusive) for (const checkpoint of lines) log.info({ checkpoint }, 'audit checkpoint');
      if (file !== null) await appendLines(file, lines);
    },
    async read() {
      const found = new Map<string, Map<number, Set<string>>>();
      if (file === null) return found;
      for (const { mac, at: _at, ...end } of await readLines(file)) {
        if (seal.isSignatureOf(mac, end)) note(found, end);
      }
      return found;
    },
  };
}

function note(found: Map<string, Map<number, Set<string>>>, { chain, seq, hash }: ChainEnd): void {
  const ofChain = found.get(chain) ?? new Map<number, Set<string>>();
  found.set(chain, ofChain);
  const hashes = ofChain.get(seq) ?? new Set();
  ofChain.set(seq, hashes.add(hash));
}

/** Starts on a new line, so that a line which a killed process left unfinished spoils no other. */
async function appendLines(file: string, lines: readonly Line[]): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    await handle.appendFile(`\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function readLines(file: string): Promise<Line[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    const parsed = Line.safeParse(parsedJson(line));
    return parsed.success ? [parsed.data] : [];
  });
}

function parsedJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
