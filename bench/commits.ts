/** What a commit takes through the door, beside git on the command line, and how long everybody else waits meanwhile. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { callBody, callTool } from './call.ts';
import { markdownTable, quantile, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const execute = promisify(execFile);
const PAUSE_MS = 2;
const SIZES = [100, 20_000];
const FILES_IN_A_FOLDER = 100;
/** As the repositories of brains have it, so that both keep the same promise. */
const DURABLE = ['-c', 'core.fsync=committed', '-c', 'core.fsyncMethod=fsync', '-c', 'gc.auto=0'];
const PERSON = ['-c', 'user.name=b', '-c', 'user.email=b@b'];

type Git = (...args: string[]) => Promise<unknown>;
type Row = string[];

/** Resolves with a Markdown table; both commit the same changes, in turns, so that they meet the same disk. */
export async function measureCommits(seconds: number): Promise<string> {
  const rows: Row[] = [];
  for (const files of SIZES) rows.push(...(await measureSize(files, seconds)));
  return markdownTable(['one after the other, embedded', 'p50 ms', 'p99 ms', ''], rows);
}

async function measureSize(files: number, seconds: number): Promise<Row[]> {
  const dataDir = temporaryDataDir();
  const plain = temporaryDataDir();
  const system = await startEmbedded(dataDir.path);
  const [url = ''] = system.urls;
  const git: Git = (...args) => execute('git', ['-C', plain.path, ...DURABLE, ...PERSON, ...args]);
  try {
    await git('init', '--quiet');
    const first = await measureFirst(url, git, join(dataDir.path, 'brains', 'svc'), plain.path, files);
    return [...first, ...(await measureSingle(url, git, plain.path, files, seconds))];
  } finally {
    await system.stop();
    for (const folder of [dataDir, plain]) folder.remove();
  }
}

/** Everything is new; small writes go on beside it. */
async function measureFirst(url: string, git: Git, brain: string, plain: string, files: number): Promise<Row[]> {
  await Promise.all([drop(brain, files), drop(plain, files)]);
  const command = await timed(async () => {
    await git('add', '.');
    await git('commit', '--quiet', '-m', 'first');
  });
  const waits: number[] = [];
  const end = new AbortController();
  const writing = repeat(end.signal, waits, (number) =>
    callTool(url, AUTHORISED, 'svc_set_memory', {
      category: 'beside',
      filename: `w${number % 50}`,
      content: `${number}`,
    }),
  );
  const tool = await timed(() => commitToTheEnd(url));
  end.abort();
  await writing;
  return [
    row(`first svc_commit of ${files} files`, [tool], ratio([tool], [command], 'git add + commit')),
    row(`git add + commit of ${files} files`, [command]),
    row('svc_set_memory beside the first commit', waits),
  ];
}

/** One that outlives its time goes on; whoever asks again learns when it is done. */
async function commitToTheEnd(url: string): Promise<void> {
  for (;;) {
    const reply = await fetch(`${url}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...AUTHORISED },
      body: callBody('svc_commit', { message: 'first' }),
    });
    const text = await reply.text();
    if (!text.includes('E_BUSY')) return;
    await delay(PAUSE_MS);
  }
}

async function measureSingle(url: string, git: Git, plain: string, files: number, seconds: number): Promise<Row[]> {
  const tool: number[] = [];
  const command: number[] = [];
  const waits: number[] = [];
  const end = new AbortController();
  const pinging = repeat(end.signal, waits, async () => (await fetch(`${url}/health`)).text());
  const endAt = performance.now() + seconds * 1000;
  for (let number = 0; performance.now() < endAt || number < 10; number += 1) {
    const name = `f${number % 10}`;
    await callTool(url, AUTHORISED, 'svc_set_memory', { category: 'd0', filename: name, content: `${number}` });
    tool.push(await timed(() => callTool(url, AUTHORISED, 'svc_commit', { message: `m${number}` })));
    await writeFile(join(plain, 'd0', `${name}.md`), `${number}`);
    await git('add', 'd0');
    command.push(await timed(() => git('commit', '--quiet', '-m', `m${number}`)));
  }
  end.abort();
  await pinging;
  return [
    row(`svc_commit of one file of ${files}`, tool, ratio(tool, command, 'git commit')),
    row(`git commit of one file of ${files}`, command),
    row('GET /health meanwhile', waits),
  ];
}

async function drop(folder: string, files: number): Promise<void> {
  for (let number = 0; number < files; number += 1) {
    const dir = join(folder, `d${Math.floor(number / FILES_IN_A_FOLDER)}`);
    if (number % FILES_IN_A_FOLDER === 0) await mkdir(dir, { recursive: true });
    const words = Array.from({ length: 330 }, (_, index) => `w${(number * 31 + index * index) % 4001}`);
    await writeFile(join(dir, `f${number % FILES_IN_A_FOLDER}.md`), `# ${number}\n\n${words.join(' ')}\n`);
  }
}

function row(title: string, took: readonly number[], note = ''): Row {
  return [title, shown(quantile(took, 0.5), 1), shown(quantile(took, 0.99), 1), note];
}

function ratio(tool: readonly number[], command: readonly number[], name: string): string {
  return `${shown(quantile(tool, 0.5) / quantile(command, 0.5), 2)} x ${name}`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function repeat(signal: AbortSignal, took: number[], work: (number: number) => Promise<unknown>): Promise<void> {
  for (let number = 0; !signal.aborted; number += 1) {
    took.push(await timed(() => work(number)));
    await delay(PAUSE_MS);
  }
}
