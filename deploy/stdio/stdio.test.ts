/** Clients on stdio, as agents start them: real processes around one node. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findNode } from '../node-address.ts';
import {
  type Era,
  connectListener,
  connectStdio,
  environmentOf,
  nodesOf,
  ownDirectory,
} from '../testing/stdio-clients.ts';
import { startNode } from './start-node.ts';

const PATIENT = { timeout: 300_000 };
const AT_LAST = { timeout: 120_000 };
const ERAS: readonly Era[] = ['2026', '2025'];

interface Written {
  readonly corpus: readonly { readonly file: string }[];
  readonly nextCursor?: string;
}

async function filesOf(call: (name: string, args: Record<string, unknown>) => Promise<unknown>): Promise<Set<string>> {
  const files = new Set<string>();
  let cursor: string | undefined;
  do {
    const args = { limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
    const page = (await call('svc_call', { name: 'brain_corpus', args })) as Written;
    for (const { file } of page.corpus) files.add(file);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return files;
}

describe.skipIf(process.platform !== 'linux')('clients on stdio', () => {
  test('of both eras list, call and read, through one node that is gone a while after the last', PATIENT, async () => {
    const directory = ownDirectory();
    const environment = environmentOf(directory, { SVC_LINGER_MS: '1500' });
    const clients = await Promise.all(ERAS.map((era) => connectStdio(era, environment)));
    for (const [index, client] of clients.entries()) {
      expect(await client.tools()).toEqual(expect.arrayContaining(['svc_set_memory', 'svc_search', 'svc_call']));
      const args = { category: 'notes', filename: `tide ${index} 🌊`, content: 'High water at six.' };
      expect(await client.call('svc_set_memory', args)).toMatchObject({ saved: true });
      const other = clients[1 - index] ?? expect.fail('two clients');
      expect(await other.read(`brain:///svc/notes/tide ${index} 🌊.md`)).toBe('High water at six.');
      await expect(client.call('svc_lock', { action: 'release', token: 'not-mine' })).rejects.toThrow('E_LEASE_ABSENT');
    }
    expect(nodesOf(directory)).toHaveLength(1);
    await clients[0]?.close();
    await sleep(3000);
    expect(await clients[1]?.call('svc_health', {})).toMatchObject({ status: expect.any(String) });
    await clients[1]?.close();
    await expect.poll(() => nodesOf(directory), AT_LAST).toEqual([]);
    expect(findNode(directory)).toBe('absent');
  });

  test(
    'ten at once, three of them killed: nothing that was acknowledged is lost, and never a second node',
    PATIENT,
    async () => {
      const [directory, each] = [ownDirectory(), runs(100)];
      const environment = environmentOf(directory, { SVC_LINGER_MS: '1500' });
      let mostNodes = 0;
      const holders = new Set<string>();
      const watch = setInterval(() => {
        mostNodes = Math.max(mostNodes, nodesOf(directory).length);
        const found = findNode(directory);
        if (typeof found === 'object') holders.add(readFileSync(join(directory, 'service.lock'), 'utf8'));
      }, 100);
      onTestFinished(() => clearInterval(watch));
      const acknowledged: string[] = [];
      const writers = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => connectStdio(ERAS[index % 2] ?? '2026', environment)),
      );
      const write = async (writer: number): Promise<void> => {
        const client = writers[writer] ?? expect.fail('no such writer');
        for (let count = 0; count < each; count += 1) {
          if (writer < 3 && count === Math.floor(each / 2)) process.kill(client.pid, 'SIGKILL');
          const args = { category: `w${writer}`, filename: `n${count}`, content: `${writer} ${count}` };
          await client.call('svc_set_memory', args);
          acknowledged.push(`w${writer}/n${count}.md`);
        }
      };
      const ends = await Promise.allSettled(writers.map((_, writer) => write(writer)));
      expect(ends.map(({ status }) => status)).toEqual(
        ends.map((_, writer) => (writer < 3 ? 'rejected' : 'fulfilled')),
      );
      expect(acknowledged.length).toBeGreaterThanOrEqual(7 * each + 3);
      const last = writers[9] ?? expect.fail('no last writer');
      const files = await filesOf(last.call);
      expect(acknowledged.filter((file) => !files.has(file))).toEqual([]);
      expect(mostNodes).toBe(1);
      expect(holders.size).toBe(1);
      await Promise.all(writers.slice(3).map((writer) => writer.close()));
      await expect.poll(() => nodesOf(directory), AT_LAST).toEqual([]);
    },
  );

  test('go on with another node when theirs is killed, in both eras and with a call in hand', PATIENT, async () => {
    const directory = ownDirectory();
    const environment = environmentOf(directory, { SVC_LINGER_MS: '5000' });
    const clients = await Promise.all(ERAS.map((era) => connectStdio(era, environment)));
    const write = async (round: number) =>
      Promise.all(
        clients.map((client, index) => {
          const args = { category: `r${round}`, filename: `c${index}`, content: 'kept' };
          return client.call('svc_set_memory', args);
        }),
      );
    await write(0);
    const [node = expect.fail('no node')] = nodesOf(directory);
    const inHand = write(1);
    process.kill(node, 'SIGKILL');
    await inHand;
    await write(2);
    const files = await filesOf((clients[0] ?? expect.fail('no client')).call);
    for (const round of [0, 1, 2]) for (const index of [0, 1]) expect(files).toContain(`r${round}/c${index}.md`);
    expect(nodesOf(directory)).toHaveLength(1);
    expect(nodesOf(directory)).not.toContain(node);
  });

  test(
    'hear of a file that they wanted to hear of when their node was replaced, and are told to read it',
    PATIENT,
    async () => {
      const directory = ownDirectory();
      const uri = 'brain:///svc/notes/tide.md';
      const { heard, write } = await connectListener(uri, environmentOf(directory));
      await expect
        .poll(
          async () => {
            await write('notes', 'tide', `first ${performance.now()}`);
            return heard;
          },
          { ...AT_LAST, interval: 500 },
        )
        .toContain(uri);
      const [node = expect.fail('no node')] = nodesOf(directory);
      process.kill(node, 'SIGKILL');
      await expect.poll(() => nodesOf(directory)).not.toContain(node);
      heard.length = 0;
      await expect.poll(() => heard, AT_LAST).toEqual([uri]);
      await write('notes', 'tide', 'second');
      await expect.poll(() => heard, AT_LAST).toEqual([uri, uri]);
    },
  );

  test('what a node starts is no second node before it runs a program of its own', async () => {
    const directory = ownDirectory();
    const environment = { PATH: process.env['PATH'], SVC_DATA_DIR: directory, SVC_MODE: 'headless' };
    const script = '(echo forked; sleep 60; true) & wait';
    const node = spawn('bash', ['-c', script], {
      env: environment,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const { pid = expect.fail('no process') } = node;
    onTestFinished(() => {
      process.kill(-pid, 'SIGKILL');
    });
    await once(node.stdout, 'data');
    expect(nodesOf(directory)).toEqual([pid]);
  });

  test('a usual port that is taken is no obstacle, one that was chosen is', PATIENT, async () => {
    const taken = await holdPort(0);
    const directory = ownDirectory();
    const { SVC_MODE: _mode, SVC_MCP_PORT: _port, ...environment } = environmentOf(directory);
    expect(await startNode(directory, { ...environment, SVC_MCP_PORT: taken }, 60_000)).toContain(`port ${taken} `);
    expect(findNode(directory)).toBe('absent');
    expect(nodesOf(directory)).toEqual([]);
    await holdPort(3457);
    expect(await startNode(directory, environment, 60_000)).toBeNull();
    const found = findNode(directory);
    expect(typeof found === 'object' && found.url).toMatch(/^http:\/\/127\.0\.0\.1:(?!3457$)\d+$/);
  });
});

/** Until the test is over; that somebody else has it is as good. */
async function holdPort(port: number): Promise<string> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('error', resolve).listen(port, '127.0.0.1', () => resolve(null)));
  const address = server.address();
  return String(typeof address === 'object' && address !== null ? address.port : port);
}
