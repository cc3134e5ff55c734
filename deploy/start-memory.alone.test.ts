/** What a node that has started, and that nobody calls yet, keeps in memory. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@svc/testing/servers/ports.ts';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { expect, test } from 'vitest';
import { folder, start } from './testing/started-process.ts';

const MIB_IN_KIB = 1024;
const STARTED_MS = 120_000;
/** The first idle moment comes seconds after a start. */
const SETTLED_MS = 60_000;
/** In which nothing more is optimised than what a node does when nobody calls. */
const IDLE_MS = 10_000;
/** As the launcher sets it. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', UV_THREADPOOL_SIZE: '16' };

/** What the parser of the database would take while V8 optimises it is more than this for itself. */
const MOST_EVER_MEBIBYTES = 550;

function mebibytes(what: 'VmRSS' | 'VmHWM', pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kibibytes] = new RegExp(`^${what}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kibibytes) / MIB_IN_KIB;
}

/** Starts a node, looks at it once it says that it listens, and ends it. */
async function withNode(dataDir: string, look: (pid: number) => Promise<void>): Promise<void> {
  const node = start(['embedded.ts'], {
    ...ALLOCATOR,
    SVC_BIND: '127.0.0.1',
    SVC_MCP_PORT: String(await freePort()),
    SVC_LOG_LEVEL: 'silent',
    SVC_DATA_DIR: dataDir,
    NODE_COMPILE_CACHE: cache,
  });
  await expect.poll(() => node.said(), { timeout: STARTED_MS }).toContain('listening on');
  await look(node.pid);
  node.kill('SIGTERM');
  expect((await node.ended).code).toBe(0);
}

/** Of the node before those that are measured, which leaves them its compiled code and one of them its data. */
const [cache, usedDataDir] = [temporaryFolder('svc-start-cache'), temporaryFolder('svc-start-data')];
let before: Promise<void> | null = null;

test.runIf(process.platform === 'linux').each([
  { directory: 'a new data directory', isNew: true, mostMebibytes: 350 },
  { directory: 'one that is there', isNew: false, mostMebibytes: 325 },
])(
  'a start on $directory keeps none of its garbage, and never takes twice what it keeps',
  async ({ isNew, mostMebibytes }) => {
    await (before ??= withNode(usedDataDir, async () => undefined));
    const dataDir = isNew ? folder() : usedDataDir;
    await withNode(dataDir, async (pid) => {
      await expect
        .poll(() => mebibytes('VmRSS', pid), { timeout: SETTLED_MS, interval: 500 })
        .toBeLessThan(mostMebibytes);
      await delay(IDLE_MS);
      expect(mebibytes('VmHWM', pid)).toBeLessThan(MOST_EVER_MEBIBYTES);
    });
  },
  400_000,
);
