/** When each file of a commit was changed last, as the history before it says. */
import { LRUCache } from 'lru-cache';
import { Slices } from '../thread/slices.ts';
import { gitTimeMs } from './commit-object.ts';
import { findMergeBase } from './integration.ts';
import type { Repository } from './repository.ts';
import { GitError, objectId } from './run.ts';

interface ChangeTime {
  /** Of the last commit that changed it, in milliseconds since the epoch. */
  readonly at: number;
  /** What that commit made of it. */
  readonly blob: string;
}

interface ChangeTimes {
  /** By path, as git spells it. */
  readonly files: ReadonlyMap<string, ChangeTime>;
  /** The other files were changed last before that; null = nothing is known of them. */
  readonly before: number | null;
}

const NOTHING: ChangeTimes = { files: new Map(), before: null };
/** Of a longer history only the last so many commits are read: about a second. */
const MOST_COMMITS = 10_000;
/** Files of all repositories of this process, about 300 bytes each. */
const KEPT_FILES = 200_000;
const KEPT_REPOSITORIES = 1_000;
/** About 200,000 changes. */
const MAX_LOG_BYTES = 32 * 1024 * 1024;
const LOG_MS = 10_000;
const NO_OBJECT = '0'.repeat(40);

const known = new LRUCache<string, ChangeTimes>({
  maxSize: KEPT_FILES,
  sizeCalculation: ({ files }) => files.size + 1,
});
/** The commit of each repository that was asked for last: those behind it cost what they change. */
const latest = new LRUCache<string, string>({ max: KEPT_REPOSITORIES });
const underWay = new Map<string, Promise<ChangeTimes>>();

/** When a file that the commit has so was changed last; null when nobody knows. */
export function changeTimeOf({ files, before }: ChangeTimes, path: string, blob: string): number | null {
  const found = files.get(path);
  if (found === undefined) return before;
  return found.blob === blob ? found.at : null;
}

/** Of a history of too many changes nothing is told. */
export async function readChangeTimes(
  repository: Repository,
  commit: string,
  mostCommits = MOST_COMMITS,
): Promise<ChangeTimes> {
  const key = `${commit} ${repository.gitDir}`;
  const found = known.get(key) ?? underWay.get(key);
  if (found !== undefined) return found;
  const reading = timesOf(repository, commit, mostCommits).finally(() => underWay.delete(key));
  underWay.set(key, reading);
  const times = await reading;
  known.set(key, times);
  latest.set(repository.gitDir, commit);
  return times;
}

async function timesOf(repository: Repository, commit: string, mostCommits: number): Promise<ChangeTimes> {
  try {
    const base = await knownBase(repository, commit);
    const newest = await readNewest(repository, commit, { base: base?.commit ?? null, mostCommits });
    const isCut = newest.commits === mostCommits;
    if (base === null || isCut) return { files: withoutGone(newest.changes), before: isCut ? newest.oldest : null };
    const files = withoutGone(new Map([...base.times.files, ...newest.changes]));
    return { files, before: base.times.before };
  } catch (error) {
    if (error instanceof GitError) return NOTHING;
    throw error;
  }
}

function withoutGone(changes: ReadonlyMap<string, ChangeTime>): Map<string, ChangeTime> {
  return new Map([...changes].filter(([, { blob }]) => blob !== NO_OBJECT));
}

/** A commit before this one of which all is known. */
async function knownBase(repository: Repository, commit: string) {
  const base = latest.get(repository.gitDir);
  const times = base === undefined ? undefined : known.get(`${base} ${repository.gitDir}`);
  if (base === undefined || times === undefined || times === NOTHING) return null;
  return (await findMergeBase(repository, base, commit)) === base ? { commit: base, times } : null;
}

/** The newest change of each path since `base`. What a merge took from one of its parents is no change of its own. */
async function readNewest(
  repository: Repository,
  commit: string,
  { base, mostCommits }: { readonly base: string | null; readonly mostCommits: number },
) {
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
      `--max-count=${mostCommits}`,
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

interface NewestChanges {
  readonly changes: ReadonlyMap<string, ChangeTime>;
  readonly commits: number;
  /** When the oldest of them was made. */
  readonly oldest: number;
}

function* newestIn(log: Buffer): Generator<void, NewestChanges> {
  const newest = new Map<string, ChangeTime>();
  let at = 0;
  let raw = '';
  let [steps, commits, oldest] = [0, 0, Infinity];
  for (let start = 0; start < log.length; ) {
    const found = log.indexOf(0, start);
    const end = found < 0 ? log.length : found;
    const field = log.toString('utf8', start, end);
    start = end + 1;
    if (raw !== '') {
      if (!newest.has(field)) newest.set(field, { at, blob: blobOf(raw) });
      raw = '';
    } else if (field.trimStart().startsWith(':')) raw = field.trimStart();
    else if (field.trim() !== '') {
      at = gitTimeMs(field.trim());
      oldest = Math.min(oldest, at);
      commits += 1;
    }
    if ((steps += 1) % STEPS_PER_YIELD === 0) yield;
  }
  return { changes: newest, commits, oldest };
}

/** `:<modes> <ids> <status>`: of each parent, then of the commit. */
function blobOf(raw: string): string {
  return raw.split(' ').at(-2) ?? NO_OBJECT;
}
