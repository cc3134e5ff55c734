import { afterEach, describe, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness } from './testing/harness.ts';
import { createTestPlatform, KEY } from './testing/platform.ts';
import { startGateway } from './service.ts';

const running: Harness[] = [];
afterEach(async () => {
  for (const harness of running.splice(0)) await harness.stop();
});

async function keyed(environment: Record<string, string> = {}): Promise<Harness> {
  const harness = await startHarness({ environment: { ...KEYED, ...environment } });
  running.push(harness);
  return harness;
}

async function keyless(environment: Record<string, string> = {}): Promise<Harness> {
  const harness = await startHarness({ environment });
  running.push(harness);
  return harness;
}

/** Answers for the registry of identities, which is not there yet: the port is a subject on the bus. */
async function answerTokens(harness: Harness, answers: Record<string, unknown>): Promise<void> {
  await harness.platform.bus.respond('habitat.verify-token', async (question) => {
    const { token } = JSON.parse(question) as { token: string };
    return JSON.stringify(answers[token] ?? null);
  });
}

const A1 = {
  agentId: 'a1',
  subject: { agentId: 'a1', workspace: 'acme', roles: ['editor', 'viewer'], verified: true },
};

async function send(harness: Harness, path: string, name: string, headers: Record<string, string>, args = {}) {
  const response = await harness.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name, arguments: args }, id: 1 }),
  });
  const reply = (await response.json()) as {
    result?: { content: { caller: { principal: string; operator: boolean; subject: object; session: string } } };
    error?: { code: string };
  };
  return {
    status: response.status,
    code: reply.error?.code,
    caller: reply.result?.content.caller,
    headers: response.headers,
  };
}

const echo = (harness: Harness, headers: Record<string, string>, args = {}) =>
  send(harness, '/call', 'probe_echo', headers, args);

describe('a node with a key', () => {
  test('knows the holder of the key as operator, by either header', async () => {
    const harness = await keyed();
    const operator = { principal: 'key:node', operator: true, subject: { workspace: 'default' } };
    expect((await echo(harness, { authorization: `Bearer ${KEY}` })).caller).toMatchObject(operator);
    expect((await echo(harness, { 'x-api-key': KEY })).caller).toMatchObject(operator);
  });

  test.each([
    ['nothing', {}],
    ['a wrong key', { authorization: 'Bearer wrong' }],
    ['a wrong key in the other header', { 'x-api-key': 'wrong' }],
    ['a wrong key beside the right one', { authorization: `Bearer ${KEY}`, 'x-api-key': 'wrong' }],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown token', { authorization: 'Bearer svc_unknown' }],
    ['an unknown token beside the right key', { 'x-api-key': KEY, 'x-habitat-token': 'svc_unknown' }],
    ['no token at all as token', { 'x-habitat-token': KEY }],
  ])('answers %s with 401 at every door', async (_what, headers) => {
    const harness = await keyed();
    for (const path of ['/call', '/mcp/exec']) {
      const { status, code, headers: sent } = await send(harness, path, 'probe_echo', headers);
      expect([status, code, sent.get('www-authenticate')]).toEqual([401, 'UNAUTHORIZED', 'Bearer']);
    }
    expect(harness.probe.deps.ran).toEqual([]);
  });

  test('takes the previous key too', async () => {
    const harness = await keyed({ SVC_API_KEY_PREVIOUS: 'previous-key-0123456789' });
    expect((await echo(harness, { 'x-api-key': 'previous-key-0123456789' })).caller?.operator).toBe(true);
  });

  test('a key that looks like a token is a key', async () => {
    const harness = await keyed({ SVC_API_KEY: 'svc_0123456789abcdef' });
    expect((await echo(harness, { authorization: 'Bearer svc_0123456789abcdef' })).caller?.operator).toBe(true);
  });

  test('lets a token act as its agent alone, also beside the key', async () => {
    const harness = await keyed();
    await answerTokens(harness, { svc_a1: A1 });
    const asAgent = { principal: 'tok:a1', operator: false, subject: A1.subject };
    expect((await echo(harness, { authorization: 'Bearer svc_a1' })).caller).toMatchObject(asAgent);
    expect((await echo(harness, { 'x-habitat-token': 'svc_a1' })).caller).toMatchObject(asAgent);
    expect((await echo(harness, { 'x-api-key': KEY, 'x-habitat-token': 'svc_a1' })).caller).toMatchObject(asAgent);
    expect((await echo(harness, { authorization: 'Bearer svc_a1', 'x-habitat-token': 'svc_b2' })).status).toBe(401);
  });

  test('a registry that answers nonsense is no answer', async () => {
    const harness = await keyed();
    await answerTokens(harness, { svc_a1: { agentId: 7 } });
    expect((await echo(harness, { 'x-habitat-token': 'svc_a1' })).status).toBe(401);
  });

  test('a token is held to its own limits, inside svc_call as well', async () => {
    const harness = await keyed();
    await answerTokens(harness, { svc_ro: { ...A1, readOnly: true }, svc_brain: { ...A1, profile: 'brain' } });
    const asReader = { 'x-habitat-token': 'svc_ro' };
    expect((await send(harness, '/call', 'probe_write', asReader, { amount: 1 })).code).toBe('FORBIDDEN');
    expect((await echo(harness, asReader)).status).toBe(200);
    const inProfile = { 'x-habitat-token': 'svc_brain' };
    expect((await echo(harness, inProfile)).code).toBe('FORBIDDEN');
    expect((await send(harness, '/call', 'svc_call', inProfile, { name: 'probe_echo' })).code).toBe('FORBIDDEN');
  });
});

describe('a node without a key', () => {
  test('takes every local caller as operator and ignores a bearer that is no token', async () => {
    const harness = await keyless();
    for (const headers of [{}, { authorization: 'Bearer whatever' }, { 'x-api-key': 'whatever' }]) {
      expect((await echo(harness, headers)).caller).toMatchObject({ principal: 'local', operator: true });
    }
    expect((await echo(harness, { authorization: 'Bearer svc_unknown' })).status).toBe(401);
  });

  test('does not open to other machines', async () => {
    const platform = createTestPlatform({ environment: { SVC_BIND: '0.0.0.0' } });
    await expect(startGateway(platform)).rejects.toThrow(/SVC_BIND=0\.0\.0\.0 .* SVC_API_KEY/);
  });
});

describe('static access', () => {
  test('asks who is there, and what they may', async () => {
    const harness = await keyed();
    await answerTokens(harness, { svc_a1: A1 });
    const token = { 'x-habitat-token': 'svc_a1' };
    const call = (name: string, headers: Record<string, string>, args = {}) =>
      send(harness, '/call', name, headers, args);
    expect((await call('probe_write', token, { amount: 1 })).status).toBe(200);
    expect(await call('probe_admin', token)).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect((await call('probe_admin', { 'x-api-key': KEY })).status).toBe(200);
    expect((await call('svc_call', token, { name: 'probe_admin' })).code).toBe('FORBIDDEN');
  });
});

describe('the subject', () => {
  test('is what an operator declares, and what anybody else is', async () => {
    const harness = await keyed();
    await answerTokens(harness, { svc_a1: { ...A1, roles: { beta: ['viewer'] } } });
    const subjectOf = async (headers: Record<string, string>, userCtx: unknown) =>
      (await echo(harness, headers, { userCtx })).caller?.subject;
    const declared = { userId: 'u1', roles: ['admin'], workspace: 'beta' };
    expect(await subjectOf({ 'x-api-key': KEY }, declared)).toEqual(declared);
    const token = { 'x-habitat-token': 'svc_a1' };
    expect(await subjectOf(token, { workspace: 'gamma', roles: ['admin'] })).toEqual({ ...A1.subject, roles: [] });
    expect(await subjectOf(token, { workspace: 'beta' })).toEqual({
      ...A1.subject,
      workspace: 'beta',
      roles: ['viewer'],
    });
    expect(await subjectOf(token, { roles: ['editor', 'admin'] })).toEqual({ ...A1.subject, roles: ['editor'] });
    expect(await subjectOf(token, { userId: 'root' })).toEqual(A1.subject);
  });

  test('is the agent that an operator works for when the registry knows it', async () => {
    const harness = await keyed({ SVC_AGENT_ID: 'house' });
    await harness.platform.bus.respond('habitat.agent-subject', async (question) => {
      const { agentId } = JSON.parse(question) as { agentId: string };
      return JSON.stringify(agentId === 'ghost' ? null : { agentId, workspace: 'acme' });
    });
    const as = async (headers: Record<string, string>) =>
      (await echo(harness, { 'x-api-key': KEY, ...headers })).caller?.subject;
    expect(await as({})).toEqual({ agentId: 'house', workspace: 'acme' });
    expect(await as({ 'x-svc-agent': 'a2' })).toEqual({ agentId: 'a2', workspace: 'acme' });
    expect(await as({ 'x-svc-agent': 'ghost' })).toEqual({ workspace: 'default' });
  });
});

test('one session name opens different sessions for different callers', async () => {
  const harness = await keyed();
  await answerTokens(harness, { svc_a1: A1, svc_a2: { ...A1, agentId: 'a2' } });
  const session = async (headers: Record<string, string>) => (await echo(harness, headers)).caller?.session;
  const sessions = [
    await session({ 'x-api-key': KEY, 'x-svc-session': 's1' }),
    await session({ 'x-api-key': KEY }),
    await session({ 'x-habitat-token': 'svc_a1', 'x-svc-session': 's1' }),
    await session({ 'x-habitat-token': 'svc_a2', 'x-svc-session': 's1' }),
  ];
  expect(new Set(sessions).size).toBe(4);
  expect(await session({ 'x-api-key': KEY, 'x-svc-session': 's1' })).toBe(sessions[0]);
});
