import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

const SOURCE = `
  import { parentPort } from 'node:worker_threads';
  import { letOthersGoFirst } from '${new URL('./thread-priority.ts', import.meta.url).href}';
  parentPort.postMessage(letOthersGoFirst());
`;

test.skipIf(process.platform !== 'linux')(
  'a thread that steps back leaves the others of its process where they were',
  async () => {
    const before = getPriority();
    const address = new URL(`data:text/javascript,${encodeURIComponent(SOURCE)}`);
    const worker = new Worker(address);
    const own = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    expect(own).toBeGreaterThan(before);
    expect(getPriority()).toBe(before);
    await worker.terminate();
  },
);
