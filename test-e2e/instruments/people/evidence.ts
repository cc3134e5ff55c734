/** What is really there: in the working tree, in commits, in refs. Looked at with git and the file system alone. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { git, PERSON_ENVIRONMENT } from '../git.ts';
import { blobIdOf, type EntryKind } from './history.ts';
import { kindOf } from './person.ts';

export interface DiskEntry {
  readonly path: string;
  readonly mode: '100644' | '100755' | '120000';
  readonly blob: string;
  readonly kind: EntryKind;
  /** Of text, whatever its size. */
  readonly text: string | null;
}

/** Everything below a working tree but `.git`. */
export function diskEntries(root: string, below = ''): Map<string, DiskEntry> {
  const found = new Map<string, DiskEntry>();
  if (!existsSync(root)) return found;
  for (const child of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === '' ? child.name : `${below}/${child.name}`;
    if (child.name === '.git') continue;
    if (child.isDirectory()) for (const [name, entry] of diskEntries(root, path)) found.set(name, entry);
    else found.set(path, diskEntry(root, path));
  }
  return found;
}

function diskEntry(root: string, path: string): DiskEntry {
  const file = join(root, path);
  const stat = lstatSync(file);
  if (stat.isSymbolicLink()) {
    const target = Buffer.from(readlinkSync(file));
    return { path, mode: '120000', blob: blobIdOf(target), kind: 'link', text: null };
  }
  const content = readFileSync(file);
  const kind = kindOf(content);
  const text = kind === 'text' || kind === 'large' ? content.toString() : null;
  return { path, mode: (stat.mode & 0o100) === 0 ? '100644' : '100755', blob: blobIdOf(content), kind, text };
}

/** Paths that git would not ignore, as they lie on disk. */
export function unignoredPaths(folder: string): Set<string> {
  const text = git(folder, 'ls-files', '-c', '-o', '--exclude-standard', '-z');
  return new Set(text.split('\0').filter((path) => path !== '' && isThere(folder, path)));
}

export function stagedPaths(folder: string): Set<string> {
  return new Set(
    git(folder, 'ls-files', '-c', '-z')
      .split('\0')
      .filter((path) => path !== ''),
  );
}

function isThere(folder: string, path: string): boolean {
  return lstatSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory() === false;
}

/** path -> mode and blob. */
export function treeAt(folder: string, ref: string): Map<string, { readonly mode: string; readonly blob: string }> {
  const rows = git(folder, 'ls-tree', '-r', '-z', ref)
    .split('\0')
    .filter((row) => row !== '');
  return new Map(
    rows.map((row) => {
      const [head = '', path = ''] = row.split('\t');
      const [mode = '', , blob = ''] = head.split(' ');
      return [path, { mode, blob }];
    }),
  );
}

/** Ids of all objects that some ref, or something set aside, leads to. */
export function keptObjects(folder: string): Set<string> {
  const stashes = git(folder, 'stash', 'list', '--format=%H').split('\n').filter(Boolean);
  const rows = git(folder, 'rev-list', '--all', 'HEAD', ...stashes, '--objects').split('\n');
  return new Set(rows.map((row) => row.slice(0, 40)));
}

const SEARCHED_BYTES = 3 * 1024 * 1024;

/** The texts among these objects; only asked for when a whole file is not found. */
export function keptTexts(folder: string, objects: ReadonlySet<string>): string[] {
  const run = (args: string[], input: string): Buffer =>
    execFileSync('git', args, { cwd: folder, env: PERSON_ENVIRONMENT, input, maxBuffer: 1024 * 1024 * 1024 });
  const format = '--batch-check=%(objectname) %(objecttype) %(objectsize)';
  const rows = run(['cat-file', format], [...objects].join('\n'))
    .toString()
    .trimEnd()
    .split('\n');
  const texts: string[] = [];
  for (const row of rows) {
    const [id = '', type, size] = row.split(' ');
    if (type === 'blob' && Number(size) <= SEARCHED_BYTES) texts.push(run(['cat-file', 'blob', id], '').toString());
  }
  return texts;
}

interface Deletion {
  readonly commit: string;
  readonly by: string;
  /** Milliseconds since the epoch, whole seconds. */
  readonly at: number;
  readonly path: string;
}

/** Each path that a commit of some branch lacks although a parent has it. */
export function deletions(folder: string): Deletion[] {
  const format = '--format=%x01%H%x02%cn%x02%ct';
  const text = git(
    folder,
    '-c',
    'core.quotepath=off',
    'log',
    '--branches',
    '-m',
    '--diff-filter=D',
    '--no-renames',
    '--name-only',
    format,
  );
  return text
    .split('\u0001')
    .filter(Boolean)
    .flatMap((entry) => {
      const [head = '', ...paths] = entry.split('\n').filter(Boolean);
      const [commit = '', by = '', seconds = '0'] = head.split('\u0002');
      return paths.map((path) => ({ commit, by, at: Number(seconds) * 1000, path }));
    });
}

/** What git or the service left lying about. */
export function leftovers(folder: string, below = ''): string[] {
  const here = join(folder, below);
  if (!existsSync(here)) return [];
  return readdirSync(here, { withFileTypes: true }).flatMap((child) => {
    const path = below === '' ? child.name : `${below}/${child.name}`;
    if (child.isDirectory()) return path === '.git/objects' ? [] : leftovers(folder, path);
    return child.name.startsWith('.svc-') || (path.startsWith('.git/') && child.name.endsWith('.lock')) ? [path] : [];
  });
}

/** Every commit there is, also what was set aside and dropped, each with its parents and what it changed; newest first. */
export function commitsTold(folder: string): string[] {
  const dropped = git(folder, 'fsck', '--no-reflogs', '--unreachable')
    .split('\n')
    .flatMap((line) => (line.startsWith('unreachable commit ') ? [line.slice(19)] : []));
  const format = '--format=%h of %p by %cn at %cd: %s';
  const shown = ['--name-status', '--no-renames', '--root', '-m', '--date=format:%H:%M:%S', format];
  return git(folder, '-c', 'core.quotepath=off', 'log', '--all', ...shown, ...dropped, '--')
    .split('\n')
    .filter(Boolean);
}
