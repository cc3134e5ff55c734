/** A person's acts: with editors, a file manager and git, in the folder of the brain. */
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Ground, marksOf, personGit, textOf } from './ground.ts';
import { blobIdOf, type EntryKind, sha256Of, type Version } from './history.ts';
import { PERSON_GIT_ACTS } from './person-git.ts';
import type { Act } from './plan.ts';

const MIB = 1024 * 1024;
const HUGE_BYTES = 51 * MIB;
const DROPPED_FILES = 50;
/** An editor does not write in one go. */
const PAUSE_IN_WRITE_MS = 3;
const BETWEEN_EDITS_MS = 15;

type Performed = (ground: Ground, act: Act) => Promise<string>;

export async function act(ground: Ground, wish: Act): Promise<string> {
  const perform = PERSON_ACTS[wish.verb] ?? PERSON_GIT_ACTS[wish.verb];
  if (perform === undefined) throw new Error(`a person cannot ${wish.verb}`);
  return perform(ground, wish);
}

const PERSON_ACTS: Readonly<Record<string, Performed>> = {
  edit: (ground, act) => writeInPlace(ground, act.path, textOf(act), marksOf(act)),
  shrink: (ground, act) => writeInPlace(ground, act.path, textOf(act), marksOf(act)),
  grow: (ground, act) => writeInPlace(ground, act.path, largeText(act), marksOf(act)),
  replace: (ground, act) => writeByRename(ground, act.path, Buffer.from(textOf(act)), marksOf(act)),
  binary: (ground, act) => writeByRename(ground, attachment(act), binaryOf(act, 30_000), []),
  huge: (ground, act) => writeByRename(ground, act.path, binaryOf(act, HUGE_BYTES), []),
  async 'edit-twice'(ground, act) {
    await writeInPlace(ground, act.path, textOf(act, 'a'), marksOf(act, 'a'));
    await delay(BETWEEN_EDITS_MS);
    return writeInPlace(ground, act.path, textOf(act, 'b'), marksOf(act, 'b'));
  },
  /** In the working tree of an agents' branch, when there is one. */
  async 'edit-side'(ground, act) {
    const path = `by hand ${act.nth % 3}.md`;
    const content = Buffer.from(textOf({ ...act, path }));
    const from = performance.now();
    await writeFile(join(ground.treesFolder, 'side', path), content);
    const bytes = bytesOf(content, marksOf(act));
    ground.history.wrote({ branch: 'side', path, by: 'person', ...bytes, from, to: performance.now() });
    return path;
  },
  async append(ground, act) {
    const marks = marksOf(act);
    const from = performance.now();
    const file = await openable(ground, act.path);
    const handle = await open(file, 'a');
    try {
      await handle.write(`\n${marks.join(' ')}\n`);
    } finally {
      await handle.close();
    }
    const whole = await entryAt(file);
    wrote(ground, act.path, from, { kind: whole?.kind ?? 'text', blob: null, sha256: null, marks });
    return 'appended';
  },
  async move(ground, { path, to }) {
    return path === to ? 'the same' : moveFile(ground, path, to);
  },
  recase: (ground, { path }) => moveFile(ground, path, recased(path)),
  async 'move-folder'(ground, { nth }) {
    const from = performance.now();
    const target = `diary-${nth}`;
    try {
      await rename(join(ground.folder, 'diary'), join(ground.folder, target));
    } catch {
      return 'nothing to move';
    }
    ground.history.removed({ deletes: true, path: 'diary/', from, to: performance.now() }, 'person');
    for (const child of await readdir(join(ground.folder, target))) await arrived(ground, `${target}/${child}`, from);
    return 'moved';
  },
  async remove(ground, { path }) {
    const from = performance.now();
    try {
      await unlink(join(ground.folder, path));
    } catch {
      return 'nothing there';
    }
    ground.history.removed({ deletes: true, path, from, to: performance.now() }, 'person');
    return 'removed';
  },
  async mkdir(ground, { nth }) {
    await mkdir(join(ground.folder, `empty-${nth}/inner`), { recursive: true });
    return 'made';
  },
  async drop(ground, act) {
    for (let index = 0; index < DROPPED_FILES; index += 1) {
      const path = `drop-${act.nth}/n${index}.md`;
      await writeByRename(ground, path, Buffer.from(textOf(act, `x${index}`)), marksOf(act, `x${index}`), false);
    }
    return `${DROPPED_FILES} files`;
  },
  async link(ground, act) {
    const path = act.nth % 3 === 0 ? act.path : 'links/to-shared.md';
    const target = '../shared.md';
    const from = performance.now();
    const file = await openable(ground, path);
    await unlink(file).catch(() => undefined);
    try {
      await symlink(target, file);
    } catch {
      ground.history.erased({ path, by: 'person', from, to: performance.now() });
      return 'somebody was faster';
    }
    wrote(ground, path, from, { kind: 'link', blob: blobIdOf(Buffer.from(target)), sha256: null, marks: [] });
    return `linked ${path}`;
  },
  dot: (ground, act) => {
    const path = act.nth % 2 === 0 ? '.obsidian/app.json' : 'diary/.draft.md';
    return writeByRename(ground, path, Buffer.from(textOf({ ...act, path })), marksOf(act), true, 'other');
  },
  async ignore(ground, act) {
    await writeByRename(ground, '.gitignore', Buffer.from('*.tmp\nattic/\n'), [], true, 'other');
    return writeByRename(ground, `scratch-${act.nth}.tmp`, Buffer.from(textOf(act)), marksOf(act), true, 'other');
  },
  async executable(ground, { path }) {
    const entry = await entryAt(join(ground.folder, path));
    if (entry === null || entry.kind === 'link') return 'nothing there';
    await chmod(join(ground.folder, path), 0o755).catch(() => undefined);
    return 'may run';
  },
};

function largeText(act: Act): string {
  const [first, last] = marksOf(act);
  return `# ${first}\n${`grown note ${act.nth}\n`.repeat(90_000)}${last}\n`;
}

/** Bytes that are no text; a note's own name gets some too. */
function binaryOf({ nth }: Act, size: number): Buffer {
  const bytes = Buffer.alloc(size + nth, nth % 251);
  bytes.write(`\0binary ${nth}\0`);
  return bytes;
}

function attachment({ nth, path }: Act): string {
  return nth % 4 === 0 ? path : `attachments/image-${nth % 3}.png`;
}

function recased(path: string): string {
  const start = path.lastIndexOf('/') + 1;
  const [name, rest] = [path.slice(start, -3), path.slice(-3)];
  const upper = name.toUpperCase();
  return `${path.slice(0, start)}${upper === name ? name.toLowerCase() : upper}${rest}`;
}

/** Where to write: its folder is there, and no link leads away. */
async function openable({ folder }: Ground, path: string): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  const stat = await lstat(file).catch(() => null);
  if (stat?.isSymbolicLink() === true) await unlink(file).catch(() => undefined);
  return file;
}

type Bytes = Pick<Version, 'kind' | 'blob' | 'sha256' | 'marks'>;

function wrote({ history }: Ground, path: string, from: number, bytes: Bytes): void {
  history.wrote({ branch: 'main', path, by: 'person', ...bytes, from, to: performance.now() });
}

function bytesOf(content: Buffer, marks: readonly string[], kind = kindOf(content)): Bytes {
  return { kind, blob: blobIdOf(content), sha256: sha256Of(content), marks };
}

/** As most programs do: emptied, then written piece by piece. */
async function writeInPlace(ground: Ground, path: string, text: string, marks: readonly string[]): Promise<string> {
  const content = Buffer.from(text);
  const from = performance.now();
  const handle = await open(await openable(ground, path), 'w');
  try {
    const half = Math.floor(content.byteLength / 2);
    await handle.write(content.subarray(0, half));
    await delay(PAUSE_IN_WRITE_MS);
    await handle.write(content.subarray(half));
  } finally {
    await handle.close();
  }
  wrote(ground, path, from, bytesOf(content, marks));
  return `${content.byteLength} bytes`;
}

/** As careful editors do: a new file takes the name. */
async function writeByRename(
  ground: Ground,
  path: string,
  content: Buffer,
  marks: readonly string[],
  isTold = true,
  kind = kindOf(content),
): Promise<string> {
  const file = await openable(ground, path);
  const draft = join(dirname(file), `.${path.slice(path.lastIndexOf('/') + 1)}.swp`);
  await writeFile(draft, content);
  const from = performance.now();
  await rename(draft, file);
  wrote(ground, path, from, bytesOf(content, marks, kind));
  return isTold ? `${path} ${content.byteLength} bytes` : '';
}

async function moveFile(ground: Ground, path: string, to: string): Promise<string> {
  const from = performance.now();
  const before = await entryAt(join(ground.folder, path));
  if (before === null) return 'nothing there';
  try {
    await mkdir(dirname(join(ground.folder, to)), { recursive: true });
    await rename(join(ground.folder, path), join(ground.folder, to));
  } catch (error) {
    return `not moved: ${(error as NodeJS.ErrnoException).code}`;
  }
  ground.history.removed({ deletes: true, path, from, to: performance.now() }, 'person');
  await arrived(ground, to, from);
  return `moved to ${to}`;
}

/** What now lies under a new name is there by the person's wish. */
async function arrived(ground: Ground, path: string, from: number): Promise<void> {
  const entry = await entryAt(join(ground.folder, path));
  if (entry !== null) wrote(ground, path, from, { ...entry, marks: [] });
  else ground.history.erased({ path, by: 'person', from, to: performance.now() });
}

async function entryAt(file: string): Promise<Omit<Bytes, 'marks'> | null> {
  try {
    const stat = await lstat(file);
    if (stat.isSymbolicLink()) return { kind: 'link', blob: blobIdOf(Buffer.from(await readlink(file))), sha256: null };
    if (!stat.isFile()) return null;
    const content = await readFile(file);
    return { kind: kindOf(content), blob: blobIdOf(content), sha256: sha256Of(content) };
  } catch {
    return null; // somebody took it away
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

export function kindOf(content: Buffer): EntryKind {
  if (content.byteLength > 50 * MIB) return 'other';
  if (content.includes(0)) return 'binary';
  try {
    decoder.decode(content);
  } catch {
    return 'binary'; // not UTF-8
  }
  return content.byteLength > MIB ? 'large' : 'text';
}

/** So that the end can be judged: no merge half done, on `main`, nobody else's lock. */
export async function tidyUp({ folder, history }: Ground): Promise<string> {
  const notes: string[] = [];
  const from = performance.now();
  const run = async (...args: string[]): Promise<boolean> => {
    const { ok, output } = await personGit(folder, ...args);
    if (!ok) notes.push(`git ${args.join(' ')}: ${output.slice(0, 120)}`);
    return ok;
  };
  const isOnMain = async () => (await personGit(folder, 'symbolic-ref', '--short', 'HEAD')).output === 'main';
  const isMerging = async () => (await personGit(folder, 'rev-parse', '-q', '--verify', 'MERGE_HEAD')).ok;
  if (await isMerging()) await run('commit', '-q', '-a', '-m', 'the merge as it is');
  const wasAway = !(await isOnMain());
  if (wasAway && !(await run('checkout', '-q', 'main'))) {
    await run('add', '-A');
    await run('commit', '-q', '-m', 'before going back');
    await run('checkout', '-q', 'main');
  }
  if ((await personGit(folder, 'ls-files', '-u')).output !== '') await run('reset', '-q');
  if (wasAway)
    history.removed({ deletes: false, path: null, from, to: performance.now() }, 'person', { onlyMeanwhile: true });
  return notes.join('; ');
}
