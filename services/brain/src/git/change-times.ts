/** When each file of a commit was changed last, as the history before it says. */
import { LRUCache } from 'lru-cache';
import { Slices } from '../search/slices.ts';
import { findMergeBase } from './integration.ts';
import type { Repository } from './repository.ts';
import { GitError, objectId } from './run.ts';

export interface ChangeTime {
  /** Of the last commit that changed it, in milliseconds since the epoch. */
  readonly at: number;
  /** What that commit made of it. */
  readonly blob: string;
}

/** By path, as git spells it. */
export type ChangeTimes = ReadonlyMap<string, ChangeTime>;

const NOTHING: ChangeTimes = new Map();
/** Files of all repositories of this process, about 300 bytes each. */
const KEPT_FILES = 200_000;
const KEPT_REPOSITORIES = 1_000;
/** About 200,000 changes. */
const MAX_LOG_BYTES = 32 * 1024 * 1024;
const LOG_MS = 10_000;
const NO_OBJECT = '0'.repeat(40);

const known = new LRUCache<string, ChangeTimes>({ maxSize: KEPT_FILES, sizeCalculation: ({ size }) => size + 1 });
/** The commit of each repository that was asked for last: those behind it cost what they change. */
const latest = new LRUCache<string, string>({ max: KEPT_REPOSITORIES });
const underWay = new Map<string, Promise<ChangeTimes>>();

/** Of a history that is too long nothing is told. */
export async function readChangeTimes(repository: Repository, commit: string): Promise<ChangeTimes> {
  const key = `${commit} ${repository.gitDir}`;
  const found = known.get(key) ?? underWay.get(key);
  if (found !== undefined) return found;
  const reading = timesOf(repository, commit).finally(() => underWay.delete(key));
  underWay.set(key, reading);
  const times = await reading;
  known.set(key, times);
  latest.set(repository.gitDir, commit);
  return times;
}

async function timesOf(repository: Repository, commit: string): Promise<ChangeTimes> {
  try {
    const base = await knownBase(repository, commit);
    const changes = await readNewest(repository, commit, base);
    const times = new Map(base === null ? NOTHING : known.get(`${base} ${repository.gitDir}`));
    for (const [path, change] of changes) {
      if (change.blob === NO_OBJECT) times.delete(path);
      else times.set(path, change);
    }
    return times;
  } catch (error) {
    if (error instanceof GitError) return NOTHING;
    throw error;
  }
}

async function knownBase(repository: Repository, commit: string): Promise<string | null> {
  const base = latest.get(repository.gitDir);
  if (base === undefined || (known.get(`${base} ${repository.gitDir}`)?.size ?? 0) === 0) return null;
  return (await findMergeBase(repository, base, commit)) === base ? base : null;
}

/** The newest change of each path since `base`. What a merge took from one of its parents is no change of its own. */
async function readNewest(repository: Repository, commit: string, base: string | null) {
  const { stdout } = await repository.git.run({
    args: [
      'log',
      '-z',
      '-c',
      '--raw',
      '--no-renames',
      '--no-abbrev',
      '--no-show-signature',
      '--no-notes',
      '--no-color',
      '--format=tformat:%ct',
      objectId(commit),
      ...(base === null ? [] : [`^${objectId(base)}`]),
      '--',
    ],
    gitDir: repository.gitDir,
    maxOutputBytes: MAX_LOG_BYTES,
    timeoutMs: LOG_MS,
  });
  return await new Slices().run(newestIn(stdout));
}

const STEPS_PER_YIELD = 256;

function* newestIn(log: Buffer): Generator<void, Map<string, ChangeTime>> {
  const newest = new Map<string, ChangeTime>();
  let at = 0;
  let raw = '';
  let steps = 0;
  for (let start = 0; start < log.length; ) {
    const found = log.indexOf(0, start);
    const end = found < 0 ? log.length : found;
    const field = log.toString('utf8', start, end);
    start = end + 1;
    if (raw !== '') {
      if (!newest.has(field)) newest.set(field, { at, blob: blobOf(raw) });
      raw = '';
    } else if (field.trimStart().startsWith(':')) raw = field.trimStart();
    else if (field.trim() !== '') at = Number(field) * 1_000;
    if ((steps += 1) % STEPS_PER_YIELD === 0) yield;
  }
  return newest;
}

/** `:<modes> <ids> <status>`: of each parent, then of the commit. */
function blobOf(raw: string): string {
  return raw.split(' ').at(-2) ?? NO_OBJECT;
}
