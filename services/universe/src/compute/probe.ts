/** Tries to break out of the sandbox before anybody else may try. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/runtime/clock.ts';
import type { Probe } from '../kept-probe.ts';
import { decideRun } from './domain/outcome.ts';
import type { Sandbox } from './sandbox.ts';

const LOOP_MS = 200;
/** A limit that works ends a run long before, also on a machine whose processes all go before this thread. */
const HOG_MS = 30_000;

const HOST_NAMES = [
  'process',
  'require',
  'module',
  'fetch',
  'XMLHttpRequest',
  'WebSocket',
  'Worker',
  'WebAssembly',
  'setTimeout',
  'queueMicrotask',
  'Buffer',
  'performance',
  'std',
  'os',
  'scriptArgs',
  'canary',
];

const REACH = `const names = ${JSON.stringify(HOST_NAMES)};
const makers = [Function, (async () => {}).constructor, (function* () {}).constructor, Proxy.constructor, console.log.constructor];
const evaluators = [(text) => (0, eval)(text), ...makers.map((maker) => (text) => maker('return ' + text)())];
Promise.all(evaluators.flatMap((evaluate) => names.map(async (name) => {
  const found = await evaluate('typeof ' + name);
  return typeof found === 'string' && found !== 'undefined' ? name : null;
}))).then((found) => found.filter((name) => name !== null))`;

const CLOCK =
  'const before = Date.now(); for (let n = 0; n < 1e6; n += 1); [before, Date.now(), new Date(0).getTimezoneOffset()]';

const IMPORTS = `Promise.allSettled(['fs', 'node:fs', 'os', 'std', './code.js', 'data:text/javascript,1', '/etc/passwd']
  .map((name) => import(name))).then((all) => all.every(({ status }) => status === 'rejected'))`;

export async function probeSandbox(sandbox: Pick<Sandbox, 'run'>, clock: Clock): Promise<Probe> {
  const canary = randomUUID();
  const tell = async (code: string, timeMs = HOG_MS) =>
    decideRun(await sandbox.run({ kind: 'evaluate', code }, timeMs, canary));
  // One after the other: on a busy machine threads at the same time take each other's time, until a limit is late.
  const loop = await tell('while (true) {}', LOOP_MS);
  const hog = await tell('const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1))');
  const reach = await tell(REACH);
  const clockRead = await tell(CLOCK);
  const imports = await tell(IMPORTS);
  const isValue = (decision: typeof loop, value: unknown): boolean =>
    decision.ok && JSON.stringify(decision.value.result) === JSON.stringify(value);
  const checks = [
    { name: 'an endless loop dies', ok: !loop.ok && loop.code === 'E_COMPUTE_TIMEOUT' },
    { name: 'a memory hog dies', ok: !hog.ok && hog.code === 'E_COMPUTE_MEMORY' },
    { name: 'nothing of the host is in reach', ok: isValue(reach, []) && !JSON.stringify(reach).includes(canary) },
    { name: 'no clock of the host is in reach', ok: isValue(clockRead, [0, 0, 0]) },
    { name: 'nothing can be imported', ok: isValue(imports, true) },
  ];
  return { at: clock.now(), ok: checks.every(({ ok }) => ok), checks };
}
