/** A repository's own files that steer git: what we write into them, and which settings we refuse to run under. */
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { TEMP_PREFIX } from '../files/staged-contents.ts';
import { fsyncPath, namesIn, readTextIfPresent } from '../files/fsync.ts';
import type { Git } from './run.ts';

/**
 * Highest precedence of all attributes, in linked worktrees too: no filter and no conversion. How text is shown and
 * merged is left to git and to people; a driver cannot run, because no configuration may name one.
 */
export const ATTRIBUTES = '* -text -filter -ident -working-tree-encoding\n';

/** Appended to the configuration of a new repository; it also protects a person's own git there. */
export const REPOSITORY_CONFIG = `[core]
	fsync = committed
	fsyncMethod = fsync
	hooksPath = /dev/null
	protectNTFS = true
	protectHFS = true
[gc]
	auto = 0
[transfer]
	fsckObjects = true
[receive]
	denyNonFastForwards = true
[protocol]
	allow = never
[protocol "https"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "file"]
	allow = user
`;

/** Settings that name programs to run, other hosts to ask, other files to read, or another layout. Keys are lower case. */
const DANGEROUS_KEYS: readonly RegExp[] = [
  /^(?:filter|credential|url|include|includeif|hook)\./,
  /^(?:merge|diff)\..*\.(?:driver|command|textconv)$/,
  /^diff\.external$/,
  /^core\.(?:sshcommand|gitproxy|worktree|attributesfile|alternaterefscommand|askpass)$/,
  /^http\.(?:.*\.)?(?:proxy.*|sslcert.*|sslkey|sslverify|sslcainfo|sslcapath|extraheader|cookiefile|savecookies|curloptresolve|followredirects)$/,
  /^remote\..*\.(?:proxy|proxyauthmethod|vcs|uploadpack|receivepack)$/,
  // a remote that is named like an address: git goes by this section where it is given that address
  /^remote\..*:.*\./,
  /^fetch\.bundleuri$/,
  /^gc\.recentobjectshook$/,
  /^(?:gpg|ssh)\./,
  // git's complaint, which we pass on, quotes the file that is named there
  /^(?:.*\.)?fsck\.skiplist$/,
];

/** Those that a repository of ours opens itself. One that it names goes before what a command line says of all. */
const OPEN_PROTOCOLS = /^protocol\.(?:https|ssh|file)\./;

/** Why git must not run on this repository, as a sentence, or null. */
export async function configurationProblem(git: Git, gitDir: string): Promise<string | null> {
  const places = await configPlaces(gitDir);
  for (const place of places) {
    if (leadsElsewhere(gitDir, place)) return `the file ${join(place, COMMON_DIR)} has git read another configuration`;
  }
  const remote = await remoteLikeAddress(gitDir);
  if (remote !== null) return `the file ${remote} has git take an address for another one`;
  for (const file of configFiles(gitDir, places)) {
    const { stdout } = await git.run({ args: ['config', '--file', file, '--no-includes', '--null', '--list'], gitDir });
    for (const entry of stdout.toString('utf8').split('\0')) {
      const [key = '', value = ''] = entry.split('\n', 2);
      if (isDangerous(key, value)) return `the setting ${key} is not allowed in the repository's own configuration`;
    }
  }
  return null;
}

/** Where git looked for remotes before they were in the configuration; it still does, for what has no slash. */
const REMOTE_FOLDERS = ['remotes', 'branches'];

/** An ssh address may have no slash (`git@host:repo`), and goes by a file of that name. */
async function remoteLikeAddress(gitDir: string): Promise<string | null> {
  for (const folder of REMOTE_FOLDERS) {
    const found = (await namesIn(join(gitDir, folder))).find((name) => name.includes(':'));
    if (found !== undefined) return join(folder, found);
  }
  return null;
}

/** Of the repository itself, and of each working tree that is linked to it, below `gitDir`. */
async function configPlaces(gitDir: string): Promise<string[]> {
  const worktrees = await namesIn(join(gitDir, 'worktrees'));
  return ['', ...worktrees.map((name) => join('worktrees', name))];
}

function configFiles(gitDir: string, places: readonly string[]): string[] {
  const perWorktree = places.map((place) => join(gitDir, place, 'config.worktree'));
  return [join(gitDir, 'config'), ...perWorktree.filter((file) => readTextIfPresent(file) !== null)];
}

/** Names the repository whose configuration, attributes and objects git takes for a working tree. */
const COMMON_DIR = 'commondir';

function leadsElsewhere(gitDir: string, place: string): boolean {
  const told = readTextIfPresent(join(gitDir, place, COMMON_DIR));
  if (told === null) return false;
  return place === '' || realPathOf(from(join(gitDir, place), told.replace(/[\r\n]+$/, ''))) !== realPathOf(gitDir);
}

/** As git puts them together: the system goes up from where a link leads, not from where it stands. */
function from(place: string, told: string): string {
  return isAbsolute(told) ? told : `${place}/${told}`;
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null; // a place that is none
  }
}

function isDangerous(key: string, value: string): boolean {
  if (key === 'core.fsmonitor') return !/^(?:false|no|off|0|)$/i.test(value);
  if (key === 'extensions.objectformat') return value !== 'sha1';
  if (key === 'extensions.refstorage') return value !== 'files';
  if (/^protocol\..+\.allow$/.test(key)) return !OPEN_PROTOCOLS.test(key) && value !== 'never';
  return DANGEROUS_KEYS.some((pattern) => pattern.test(key.toLowerCase()));
}

/** True when `gitDir/info/attributes` already says exactly what we need. */
function hasAttributes(gitDir: string): boolean {
  return readTextIfPresent(join(gitDir, 'info', 'attributes')) === ATTRIBUTES;
}

/** Makes them say it again where a person changed them. A link makes room: what it leads to is not ours to write. */
export async function restoreAttributes(gitDir: string): Promise<void> {
  if (hasAttributes(gitDir)) return;
  const info = join(gitDir, 'info');
  await mkdir(info, { recursive: true });
  const draft = join(info, `${TEMP_PREFIX}${randomUUID()}`);
  try {
    await writeDurable(draft, ATTRIBUTES, 'wx');
    await rename(draft, join(info, 'attributes'));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await fsyncPath(info);
}

/** A person's `git add -A` beside a write must not pick up what is not yet in its place. */
const HIDDEN_DRAFTS = `${TEMP_PREFIX}*`;

/** Adds our line to `gitDir/info/exclude`; what a person wrote there stays, and so does a link to somewhere else. */
export async function hideDrafts(gitDir: string): Promise<void> {
  const file = join(gitDir, 'info', 'exclude');
  const present = readTextIfPresent(file) ?? '';
  if (present.split('\n').includes(HIDDEN_DRAFTS)) return;
  const stat = await lstat(file).catch(() => null); // absent
  if (stat !== null && !stat.isFile()) return;
  await mkdir(join(gitDir, 'info'), { recursive: true });
  const separator = present === '' || present.endsWith('\n') ? '' : '\n';
  await writeDurable(file, `${separator}${HIDDEN_DRAFTS}\n`, 'a');
}

/** Writes and fsyncs a file; `flags` as for `fs.open`. */
export async function writeDurable(path: string, text: string, flags: 'w' | 'wx' | 'a'): Promise<void> {
  const handle = await open(path, flags, 0o644);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
