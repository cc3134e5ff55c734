/**
 * The second place of the audit: signed ends of chains, one a line, in files beside the database, and in the log. Lines
 * are added to the newest file; when that is long it is closed, and of a closed file the lines that still tell something
 * go to a third one. They only ever move in this order, so whoever reads the files in it misses none.
 */
import { rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChainEnd } from '../domain/audit-chain.ts';
import type { Checkpoints } from '../domain/audit-verdict.ts';
import { appendLines, type CheckpointLine, endOfLine, readLines, replaceLines } from './checkpoint-lines.ts';
import type { Seal } from './seal.ts';
import { syncDirectory } from './sync-directory.ts';

export interface KnownCheckpoints {
  readonly chain: string;
  readonly checkpoints: Checkpoints;
  /** The newest entry that the chain was found to lead to before, unless older ones came in since. */
  readonly judged: ChainEnd | null;
}

/** Which of its checkpoints a chain still needs, by their seqs; null = all that is known of it stays. */
type JudgeCheckpoints = (known: KnownCheckpoints) => Promise<ReadonlySet<number> | null>;

export interface CheckpointFile {
  /** Resolves when they are durable. */
  append(ends: readonly ChainEnd[]): Promise<void>;
  /** Those of every chain that the key signed; anything else in the file proves nothing. Empty without a directory. */
  read(): Promise<ReadonlyMap<string, Checkpoints>>;
  /**
   * Takes a step towards fewer lines, where there are many: closes the newest file, or leaves out what is not needed of a
   * file that was closed before. One process at a time.
   */
  thin(needed: JudgeCheckpoints): Promise<void>;
}

/** Bytes from which on the newest file is closed. */
const LONG_FILE = 1024 * 1024;
/** Nobody who opened a file before it was closed is still adding to it after so long. */
const CLOSED_FOR_MS = 10 * 60_000;

type Parts = Pick<Platform, 'clock' | 'database' | 'log'>;

export function createCheckpointFile(
  { clock, database, log }: Parts,
  seal: Seal,
  directory: string | null,
): CheckpointFile {
  const files = directory === null ? null : filesIn(directory);
  return {
    async append(ends) {
      const lines = ends.map((end): CheckpointLine => ({ ...end, at: clock.now(), mac: seal.sign(end) }));
      // Whoever has the database to itself has the disk that the file is on too.
      if (!database.exclusive) for (const checkpoint of lines) log.info({ checkpoint }, 'audit checkpoint');
      if (files !== null) await appendLines(files.newest, lines);
    },
    async read() {
      const lines: CheckpointLine[] = [];
      for (const file of files === null ? [] : [files.newest, files.closed, files.thinned]) {
        for (const line of await readLines(file)) lines.push(line);
      }
      return checkpointsOf(seal, lines);
    },
    async thin(needed) {
      if (files === null) return;
      const closed = await stat(files.closed).catch(() => null);
      if (closed === null) await closeWhenLong(files);
      else if (clock.now() - closed.ctimeMs >= CLOSED_FOR_MS) await thinClosed(files, seal, needed);
    },
  };
}

interface Files {
  readonly newest: string;
  readonly closed: string;
  readonly thinned: string;
}

function filesIn(directory: string): Files {
  const newest = join(directory, 'checkpoints');
  return { newest, closed: `${newest}.closed`, thinned: `${newest}.thinned` };
}

async function closeWhenLong({ newest, closed }: Files): Promise<void> {
  const length = await stat(newest).then(
    ({ size }) => size,
    () => 0,
  );
  if (length < LONG_FILE) return;
  await rename(newest, closed);
  await syncDirectory(dirname(closed));
}

async function thinClosed({ closed, thinned }: Files, seal: Seal, needed: JudgeCheckpoints): Promise<void> {
  const recent = Map.groupBy(await readLines(closed), ({ chain }) => chain);
  const before = Map.groupBy(await readLines(thinned), ({ chain }) => chain);
  const lines: CheckpointLine[] = [];
  for (const chain of new Set([...before.keys(), ...recent.keys()])) {
    const [old, added] = [before.get(chain) ?? [], recent.get(chain) ?? []];
    for (const line of added.length === 0 ? old : await neededLines(seal, { chain, old, added }, needed))
      lines.push(line);
  }
  await replaceLines(thinned, lines);
  await rm(closed);
  await syncDirectory(dirname(closed));
}

interface LinesOfChain {
  readonly chain: string;
  readonly old: readonly CheckpointLine[];
  readonly added: readonly CheckpointLine[];
}

async function neededLines(
  seal: Seal,
  { chain, old, added }: LinesOfChain,
  needed: JudgeCheckpoints,
): Promise<readonly CheckpointLine[]> {
  const lines = [...old, ...added];
  const judged = old.findLast((line) => line.judged === true && seal.isSignatureOf(line.mac, endOfLine(line)));
  const isBehind = added.every(({ seq }) => judged !== undefined && seq >= judged.seq);
  const seqs = await needed({
    chain,
    checkpoints: checkpointsOf(seal, lines).get(chain) ?? new Map(),
    judged: judged !== undefined && isBehind ? endOfLine(judged) : null,
  });
  if (seqs === null) return lines;
  const newest = Math.max(...seqs);
  const kept = lines.filter((line) => seqs.has(line.seq) && seal.isSignatureOf(line.mac, endOfLine(line)));
  // One line for each: they were held against the chain, so they say the same.
  return [...new Map(kept.map((line) => [line.seq, line])).values()]
    .sort((a, b) => a.seq - b.seq)
    .map(({ judged: _judged, ...line }) => (line.seq === newest ? { ...line, judged: true } : line));
}

function checkpointsOf(seal: Seal, lines: readonly CheckpointLine[]): Map<string, Map<number, Set<string>>> {
  const found = new Map<string, Map<number, Set<string>>>();
  for (const line of lines) if (seal.isSignatureOf(line.mac, endOfLine(line))) note(found, endOfLine(line));
  return found;
}

function note(found: Map<string, Map<number, Set<string>>>, { chain, seq, hash }: ChainEnd): void {
  const ofChain = found.get(chain) ?? new Map<number, Set<string>>();
  found.set(chain, ofChain);
  const hashes = ofChain.get(seq) ?? new Set();
  ofChain.set(seq, hashes.add(hash));
}
