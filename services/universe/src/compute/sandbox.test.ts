/** Forty ways out of the sandbox, each tried for real. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '@svc/runtime/clock.ts';
import { afterAll, expect, test } from 'vitest';
import { createCompute } from './compute.ts';
import { decideRun, NO_JSON } from './domain/outcome.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';

const sandbox = createSandbox();
const compute = createCompute(systemClock, sandbox);
afterAll(() => compute.close());

const CANARY = randomUUID();
const BOMB_MS = 300;
/** What ends by itself does so on a busy machine too. */
const PATIENT_MS = 60_000;

const read = 'typeof canary === "undefined" ? null : canary';
const maker = (of: string) => `${of}.constructor('return ${read}')()`;

/** Tries to read something of the host. */
const ESCAPES: Readonly<Record<string, string>> = {
  'plain global': read,
  'indirect eval': `(0, eval)('${read}')`,
  'Function constructor': maker('(function () {})'),
  'arrow constructor': maker('(() => {})'),
  'constructor of a constructor': maker('[].constructor'),
  'async function constructor': maker('(async function () {})'),
  'generator constructor': `[...${maker('(function* () {})')}]`,
  'constructor of the console': maker('console.log'),
  'constructor of a getter': maker('Object.getOwnPropertyDescriptor(RegExp.prototype, "flags").get'),
  'this of a plain function': '(function () { return this.canary ?? null })()',
  'this of a caller': '(function f() { try { return f.caller.canary } catch { return null } })()',
  'process by the chain of an error': `try { null.x } catch (error) { ${maker('error.constructor')} }`,
  'prototype of the global': 'Object.getPrototypeOf(Object.getPrototypeOf(globalThis))?.canary ?? null',
  'prototype pollution': 'Object.prototype.canary = undefined; Object.prototype.env = 1; ({}).env',
  'pollution by __proto__': 'JSON.parse(\'{"__proto__": {"kind": "value"}}\')',
  'array prototype': 'Array.prototype.toJSON = () => globalThis; [1]',
  'string prototype': 'String.prototype.split = Array.prototype.join = () => globalThis.canary; "x"',
  'proxy as result': 'new Proxy({}, { get: (_, key) => key === "toJSON" ? undefined : globalThis.canary })',
  'proxy of ownKeys': 'new Proxy([], { ownKeys: () => Reflect.ownKeys(globalThis) })',
  'proxy as thrown': 'throw new Proxy(new Error("x"), { get: () => globalThis })',
  'prepared stack': 'Error.prepareStackTrace = (_, frames) => frames[0].getThis(); new Error().stack',
  'toJSON that returns the global': '({ toJSON: () => globalThis })',
  'thenable result': '({ then(resolve) { resolve(globalThis.canary) } })',
  'promise constructor': maker('Promise.resolve().then'),
  'dynamic import': 'import("node:process").then(({ env }) => env.canary)',
  'import of a file': 'import("/proc/self/environ")',
  'import of data': 'import("data:text/javascript,export default 1")',
  'replaced JSON': 'JSON.stringify = () => "{}"; JSON.parse = () => globalThis; 1',
  'shared memory': 'new SharedArrayBuffer(8).constructor.constructor("return globalThis.canary")()',
  'weak reference': 'typeof WeakRef === "undefined" ? null : new WeakRef(globalThis).deref().canary',
};

/** Ends only because somebody ends it. */
const BOMBS: Readonly<Record<string, string>> = {
  'endless loop': 'for (;;) {}',
  'promise bomb': '(async () => { for (;;) await 1 })()',
  'regexp bomb': '/(a+)+$/.test("a".repeat(50) + "b")',
  'toJSON bomb': '({ toJSON() { for (;;); } })',
  'getter of a thrown error': 'throw { get message() { for (;;); } }',
};

/** Too much of something. */
const HOGS: Readonly<Record<string, readonly [code: string, refused: string]>> = {
  'one large buffer': ['new ArrayBuffer(1024 ** 3)', 'E_COMPUTE_MEMORY'],
  'many texts': ['const all = []; for (let n = 0; ; n += 1) all.push("x".repeat(1e6) + n)', 'E_COMPUTE_MEMORY'],
  'deep recursion': ['(function f() { return f() + 1 })()', 'E_COMPUTE_ERROR'],
  'deep source': ['eval("(".repeat(1e5))', 'E_COMPUTE_ERROR'],
  'deep value': ['let x = 1; for (let n = 0; n < 1000; n += 1) x = [x]; x', 'E_COMPUTE_OUTPUT'],
};

test('there are forty', () => {
  expect(Object.keys({ ...ESCAPES, ...BOMBS, ...HOGS })).toHaveLength(40);
});

test.concurrent.each(Object.entries(ESCAPES))('nothing of the host is read by: %s', async (_name, code) => {
  const told = await sandbox.run({ kind: 'evaluate', code }, PATIENT_MS, CANARY);
  expect(['string', 'object']).toContain(typeof told);
  expect(JSON.stringify(told)).not.toContain(CANARY);
  expect(told).not.toBe('too slow');
});

test.concurrent.each(Object.entries(BOMBS))('ended from outside: %s', async (_name, code) => {
  const told = await sandbox.run({ kind: 'evaluate', code }, BOMB_MS, CANARY);
  expect(decideRun(told)).toEqual({ ok: false, code: 'E_COMPUTE_TIMEOUT' });
});

test.concurrent.each(Object.entries(HOGS))('too much: %s', async (_name, [code, refused]) => {
  expect(decideRun(await sandbox.run({ kind: 'evaluate', code }, PATIENT_MS, CANARY))).toMatchObject({ code: refused });
});

test('each run is alone, what it throws is told with its line, and its threads are gone afterwards', async () => {
  const evaluate = (code: string) =>
    compute.run({ workspace: 'a', family: null }, { kind: 'evaluate', code }, PATIENT_MS);
  expect(await evaluate('globalThis.kept = 1; Array.prototype.kept = 2; 1 + 1')).toMatchObject({
    value: { result: 2, logs: [] },
  });
  expect(await evaluate('typeof kept + [].kept')).toMatchObject({ value: { result: 'undefinedundefined' } });
  expect(await evaluate('console.log("a", { b: 1 }, null); console.warn(); Promise.resolve(3)')).toMatchObject({
    value: { result: 3, logs: ['a {"b":1} null', ''] },
  });
  expect(await evaluate('\n\nthrow new TypeError("no")')).toMatchObject({
    details: { name: 'TypeError', message: 'no', line: 3 },
  });
  const call = (source: string, args: unknown[]) =>
    compute.run(
      { workspace: 'a', family: null },
      { kind: 'call', source, arguments: JSON.stringify(args) },
      PATIENT_MS,
    );
  expect(await call('(a, b) => a + b', [1, 2])).toMatchObject({ value: { result: 3 } });
  expect(await call('async function (x) { return x.n }', [{ n: 4 }])).toMatchObject({ value: { result: 4 } });
  for (const none of ['nothing', '1', 'a b', '']) expect(await call(none, [])).toMatchObject({ code: 'E_FUNCTION' });
  await expect.poll(() => sandbox.running()).toBe(0);
});

test.each(['1 / 0', 'NaN', '({ a: [1, -Infinity] })', '({ toJSON: () => NaN })', 'Promise.resolve([0 / 0])'])(
  'a number that JSON has not is no result, and not told as null: %s',
  async (code) => {
    const lost = { ok: false, code: 'E_COMPUTE_OUTPUT', details: { problem: NO_JSON } };
    expect(decideRun(await sandbox.run({ kind: 'evaluate', code }, PATIENT_MS, CANARY))).toEqual(lost);
  },
);

test('what is null, or no value of JSON inside of one, is told as ever', async () => {
  const code = '({ a: null, b: undefined, c: [undefined, null, -0, 1e308] })';
  expect(decideRun(await sandbox.run({ kind: 'evaluate', code }, PATIENT_MS, CANARY))).toMatchObject({
    value: { result: { a: null, c: [null, null, 0, 1e308] } },
  });
});

test('a workspace runs two at once; what is ended is counted', async () => {
  const before = compute.counters().killed;
  const loops = Array.from({ length: 3 }, () =>
    compute.run({ workspace: 'b', family: null }, { kind: 'evaluate', code: 'for (;;);' }, BOMB_MS),
  );
  const ends = await Promise.allSettled(loops);
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(compute.counters().killed).toBe(before + 2);
});

test('the probe finds the sandbox whole, once for all who ask, in one thread at a time, and a leaking one out', async () => {
  let [inHand, most] = [0, 0];
  const run: Sandbox['run'] = async (...task) => {
    most = Math.max(most, (inHand += 1));
    return sandbox.run(...task).finally(() => (inHand -= 1));
  };
  const probed = createCompute(systemClock, { ...sandbox, run });
  const [one, other] = await Promise.all([probed.probe(), probed.probe()]);
  expect(one).toMatchObject({ ok: true });
  expect(most).toBe(1);
  expect(other).toBe(one);
  const leaking = createCompute(systemClock, {
    ...sandbox,
    run: async () => ({ kind: 'value', result: '["process"]', tooLarge: false, logs: '' }),
  });
  expect(await leaking.probe()).toMatchObject({ ok: false });
});
