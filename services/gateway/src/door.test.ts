import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEYED, type Harness, startHarness } from '../testing/harness.ts';
import { KEY } from '../testing/platform.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const CALL = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'probe_echo', arguments: { text: 'hi' } }, id: 1 };
const JSON_TYPE = { 'content-type': 'application/json' };
const BEARER = { ...JSON_TYPE, authorization: `Bearer ${KEY}` };

async function exec(body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await harness.fetch('/mcp/exec', { method: 'POST', headers: BEARER, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Status and error of a body as it is sent. */
async function refused(body: string, headers: Record<string, string> = {}): Promise<[number, string, unknown]> {
  const response = await harness.call(body, headers);
  const reply = (await response.json()) as { id: unknown; error: { code: string } };
  return [response.status, reply.error.code, reply.id];
}

describe('a call', () => {
  test('goes to the service and back', async () => {
    const reply = await harness.tool('probe_echo', { text: 'hello' });
    expect(reply).toMatchObject({ status: 200, jsonrpc: '2.0', id: 1, result: { content: { text: 'hello' } } });
  });

  test.each([
    ['"a"', 'a'],
    ['null', null],
    ['7', 7],
    ['-1.5', -1.5],
  ])('echoes the id %s', async (text, id) => {
    const response = await harness.call(JSON.stringify(CALL).replace('"id":1', `"id":${text}`));
    expect(await response.json()).toMatchObject({ id });
  });

  test('without an id is answered with null', async () => {
    const { id: _absent, ...call } = CALL;
    expect(await (await harness.call(call)).json()).toMatchObject({ id: null, result: {} });
  });

  test('takes args for arguments, and null for none', async () => {
    const withArgs = await harness.call({ ...CALL, params: { name: 'probe_echo', args: { text: 'x' } } });
    expect(await withArgs.json()).toMatchObject({ result: { content: { text: 'x' } } });
    const withNull = await harness.call({ ...CALL, params: { name: 'probe_echo', arguments: null } });
    expect(await withNull.json()).toMatchObject({ result: { content: { text: '' } } });
  });

  test('of a bare tool has its content in the result itself, and its refusal inside content', async () => {
    expect((await harness.tool('probe_read')).result).toEqual({ content: '{"error":"x"}' });
    expect((await harness.tool('probe_read', { missing: true })).result?.content).toMatchObject({
      code: 'E_FILE_ABSENT',
    });
  });

  test('shows a bug as one sentence and the request id', async () => {
    const reply = await harness.tool('probe_bug', {}, { 'x-request-id': 'look-here' });
    expect(reply).toMatchObject({ status: 500, error: { code: 'INTERNAL', data: { requestId: 'look-here' } } });
    expect(JSON.stringify(reply)).not.toContain('/var/lib');
  });
});

describe('the form of a request', () => {
  const form = (change: object): string => JSON.stringify({ ...CALL, ...change });
  test.each([
    ['not JSON', '{', 400, 'PARSE_ERROR', null],
    ['nothing', '', 400, 'PARSE_ERROR', null],
    ['a batch', JSON.stringify([CALL, CALL]), 400, 'INVALID_REQUEST', null],
    ['text', '"x"', 400, 'INVALID_REQUEST', null],
    ['65 nested arrays', '['.repeat(65) + ']'.repeat(65), 400, 'INVALID_REQUEST', null],
    ['deep arguments', form({ params: { name: 'probe_echo', arguments: nested(70) } }), 400, 'INVALID_REQUEST', 1],
    ['a wide object', form({ params: wide(1001) }), 400, 'INVALID_REQUEST', 1],
    ['a long list', form({ params: { list: Array.from({ length: 1001 }, () => 0) } }), 400, 'INVALID_REQUEST', 1],
    ['another version', form({ jsonrpc: '1.0' }), 400, 'INVALID_REQUEST', 1],
    ['no version', form({ jsonrpc: undefined }), 400, 'INVALID_REQUEST', 1],
    ['an object as id', form({ id: {} }), 400, 'INVALID_REQUEST', null],
    ['a long id', form({ id: 'x'.repeat(129) }), 400, 'INVALID_REQUEST', null],
    ['an endless id', JSON.stringify(CALL).replace('"id":1', '"id":1e999'), 400, 'INVALID_REQUEST', null],
    ['arguments and args', form({ params: { name: 'a', arguments: {}, args: {} } }), 400, 'INVALID_REQUEST', 1],
    ['a list as arguments', form({ params: { name: 'probe_echo', arguments: [] } }), 400, 'INVALID_REQUEST', 1],
    ['no name', form({ params: {} }), 400, 'INVALID_REQUEST', 1],
    ['a list as params', form({ params: [] }), 400, 'INVALID_REQUEST', 1],
    ['another method', form({ method: 'tools/destroy' }), 404, 'METHOD_NOT_FOUND', 1],
    [
      'a prototype',
      form({ params: { name: 'probe_echo' } }).replace('"name"', '"__proto__":{},"name"'),
      400,
      'VAF_INPUT_INVALID',
      1,
    ],
    [
      'a constructor',
      form({ params: { name: 'probe_echo', arguments: { constructor: 1 } } }),
      400,
      'VAF_INPUT_INVALID',
      1,
    ],
    [
      'an endless number',
      form({ params: { name: 'probe_echo', arguments: { n: 1 } } }).replace('"n":1', '"n":1e999'),
      400,
      'VAF_INPUT_INVALID',
      1,
    ],
    [
      'an endless number in a list',
      form({ params: { name: 'probe_echo', arguments: { n: [1] } } }).replace('[1]', '[-1e999]'),
      400,
      'VAF_INPUT_INVALID',
      1,
    ],
  ])('%s', async (_what, body, status, code, id) => {
    expect(await refused(body)).toEqual([status, code, id]);
  });

  test('64 levels are fine', async () => {
    expect((await refused(form({ params: { name: 'probe_echo', arguments: nested(62) } })))[1]).toBe(
      'VAF_INPUT_INVALID',
    );
  });

  test('bytes that are no UTF-8 are not JSON', async () => {
    const body = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const response = await harness.fetch('/call', { method: 'POST', headers: BEARER, body });
    expect(await response.json()).toMatchObject({ error: { code: 'PARSE_ERROR' } });
  });

  test('only application/json, uncompressed', async () => {
    expect(await refused('{}', { 'content-type': 'text/plain' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE', null]);
    expect(await refused('{}', { 'content-encoding': 'gzip' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE', null]);
    const withCharset = await harness.call(CALL, { 'content-type': 'application/json; charset=utf-8' });
    expect(withCharset.status).toBe(200);
  });

  test('headers that do not fit', async () => {
    const body = JSON.stringify(CALL);
    expect((await refused(body, { 'x-svc-session': 'a b' }))[1]).toBe('INVALID_REQUEST');
    expect((await refused(body, { 'idempotency-key': 'x'.repeat(256) }))[1]).toBe('INVALID_REQUEST');
    expect((await refused(body, { 'x-svc-timeout-ms': 'soon' }))[1]).toBe('INVALID_REQUEST');
  });
});

describe('a body beyond 4 MiB', () => {
  const large = Buffer.alloc(4 * 1024 * 1024 + 1, ' ');
  test('is refused by its length, and its sender sees why', async () => {
    const response = await harness.fetch('/call', { method: 'POST', headers: BEARER, body: large });
    expect([response.status, await response.json()]).toMatchObject([413, { error: { code: 'PAYLOAD_TOO_LARGE' } }]);
  });

  test('is refused also when it comes in chunks of unknown number', async () => {
    const reply = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const outgoing = httpRequest(`${harness.url}/call`, { method: 'POST', headers: BEARER }, (response) => {
        let text = '';
        response.on('data', (chunk) => (text += String(chunk)));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      outgoing.on('error', reject);
      for (let sent = 0; sent < large.length; sent += 65_536) outgoing.write(large.subarray(sent, sent + 65_536));
      outgoing.end();
    });
    expect(reply.status).toBe(413);
    expect(reply.text).toContain('PAYLOAD_TOO_LARGE');
  });

  test('exactly 4 MiB are read', async () => {
    const text = JSON.stringify(CALL);
    const response = await harness.call(text + ' '.repeat(4 * 1024 * 1024 - text.length));
    expect(response.status).toBe(200);
  });
});

describe('POST /mcp/exec', () => {
  test('answers the long form as /call does', async () => {
    expect(await exec(CALL)).toMatchObject({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, result: { content: { text: 'hi' } } },
    });
  });

  test('answers the short form with the same members, and an id only when one was sent', async () => {
    const { body } = await exec({ tool: 'probe_echo', args: { text: 'x' } });
    expect(Object.keys(body)).toEqual(['result']);
    expect((await exec({ name: 'probe_echo', arguments: {}, id: 'k' })).body).toMatchObject({ id: 'k', result: {} });
    const failed = await exec({ name: 'nothing_such', id: null });
    expect(failed).toMatchObject({ status: 404, body: { id: null, error: { code: 'TOOL_NOT_FOUND' } } });
    expect(Object.keys((await exec({ name: 'nothing_such' })).body)).toEqual(['error']);
  });

  test('refuses tool and name at once', async () => {
    expect(await exec({ tool: 'probe_echo', name: 'probe_echo' })).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_REQUEST' } },
    });
  });

  test('the short form is not taken on /call', async () => {
    expect(await refused(JSON.stringify({ tool: 'probe_echo' }))).toEqual([400, 'INVALID_REQUEST', null]);
  });
});

describe('tools by name', () => {
  test('an unknown one names the three nearest', async () => {
    const { status, error } = await harness.tool('probe_ecko');
    expect([status, error?.code]).toEqual([404, 'TOOL_NOT_FOUND']);
    expect(error?.message).toMatch(/Nearest: probe_echo, \w+, \w+\.$/);
  });

  test('a guessed one names first what does that', async () => {
    const { error } = await harness.tool('describe_tools');
    expect(error?.message).toContain('Nearest: tool_describe, ');
  });

  test('tools/list shows what GET /tools shows', async () => {
    const reply = (await (await harness.call({ jsonrpc: '2.0', method: 'tools/list', id: 2 })).json()) as {
      result: { content: unknown };
    };
    expect(reply.result.content).toEqual(await (await harness.fetch('/tools')).json());
  });

  test('arguments that do not fit are listed', async () => {
    const { status, error } = await harness.tool('probe_write', { oops: 1 });
    expect([status, error?.code]).toEqual([400, 'VAF_INPUT_INVALID']);
    expect(error?.data.problems).toEqual(
      expect.arrayContaining([expect.objectContaining({ path: 'oops' }), expect.objectContaining({ path: 'amount' })]),
    );
  });
});

describe('svc_call', () => {
  test("gives exactly the inner tool's result", async () => {
    const direct = await harness.tool('probe_read');
    expect((await harness.tool('svc_call', { name: 'probe_read', args: {} })).result).toEqual(direct.result);
    expect((await harness.tool('svc_call', { name: 'probe_read', arguments: {} })).result).toEqual(direct.result);
  });

  test('has the schema of the inner tool', async () => {
    const { error } = await harness.tool('svc_call', { name: 'probe_write', args: { amount: 1, oops: 1 } });
    expect([error?.code, error?.message]).toEqual(['VAF_INPUT_INVALID', expect.stringContaining('oops')]);
  });

  test.each([
    { name: 'svc_call', args: { name: 'probe_read' } },
    { args: {} },
    { name: 'probe_read', args: [] },
    { name: 'probe_read', extra: 1 },
  ])('refuses %j', async (args) => {
    expect(await harness.tool('svc_call', args)).toMatchObject({ status: 400, error: { code: 'VAF_INPUT_INVALID' } });
  });
});

describe('the envelope', () => {
  test('carries the key of a write from header or _meta, and none of a read', async () => {
    expect((await harness.tool('probe_write', { amount: 1 }, { 'idempotency-key': 'k1' })).result?.content.key).toBe(
      'k1',
    );
    const meta = {
      ...CALL,
      params: { name: 'probe_write', arguments: { amount: 1 }, _meta: { idempotencyKey: 'k2' } },
    };
    expect(await (await harness.call(meta)).json()).toMatchObject({ result: { content: { key: 'k2' } } });
    expect((await harness.tool('probe_echo', {}, { 'idempotency-key': 'k1' })).result?.content.key).toBeNull();
  });

  test('a stored reply is marked', async () => {
    const replayed = await harness.tool('probe_write', { amount: 1 }, { 'idempotency-key': 'seen-before' });
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect((await harness.tool('probe_write', { amount: 1 })).headers.has('idempotency-replayed')).toBe(false);
  });

  test('the caller may only shorten the deadline', async () => {
    const deadline = async (ms: string) => {
      const { caller } = await harness.content<{ caller: { deadlineAt: number } }>(
        'probe_echo',
        {},
        { 'x-svc-timeout-ms': ms },
      );
      return caller.deadlineAt - Date.now();
    };
    expect(await deadline('5000')).toBeLessThanOrEqual(5000);
    expect(await deadline('500000')).toBeLessThanOrEqual(30_000);
  });

  test('the request id is taken when it is one, and replaced when not', async () => {
    expect((await harness.tool('probe_echo', {}, { 'x-request-id': 'abc-1' })).headers.get('x-request-id')).toBe(
      'abc-1',
    );
    const replaced = await harness.tool('probe_echo', {}, { 'x-request-id': 'a b' });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9-]{1,64}$/);
    expect(replaced.result?.content.caller).toMatchObject({ requestId: replaced.headers.get('x-request-id') });
  });
});

test('headers beyond 16 KiB are not read', async () => {
  const response = await harness.fetch('/health', { headers: { 'x-large': 'x'.repeat(17 * 1024) } });
  expect(response.status).toBe(431);
});

test('a client that goes away in the middle of its body leaves nothing behind', async () => {
  const socket = connect(harness.gateway.port, '127.0.0.1');
  socket.write(
    `POST /call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"json`,
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.destroy();
  expect((await harness.tool('probe_echo')).status).toBe(200);
});

test('a node whose rate is not limited sends no rate headers', async () => {
  expect(KEYED.SVC_RATE_LIMIT).toBe('off');
  expect((await harness.tool('probe_echo')).headers.has('x-ratelimit-limit')).toBe(false);
});

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

function wide(keys: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, 1]));
}
