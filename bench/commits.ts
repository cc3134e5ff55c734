/** What a commit takes through the door, beside git on the command line, and how long everybody else waits meanwhile. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { callTool } from './call.ts';
import { markdownTable, quantile, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const execute = promisify(execFile);
const PING_PAUSE_MS = 2;

/** Resolves with a Markdown table; both commit one changed file at a time, in turns, so that they meet the same disk. */
export async function measureCommits(seconds: number): Promise<string> {
  const dataDir = temporaryDataDir();
  const plain = temporaryDataDir();
  const system = await startEmbedded(dataDir.path);
  const [url = ''] = system.urls;
  const git = (...args: string[]) =>
    execute('git', ['-C', plain.path, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args]);
  await git('init', '--quiet');
  const tool: number[] = [];
  const command: number[] = [];
  const waits: number[] = [];
  const end = new AbortController();
  const pinging = ping(url, waits, end.signal);
  const endAt = performance.now() + seconds * 1000;
  for (let number = 0; performance.now() < endAt; number += 1) {
    const file = { category: 'bench', filename: `f${number % 10}`, content: `${number}` };
    await callTool(url, AUTHORISED, 'svc_set_memory', file);
    tool.push(await timed(() => callTool(url, AUTHORISED, 'svc_commit', { message: `m${number}` })));
    await writeFile(join(plain.path, `f${number % 10}.md`), `${number}`);
    await git('add', '.');
    command.push(await timed(() => git('commit', '--quiet', '-m', `m${number}`)));
  }
  end.abort();
  await pinging;
  await system.stop();
  for (const folder of [dataDir, plain]) folder.remove();
  const row = (title: string, took: readonly number[], ratio = ''): string[] => [
    title,
    shown(quantile(took, 0.5), 1),
    shown(quantile(took, 0.99), 1),
    ratio,
  ];
  return markdownTable(
    ['one after the other, embedded', 'p50 ms', 'p99 ms', ''],
    [
      row('svc_commit', tool, `${shown(quantile(tool, 0.5) / quantile(command, 0.5), 2)} x git commit`),
      row('git commit', command),
      row('GET /health meanwhile', waits),
    ],
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function ping(url: string, waits: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    waits.push(await timed(async () => (await fetch(`${url}/health`)).text()));
    await delay(PING_PAUSE_MS);
  }
}
