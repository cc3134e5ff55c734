/** How long the loop lets things wait is noticed, and noticing it lets an idle process rest. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { watchEventLoop } from './event-loop.ts';
import { createMetrics } from './metrics.ts';

/** Of a gateway, see services/gateway/src/readiness.ts. */
const READY_BELOW_MS = 200;

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('a loop that stands still is told in seconds, and forgotten with its second', async () => {
  const metrics = createMetrics();
  const { delayMs, close } = watchEventLoop(metrics);
  onTestFinished(close);
  const told = async (): Promise<number> =>
    (await metrics.gauge('svc_event_loop_delay_seconds', '').get()).values[0]?.value ?? 0;
  await sleep(150);
  block(600);
  await expect.poll(delayMs).toBeGreaterThan(450);
  expect(await told()).toBe(delayMs() / 1000);
  await expect.poll(delayMs).toBeLessThan(READY_BELOW_MS);
});

test('what was before a restart is not told, also not of the second that was open', async () => {
  const { delayMs, restart, close } = watchEventLoop(createMetrics());
  onTestFinished(close);
  await sleep(150);
  block(600);
  await expect.poll(delayMs).toBeGreaterThan(450);
  restart();
  expect(delayMs()).toBe(0);
  for (let tries = 0; ; tries += 1) {
    await sleep(250);
    block(600);
    restart();
    const longest = await longestIn(delayMs, 1500);
    if (longest !== null) return expect(longest).toBeLessThan(READY_BELOW_MS);
    expect(tries, 'the machine made stalls of its own').toBeLessThan(20);
  }
});

/** What is told meanwhile; null when the machine made stalls. */
async function longestIn(delayMs: () => number, ms: number): Promise<number | null> {
  let longest = 0;
  const until = performance.now() + ms;
  for (let at = performance.now(); at < until; ) {
    await sleep(20);
    const now = performance.now();
    if (now - at > READY_BELOW_MS / 2) return null;
    at = now;
    longest = Math.max(longest, delayMs());
  }
  return longest;
}

/** What is told in the second and a half after so many stalls of 300 ms; null when the machine made others. */
async function longestTold(delayMs: () => number, stalls: number): Promise<number | null> {
  await expect.poll(delayMs).toBeLessThan(READY_BELOW_MS);
  for (let stall = 0; stall < stalls; stall += 1) {
    await sleep(20);
    block(300);
  }
  return await longestIn(delayMs, 1500);
}

test('one short stall counts for nothing, several in a second do', async () => {
  const { delayMs, close } = watchEventLoop(createMetrics());
  onTestFinished(close);
  const told = async (stalls: number): Promise<number> => {
    for (;;) {
      const longest = await longestTold(delayMs, stalls);
      if (longest !== null) return longest;
    }
  };
  await sleep(250); // its first look has nothing to compare with
  expect(await told(1)).toBeLessThan(READY_BELOW_MS);
  expect(await told(5)).toBeGreaterThan(READY_BELOW_MS);
});

/** How often a process of that code is woken in a second in which it has nothing to do. */
async function wakeups(code: string): Promise<number> {
  const rest = `
    const wakes = () => process.resourceUsage().voluntaryContextSwitches;
    setTimeout(() => { const before = wakes(); setTimeout(() => { console.log(wakes() - before); process.exit(); }, 2000); }, 500);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code + rest], { cwd: import.meta.dirname });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  await once(child, 'close');
  return Number(said) / 2;
}

test('what every process measures of itself lets it rest', async () => {
  const url = (file: string): string => new URL(file, import.meta.url).href;
  const measured = await wakeups(`
    import { createMetrics } from '${url('./metrics.ts')}';
    import { measureProcess } from '${url('./measures.ts')}';
    import { watchEventLoop } from '${url('./event-loop.ts')}';
    const metrics = createMetrics();
    measureProcess({ metrics, node: { version: '1' }, links: [] }, ['x']);
    watchEventLoop(metrics);`);
  expect(measured).toBeGreaterThan(0);
  expect(measured).toBeLessThan(40);
});
