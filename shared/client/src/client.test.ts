import { describe, expect, it, vi } from 'vitest';
import { failure, nowhere, result, startScriptedNode, type Step } from '../testing/scripted-node.ts';
import { CallError, createClient, isCallError, isRefusal, UnreachableError } from './client.ts';

const NOTE = { category: 'notes', filename: 'tides', content: 'High water at six.' };

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
}

async function nodeAnswering(...steps: Step[]) {
  const node = await startScriptedNode(steps);
  return { node, client: createClient({ url: node.url }), [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

describe('a call', () => {
  it('says who calls, in whose name and in which session', async () => {
    await using node = await startScriptedNode([result({ saved: true })]);
    const client = createClient({ url: `${node.url}/`, token: 'svc_abc', session: 'editor', agent: 'a1' });
    expect(await client.callNamed('svc_set_memory', NOTE)).toEqual({ saved: true });
    const [{ path, headers, body } = expect.fail('nothing came')] = node.seen;
    expect(path).toBe('/call');
    expect(JSON.parse(body)).toMatchObject({
      method: 'tools/call',
      params: { name: 'svc_set_memory', arguments: NOTE },
    });
    expect(headers).toMatchObject({
      authorization: 'Bearer svc_abc',
      'x-svc-session': 'editor',
      'x-svc-agent': 'a1',
      'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(headers).not.toHaveProperty('x-svc-timeout-ms');
  });

  it('has a bare result as it is, whatever the text in it looks like', async () => {
    const bare = { body: { jsonrpc: '2.0', id: 1, result: { content: '{"code":"E"}', hash: 'h' } } };
    await using at = await nodeAnswering(bare);
    expect(await at.client.call('svc_get_memory', { category: 'a', filename: 'b' })).toEqual({
      content: '{"code":"E"}',
      hash: 'h',
    });
  });

  it('sends a change again with the same key after a lost reply, and only a read without one', async () => {
    await using at = await nodeAnswering('cut', failure('E_OUTCOME_UNKNOWN', 504), result({ saved: true }));
    await at.client.call('svc_set_memory', NOTE);
    const keys = at.node.seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    await using other = await nodeAnswering('cut', result({ islands: [] }));
    await other.client.call('svc_get_islands');
    expect(other.node.seen.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined]);
  });

  it('from a page of another origin says what such a page needs when nobody seems to be there', async () => {
    const url = 'http://127.0.0.1:3457';
    const fetchNothing = async () => Promise.reject(new TypeError('Failed to fetch'));
    const client = createClient({ url, fetch: fetchNothing, reachWithinMs: 0 });
    const messageOn = async (origin: string) => {
      vi.stubGlobal('location', { origin });
      const error = await thrownBy(client.call('svc_health'));
      vi.unstubAllGlobals();
      return error instanceof UnreachableError ? error.message : error;
    };
    expect(await messageOn('http://localhost:9000')).toMatch(
      /Failed to fetch \(a page of http:..localhost:9000 .*SVC_CORS/,
    );
    expect(await messageOn(url)).toBe(`No node answers at ${url}: Failed to fetch.`);
  });

  it('has a fresh key for each call, or the one it is given', async () => {
    await using at = await nodeAnswering(result({}));
    await at.client.call('svc_set_memory', NOTE);
    await at.client.call('svc_set_memory', NOTE);
    await at.client.call('svc_set_memory', NOTE, { idempotencyKey: 'mine' });
    const [first, second, third] = at.node.seen.map(({ headers }) => headers['idempotency-key']);
    expect(first).not.toBe(second);
    expect(third).toBe('mine');
  });

  it('that shall not be repeated is sent once, without a key', async () => {
    await using at = await nodeAnswering('cut', result({}));
    const error = await thrownBy(at.client.call('svc_set_memory', NOTE, { repeat: 'never' }));
    expect(error).toMatchObject({ name: 'UnreachableError', sent: true, idempotencyKey: null });
    expect(at.node.seen).toHaveLength(1);
    expect(at.node.seen[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it('waits as long as it is told', async () => {
    await using at = await nodeAnswering(failure('E_BUSY', 503, { retryAfterMs: 120 }), result({}));
    const startedAt = performance.now();
    await at.client.call('svc_set_memory', NOTE);
    expect(performance.now() - startedAt).toBeGreaterThan(110);
  });

  it('tells the service how much time is left, and ends when none is', async () => {
    const late = failure('SERVICE_UNAVAILABLE', 503, { retryAfterMs: 100 });
    await using at = await nodeAnswering(late);
    const error = await thrownBy(at.client.call('svc_health', {}, { timeoutMs: 350 }));
    expect(error).toBeInstanceOf(CallError);
    expect(isCallError(error, 'SERVICE_UNAVAILABLE') && error.retryAfterMs).toBe(100);
    const left = at.node.seen.map(({ headers }) => Number(headers['x-svc-timeout-ms']));
    expect(left.length).toBeGreaterThan(1);
    expect(left[0]).toBe(350);
    expect(left).toEqual([...left].sort((a, b) => b - a));
  });

  it('ends when it is cancelled: before, during and between attempts', async () => {
    await using at = await nodeAnswering('silence');
    const reason = new Error('changed my mind');
    expect(await thrownBy(at.client.call('svc_health', {}, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(at.node.seen).toHaveLength(0);
    const during = new AbortController();
    const called = thrownBy(at.client.call('svc_set_memory', NOTE, { signal: during.signal }));
    while (at.node.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    during.abort(reason);
    expect(await called).toBe(reason);
    const between = new AbortController();
    setTimeout(() => between.abort(reason), 120);
    const client = createClient({ url: await nowhere(), reachWithinMs: 60_000 });
    expect(await thrownBy(client.call('svc_health', {}, { signal: between.signal }))).toBe(reason);
  });
});

describe('what went wrong is told apart', () => {
  it('a refusal, with its tool, code and data', async () => {
    const refused = result({ released: false, error: 'There is no live lease.', code: 'E_LEASE_ABSENT', brain: 'svc' });
    await using at = await nodeAnswering(refused);
    const error = await thrownBy(at.client.call('svc_lock', { action: 'release' }));
    if (!isRefusal(error, 'svc_lock', 'E_LEASE_ABSENT')) throw error;
    expect(error.message).toBe('There is no live lease.');
    expect(error.data).toEqual({ released: false, brain: 'svc' });
    expect(error.requestId).toBe('r1');
    expect(isRefusal(error, 'svc_lock', 'E_LOCKED')).toBe(false);
    expect(isRefusal(error, 'svc_commit')).toBe(false);
    expect(await at.client.ask('svc_lock', { action: 'release' })).toEqual({
      ok: false,
      code: 'E_LEASE_ABSENT',
      message: 'There is no live lease.',
      data: { released: false, brain: 'svc' },
    });
  });

  it('the refusal of a bare tool, which shows it twice', async () => {
    const content = { error: 'No such file.', code: 'E_FILE_ABSENT' };
    await using at = await nodeAnswering({ body: { id: 1, result: { content, ...content } } });
    const error = await thrownBy(at.client.call('svc_get_memory', { category: 'a', filename: 'b' }));
    expect(isRefusal(error, 'svc_get_memory', 'E_FILE_ABSENT')).toBe(true);
  });

  it('a call error, with its request id and what to do', async () => {
    const problems = [{ path: 'content', message: 'is required' }];
    await using at = await nodeAnswering(failure('VAF_INPUT_INVALID', 400, { requestId: 'q', problems }));
    const error = await thrownBy(at.client.callNamed('svc_set_memory', {}, { idempotencyKey: 'k' }));
    const told = { code: 'VAF_INPUT_INVALID', status: 400, requestId: 'q', retryAfterMs: null, idempotencyKey: 'k' };
    expect(error).toMatchObject({ name: 'CallError', tool: 'svc_set_memory', data: { problems }, ...told });
    const limited = failure('RATE_LIMITED', 429, {}, { 'retry-after': '42' });
    await using busy = await nodeAnswering(limited);
    expect(await thrownBy(busy.client.call('svc_health'))).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: 42_000,
    });
    expect(busy.node.seen).toHaveLength(1);
    const until = new Date(Date.now() + 100_000).toUTCString();
    await using dated = await nodeAnswering(failure('RATE_LIMITED', 429, {}, { 'retry-after': until }));
    const { retryAfterMs } = (await thrownBy(dated.client.call('svc_health'))) as CallError;
    expect(retryAfterMs).toBeGreaterThan(90_000);
    expect(retryAfterMs).toBeLessThanOrEqual(100_000);
  });

  it('a proxy that lets no more through, whatever it says: the request went no further, and comes again when asked', async () => {
    const page = { status: 429, headers: { 'content-type': 'text/html' }, body: '<h1>Too Many Requests</h1>' };
    await using at = await nodeAnswering(page, result({ saved: true }));
    expect(await at.client.call('svc_set_memory', NOTE)).toEqual({ saved: true });
    await using busy = await nodeAnswering({ ...page, headers: { ...page.headers, 'retry-after': '100' } });
    const error = await thrownBy(busy.client.call('svc_set_memory', NOTE));
    expect(error).toMatchObject({ name: 'CallError', code: 'RATE_LIMITED', status: 429, retryAfterMs: 100_000 });
  });

  it.each([Number.NaN, 0, -5])('a time of %d ms, before anything is sent', async (timeoutMs) => {
    await using at = await nodeAnswering(result({}));
    expect(await thrownBy(at.client.call('svc_health', {}, { timeoutMs }))).toBeInstanceOf(TypeError);
    expect(() => createClient({ url: at.node.url, timeoutMs })).toThrow('timeoutMs must be');
    expect(at.node.seen).toEqual([]);
  });

  it('an address that does not speak TLS, at once: nothing of the call has left', async () => {
    await using at = await nodeAnswering(result({}));
    const client = createClient({ url: at.node.url.replace('http:', 'https:') });
    const startedAt = performance.now();
    const error = await thrownBy(client.call('svc_set_memory', NOTE));
    expect(performance.now() - startedAt).toBeLessThan(4000);
    expect(error).toMatchObject({ name: 'UnreachableError', sent: false });
    expect((error as Error).message).toContain('it does not speak TLS');
    expect(at.node.seen).toEqual([]);
  });

  it('nobody there, naming the address', async () => {
    const url = await nowhere();
    const client = createClient({ url, reachWithinMs: 100 });
    const startedAt = performance.now();
    const error = await thrownBy(client.call('svc_set_memory', NOTE));
    expect(performance.now() - startedAt).toBeGreaterThan(90);
    expect(error).toMatchObject({ name: 'UnreachableError', url, sent: false });
    expect(error).toHaveProperty('message', `No node answers at ${url}: connection refused.`);
    await expect(client.tools()).rejects.toThrow(UnreachableError);
    await expect(client.ready()).rejects.toThrow(url);
  });

  it('somebody else there, who is not asked twice, and a proxy with nobody behind it, who is', async () => {
    const page = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html></html>' };
    await using at = await nodeAnswering(page);
    expect(await thrownBy(at.client.call('svc_health'))).toMatchObject({
      name: 'UnreachableError',
      message: `No node answers at ${at.node.url}: what is there answered 404 (text/html).`,
    });
    expect(at.node.seen).toHaveLength(1);
    await using behind = await nodeAnswering({ ...page, status: 502 }, result({ status: 'ok' }));
    expect(await behind.client.call('svc_health')).toEqual({ status: 'ok' });
  });

  it('a node that says nothing in time', async () => {
    await using at = await nodeAnswering('silence');
    const error = await thrownBy(at.client.call('svc_set_memory', NOTE, { timeoutMs: 50, idempotencyKey: 'k' }));
    expect(error).toMatchObject({ name: 'UnreachableError', sent: true, idempotencyKey: 'k' });
  });

  it('an address that is never called, which is not tried for long: nothing has left', async () => {
    const client = createClient({ url: 'http://127.0.0.1:6000', reachWithinMs: 60_000 });
    expect(await thrownBy(client.call('svc_set_memory', NOTE))).toMatchObject({
      message: 'No node answers at http://127.0.0.1:6000: bad port.',
      sent: false,
    });
  });

  it('a client that cannot be', () => {
    const url = 'http://127.0.0.1:3457';
    expect(() => createClient({ url: 'not an address' })).toThrow(TypeError);
    expect(() => createClient({ url: 'ftp://example.org' })).toThrow('no http address');
    expect(() => createClient({ url: 'http://me:secret@example.org' })).toThrow('not into the address');
    expect(() => createClient({ url, key: 'a', token: 'b' })).toThrow('not as both');
    expect(() => createClient({ url, key: 'line\nbreak' })).toThrow(TypeError);
  });
});

describe('looks at a node', () => {
  it('its tools and whether it is ready', async () => {
    const tools = [{ name: 'svc_health' }];
    const checks = [{ name: 'brain', status: 'fail' }];
    await using at = await nodeAnswering({ body: { tools } }, { status: 503, body: { degraded: [], checks } });
    expect(await at.client.tools({ profile: 'full', area: 'core' })).toEqual(tools);
    expect(at.node.seen[0]?.path).toBe('/tools?profile=full&area=core');
    expect(await at.client.ready()).toEqual({ ready: false, checks, degraded: [] });
  });
});
