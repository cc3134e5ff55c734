/** What questions and branches cost in a brain of 20,000 files, beside git on the command line. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { callTool } from './call.ts';
import { markdownFile } from './corpus.ts';
import { markdownTable, quantile, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const execute = promisify(execFile);
const FILES = 20_000;
const FILES_IN_FOLDER = 200;
const QUESTIONS = 30;
const BRANCHES = 3;

/** Resolves with a Markdown table. */
export async function measureLargeBrain(): Promise<string> {
  const dataDir = temporaryDataDir();
  const folder = join(dataDir.path, 'brains', 'svc');
  let system = await startEmbedded(dataDir.path);
  await system.stop();
  await fillWithFiles(folder);
  const git = (...args: string[]) =>
    execute('git', ['-C', folder, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args]);
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'all');
  system = await startEmbedded(dataDir.path);
  const [url = ''] = system.urls;
  const call = (tool: string, args = {}) => callTool(url, AUTHORISED, tool, args);
  const questions = async (ask: () => Promise<unknown>): Promise<number[]> => {
    await ask();
    const took: number[] = [];
    for (let number = 0; number < QUESTIONS; number += 1) {
      await writeFile(join(folder, 'dir-0', 'edited.md'), `${number}`); // there is always something to notice
      took.push(await timed(ask));
    }
    return took;
  };
  const dirty = await questions(() => call('svc_branch_is_dirty'));
  const current = await questions(() => call('brain_current'));
  const health = await questions(() => call('svc_health'));
  const status = await questions(() => git('status', '--porcelain'));
  const opened: number[] = [];
  const added: number[] = [];
  for (let number = 0; number < BRANCHES; number += 1) {
    opened.push(await timed(() => call('svc_create_branch', { name: `b${number}`, switch: true })));
    const place = join(dataDir.path, `w${number}`);
    added.push(await timed(() => git('worktree', 'add', '--quiet', '-b', `w${number}`, place, 'HEAD')));
    await git('worktree', 'remove', '--force', place);
    await rm(place, { recursive: true, force: true });
    await call('svc_switch_branch', { name: 'main' });
  }
  await system.stop();
  dataDir.remove();
  const row = (title: string, took: readonly number[], beside = ''): string[] => [
    title,
    shown(quantile(took, 0.5), 1),
    shown(Math.max(...took), 1),
    beside,
  ];
  const ratio = quantile(opened, 0.5) / quantile(added, 0.5);
  return markdownTable(
    [`a brain of ${FILES} files, embedded`, 'p50 ms', 'max ms', ''],
    [
      row('svc_branch_is_dirty', dirty),
      row('brain_current', current),
      row('svc_health', health),
      row('git status', status),
      row('a branch made and opened', opened, `${shown(ratio, 2)} x git worktree add`),
      row('git worktree add', added),
    ],
  );
}

async function fillWithFiles(folder: string): Promise<void> {
  for (let index = 0; index < FILES; index += 1) {
    const directory = join(folder, `dir-${Math.floor(index / FILES_IN_FOLDER)}`);
    if (index % FILES_IN_FOLDER === 0) await mkdir(directory, { recursive: true });
    await writeFile(join(directory, `f${index}.md`), markdownFile(index));
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
