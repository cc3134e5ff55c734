/** A brain made from a backup, whole and beside all others, before it takes the place of one. */
import { existsSync } from 'node:fs';
import { link, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import { fsyncTree, isPresent } from '../files/fsync.ts';
import { moveRefs, readHead, readHeads, readRefs, type RefMove, rescueStamp } from '../git/refs.ts';
import { gitDate } from '../git/commit-object.ts';
import { createRepository, openRepository, type Repository } from '../git/repository.ts';
import { type Git, GitError } from '../git/run.ts';
import { writeShallow } from '../git/shallow.ts';
import { fillWorktree, makeWorktree } from '../git/worktrees.ts';
import { DamagedArchive, extractArchive, type Manifest, readManifest } from './archive.ts';
import { countRows } from './copied-rows.ts';

interface StagedBrain {
  /** Below which `brain` and `worktrees` lie. */
  readonly folder: string;
  readonly rowsFile: string;
  readonly manifest: Manifest;
}

const MAX_HEADS_BYTES = 96 * 1024 * 1024;
const UNPACKING_MS = 100_000;

/** Throws DamagedArchive when the file is not, to the last byte, what a backup wrote. */
export async function stageBrain(git: Git, archive: string, folder: string, at: Date): Promise<StagedBrain> {
  await mkdir(join(folder, 'worktrees'), { recursive: true });
  const rowsFile = join(folder, 'rows');
  const bundle = join(folder, 'bundle');
  await extractArchive(archive, { manifest: join(folder, 'manifest'), bundle, rows: rowsFile });
  const manifest = await readManifest(archive);
  if (countRows(rowsFile) !== manifest.rows) throw new DamagedArchive('rows are missing');
  const repository = await createRepository(git, { dir: join(folder, 'brain'), at });
  try {
    await unpack(repository, bundle, manifest, at);
    await fillTrees(repository, folder, manifest);
  } catch (error) {
    const isRefused = error instanceof GitError && (error.code === 'exit' || error.code === 'unsafe-argument');
    const isOfArchive = isRefused && diskTroubleOf(error) === null;
    throw isOfArchive ? new DamagedArchive('git does not take its objects') : error;
  } finally {
    repository[Symbol.dispose]();
  }
  await rm(bundle);
  await fsyncTree(folder);
  return { folder, rowsFile, manifest };
}

async function unpack(
  repository: Repository,
  bundle: string,
  { refs, commit, work, shallow }: Manifest,
  at: Date,
): Promise<void> {
  const { git, gitDir } = repository;
  if (shallow !== undefined) await writeShallow(repository, shallow);
  await git.run({
    args: ['bundle', 'unbundle', bundle],
    gitDir,
    config: ['transfer.fsckObjects=true', 'fetch.fsckObjects=true'],
    maxOutputBytes: MAX_HEADS_BYTES,
    timeoutMs: UNPACKING_MS,
  });
  const first = await readHead(repository, 'main');
  if (refs.find(({ ref }) => ref === MAIN)?.oid !== commit) throw new DamagedArchive('it has no branch main');
  const known = new Set(refs.map(({ ref }) => ref));
  if (!work.every(({ branch }) => known.has(`refs/heads/${branch}`)))
    throw new DamagedArchive('it has uncommitted files of a branch that it has not');
  // Also references that only people make, such as tags.
  const updates = refs.map(({ ref, oid }) => `update ${ref}\0${oid}\0${ref === MAIN ? first : NO_OBJECT}\0`);
  const env = { GIT_COMMITTER_DATE: gitDate(at) };
  await git.run({ args: ['update-ref', '--stdin', '-z'], gitDir, stdin: updates.join(''), env });
  // What was uncommitted must be there too, although nothing names it.
  const stdin = [...refs.map(({ oid }) => oid), ...work.map((one) => one.commit), ''].join('\n');
  await git.run({ args: ['rev-list', '--objects', '--quiet', '--stdin'], gitDir, stdin, timeoutMs: UNPACKING_MS });
}

const MAIN = 'refs/heads/main';
const NO_OBJECT = '0'.repeat(40);

/** Of main, and of every branch with something uncommitted; the others have one when somebody works on them. */
async function fillTrees(repository: Repository, folder: string, { commit, work }: Manifest): Promise<void> {
  const uncommitted = new Map(work.map((one) => [one.branch, one.commit]));
  await fillWorktree(repository, repository.dir, commit, uncommitted.get('main'));
  for (const [branch, shown] of uncommitted) {
    if (branch !== 'main') await makeWorktree(repository, join(folder, 'worktrees'), branch, shown);
  }
}

/**
 * What is at the heads of the old brain stays readable in the new one: answers the id of the rescue of main, or of
 * another branch that goes elsewhere; null when none does. The old brain is closed.
 */
export async function rescueHeads(
  git: Git,
  { folder }: StagedBrain,
  oldFolder: string,
  { at, suffix }: { readonly at: Date; readonly suffix: () => string },
): Promise<string | null> {
  using old = await openRepository(git, oldFolder);
  using staged = await openRepository(git, join(folder, 'brain'));
  await linkObjects(join(old.gitDir, 'objects'), join(staged.gitDir, 'objects'));
  const heads = await readHeads(staged);
  const known = await readRefs(staged, 'refs/rescue/');
  const moves: RefMove[] = [];
  for (const [name, to] of await readRefs(old, 'refs/rescue/')) {
    if (!known.has(name)) moves.push({ ref: `refs/rescue/${name}`, to, from: null });
  }
  let told: string | null = null;
  for (const [branch, head] of await readHeads(old)) {
    if (heads.get(branch) === head) continue;
    const rescue = `${rescueStamp(at)}-${suffix()}`;
    moves.push({ ref: `refs/rescue/${rescue}/ours`, to: head, from: null });
    if (told === null || branch === 'main') told = rescue;
  }
  if (moves.length > 0 && !(await moveRefs(staged, moves, at))) throw new Error('the rescue of a restore failed');
  return told;
}

/** They are never changed, so both may have them. */
async function linkObjects(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && entry.name !== 'info') {
      if (!existsSync(target)) await mkdir(target);
      await linkObjects(source, target);
    } else if (entry.isFile() && !entry.name.startsWith('tmp_')) {
      await link(source, target).catch((error: unknown) => {
        if (!isPresent(error)) throw error;
      });
    }
  }
  await fsyncTree(to);
}
