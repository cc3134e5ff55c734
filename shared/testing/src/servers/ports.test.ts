import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';

/** Tries the lowest forty ports one after the other, takes fifteen of them, says so, and lives until it is ended. */
const TAKER = `
import { freePort } from ${JSON.stringify(join(import.meta.dirname, 'ports.ts'))};
let tried = 0;
Math.random = () => (tried++ % 40) / 12000;
const ports = [];
for (let count = 0; count < 15; count += 1) ports.push(await freePort());
console.log(JSON.stringify(ports));
setInterval(() => {}, 60_000);
`;

test('two processes are never given the same port, though neither has opened it yet', async () => {
  const given = await Promise.all([portsOfAProcess(), portsOfAProcess()]);

  expect(new Set(given.flat()).size).toBe(30);
});

async function portsOfAProcess(): Promise<number[]> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', TAKER]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return JSON.parse(String(line));
}
