/** What a node that has started, and that nobody calls yet, keeps in memory. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@svc/testing/servers/ports.ts';
import { expect, test } from 'vitest';
import { folder, start } from './testing/started-process.ts';

const MIB_IN_KIB = 1024;
const SETTLED_MS = 10_000;
/** As the launcher sets it. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', UV_THREADPOOL_SIZE: '16' };

/** In MiB, some time after it said that it listens. */
async function residentAfterStart(dataDir: string, cache: string, settledMs: number): Promise<number> {
  const port = String(await freePort());
  const node = start(['embedded.ts'], {
    ...ALLOCATOR,
    SVC_BIND: '127.0.0.1',
    SVC_MCP_PORT: port,
    SVC_LOG_LEVEL: 'silent',
    SVC_DATA_DIR: dataDir,
    NODE_COMPILE_CACHE: cache,
  });
  await expect.poll(() => node.said(), { timeout: 60_000 }).toContain('listening on');
  await sleep(settledMs);
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${node.pid}/status`, 'utf8')) ?? [];
  node.kill('SIGTERM');
  expect((await node.ended).code).toBe(0);
  return Number(kibibytes) / MIB_IN_KIB;
}

test.runIf(process.platform === 'linux')(
  'a node that has started keeps no garbage of its start',
  async () => {
    const [cache, dataDir] = [folder(), folder()];
    await residentAfterStart(folder(), cache, 0); // leaves its compiled code to those that are measured
    expect(await residentAfterStart(dataDir, cache, SETTLED_MS), 'on a new data directory').toBeLessThan(350);
    expect(await residentAfterStart(dataDir, cache, SETTLED_MS), 'on one that is there').toBeLessThan(325);
  },
  240_000,
);
