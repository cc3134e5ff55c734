/** Long calls as tasks: begun by one request, asked for by others of the same principal. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Harness, startHarness } from '../../testing/harness.ts';
import { META, modernRequest, WITH_TASKS } from '@svc/testing/mcp-wire.ts';
import { KEY } from '../../testing/platform.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
  harness.registry.grant('a1', 'acme', 'editor');
  harness.registry.grant('a2', 'acme', 'editor');
});
afterAll(() => harness.stop());

interface Reply {
  readonly status: number;
  readonly result: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly data: Record<string, unknown> };
}

interface Sent {
  readonly token?: string;
  readonly _meta?: object;
}

async function send(method: string, params: Record<string, unknown>, { token = KEY, _meta = WITH_TASKS }: Sent = {}) {
  const response = await harness.fetch('/mcp', modernRequest(method, { ...params, _meta }, token));
  return { result: {}, ...((await response.json()) as Partial<Reply>), status: response.status } as Reply;
}

const begin = (args: object, sent?: Sent) => send('tools/call', { name: 'probe_long', arguments: args }, sent);
const get = (taskId: unknown, sent?: Sent) => send('tasks/get', { taskId }, sent);
const taskId = async (args: object, sent?: Sent) => (await begin(args, sent)).result['taskId'];

/** Tools that may take long do, until the answered function is called. */
function holdLongOnes(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  harness.probe.deps.mayEnd = promise;
  return resolve;
}

async function over(id: unknown, sent?: Sent): Promise<Record<string, unknown>> {
  let result: Record<string, unknown> = {};
  await expect
    .poll(async () => {
      ({ result } = await get(id, sent));
      return result['status'];
    })
    .not.toBe('working');
  return result;
}

describe('a tool that may take long', () => {
  test('is answered with a task, whose result comes with it once it is there', async () => {
    const letGo = holdLongOnes();
    const { result } = await begin({ forMs: 1 });
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1000 });
    expect(result['taskId']).toMatch(/^[0-9a-f]{32}$/);
    const working = await get(result['taskId']);
    expect(working.result).toMatchObject({ resultType: 'complete', status: 'working', taskId: result['taskId'] });
    expect(working.result).not.toHaveProperty('result');
    letGo();
    expect(await over(result['taskId'])).toMatchObject({
      status: 'completed',
      result: { isError: false, structuredContent: { key: `task-${String(result['taskId'])}` } },
    });
  });

  test('inside svc_call is one too', async () => {
    const inner = { name: 'svc_call', arguments: { name: 'probe_long', args: { forMs: 1 } } };
    expect((await send('tools/call', inner)).result).toMatchObject({ resultType: 'task' });
  });

  test('runs under the key of the caller, if it has one', async () => {
    const _meta = { ...WITH_TASKS, idempotencyKey: 'mine' };
    expect(await over(await taskId({ forMs: 1 }, { _meta }))).toMatchObject({
      result: { structuredContent: { key: 'mine' } },
    });
  });

  test('is waited for by whoever knows nothing of tasks, and short tools by everybody', async () => {
    expect((await begin({ forMs: 1 }, { _meta: META })).result).toMatchObject({ resultType: 'complete' });
    const short = { name: 'probe_echo', arguments: {} };
    expect((await send('tools/call', short)).result).toMatchObject({ resultType: 'complete' });
    const write = { name: 'probe_write', arguments: { amount: 1 } };
    expect((await send('tools/call', write)).result).toMatchObject({ structuredContent: { key: null } });
  });

  test('is refused at once by the door, without a task', async () => {
    const readOnly = harness.registry.mint('a1', { readOnly: true });
    expect((await begin({ forMs: 1 }, { token: readOnly })).result).toMatchObject({
      isError: true,
      _meta: { 'svc/code': 'FORBIDDEN' },
    });
    expect((await begin({ forMs: 1 }, { _meta: { ...WITH_TASKS, idempotencyKey: 7 } })).status).toBe(400);
  });

  test('that refuses has completed; one that breaks has failed', async () => {
    expect(await over(await taskId({ forMs: 1, missing: true }))).toMatchObject({
      status: 'completed',
      result: { isError: true, _meta: { 'svc/code': 'E_FILE_ABSENT' } },
    });
    const failed = await over(await taskId({ forMs: 1, isBug: true }));
    expect(failed).toMatchObject({ status: 'failed', error: { code: -32_603, data: { code: 'INTERNAL' } } });
    expect(JSON.stringify(failed)).not.toContain('secret');
  });

  test('is waited for when its owner has too many tasks', async () => {
    harness.registry.grant('busy', 'acme', 'editor');
    const sent = { token: harness.registry.mint('busy') };
    const types = await Promise.all(
      Array.from({ length: 51 }, async () => (await begin({ forMs: 20 }, sent)).result['resultType']),
    );
    expect(types.filter((type) => type === 'task')).toHaveLength(50);
    expect((await begin({ forMs: 1 })).result).toMatchObject({ resultType: 'task' });
  });
});

describe('a task', () => {
  test('is nobody else’s, and unknown names are answered like those of others', async () => {
    const [mine, theirs] = [harness.registry.mint('a1'), harness.registry.mint('a2')];
    const id = await taskId({ forMs: 1 }, { token: mine });
    const foreign = await get(id, { token: theirs });
    const bound = await get(id, { token: harness.registry.mint('a1', { bound: 'acme' }) });
    const unknown = await get('0'.repeat(32), { token: theirs });
    for (const { status, error } of [foreign, bound, unknown]) {
      expect({ status, code: error?.code, data: error?.data }).toMatchObject({ status: 400, code: -32_602 });
    }
    for (const method of ['tasks/cancel', 'tasks/update'])
      expect((await send(method, { taskId: id, inputResponses: {} }, { token: theirs })).error?.code).toBe(-32_602);
    expect(await over(id, { token: mine })).toMatchObject({ status: 'completed' });
    expect(await over(id, { token: harness.registry.mint('a1') })).toMatchObject({ status: 'completed' });
  });

  test('that was cancelled stays so, and its result is dropped', async () => {
    const letGo = holdLongOnes();
    const id = await taskId({ forMs: 1 });
    expect((await send('tasks/cancel', { taskId: id })).result).toEqual({
      resultType: 'complete',
      _meta: expect.anything(),
    });
    const before = harness.probe.deps.ran.length;
    expect((await get(id)).result).toMatchObject({ status: 'cancelled' });
    letGo();
    await expect.poll(() => harness.probe.deps.ran.length).toBe(before + 1);
    expect((await get(id)).result).toMatchObject({ status: 'cancelled' });
    expect((await get(id)).result).not.toHaveProperty('result');
    expect((await send('tasks/cancel', { taskId: id })).status).toBe(200);
  });

  test('is asked for by those who say that they know of tasks, naming it in the header too', async () => {
    const id = await taskId({ forMs: 1 });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const { status, error } = await send(method, { taskId: id, inputResponses: {} }, { _meta: META });
      expect({ status, error }).toMatchObject({
        status: 400,
        error: {
          code: -32_021,
          data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
        },
      });
    }
    expect((await send('tasks/get', { taskId: id, name: 'another' })).error?.code).toBe(-32_020);
    for (const method of ['tasks/list', 'tasks/result'])
      expect(await send(method, { taskId: id })).toMatchObject({ status: 404, error: { code: -32_601 } });
  });
});
