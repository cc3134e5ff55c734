import { TOKENS_USED } from '@svc/contract/registry.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';
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

const A1 = {
  userId: 'a1',
  agentId: 'a1',
  workspace: 'acme',
  roles: ['editor', 'viewer'],
  family: 'a1',
  verified: true,
};

/** `a1`, at home in acme, and a viewer in beta. */
function knowA1({ registry }: Harness): void {
  registry.grant('a1', 'acme', 'editor', 'viewer');
  registry.grant('a1', 'beta', 'viewer');
}

const UNKNOWN = `svc_${'0'.repeat(64)}`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const asToken = (token: string) => ({ 'x-habitat-token': token });

interface CallerSeen {
  readonly principal: string;
  readonly operator: boolean;
  readonly subject: object;
  readonly session: string;
  readonly token: object | null;
  readonly registry: object | null;
}

async function send(harness: Harness, path: string, name: string, headers: Record<string, string>, args = {}) {
  const response = await harness.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name, arguments: args }, id: 1 }),
  });
  const reply = (await response.json()) as {
    result?: { content: { caller: CallerSeen } };
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
    ['a key without its end', { 'x-api-key': KEY.slice(0, -1) }],
    ['a key with an end too many', { 'x-api-key': `${KEY}x` }],
    ['a key with an end that has no room', { 'x-api-key': `${KEY}\u00e9` }],
    ['a key that differs in one place', { 'x-api-key': `X${KEY.slice(1)}` }],
    ['a wrong key beside the right one', { authorization: `Bearer ${KEY}`, 'x-api-key': 'wrong' }],
    ['another scheme', { authorization: `Basic ${KEY}` }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown token', bearer(UNKNOWN)],
    ['a cut token', bearer(UNKNOWN.slice(0, -1))],
    ['an unknown token beside the right key', { 'x-api-key': KEY, ...asToken(UNKNOWN) }],
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
    knowA1(harness);
    const token = harness.registry.mint('a1');
    const asAgent = { principal: 'tok:a1', operator: false, subject: A1, token: { bound: null, readOnly: false } };
    expect((await echo(harness, bearer(token))).caller).toMatchObject(asAgent);
    expect((await echo(harness, asToken(token))).caller).toMatchObject(asAgent);
    expect((await echo(harness, { 'x-api-key': KEY, ...asToken(token) })).caller).toMatchObject(asAgent);
    expect((await echo(harness, { ...bearer(token), ...asToken(UNKNOWN) })).status).toBe(401);
  });

  test('a token is held to its own limits, inside svc_call as well', async () => {
    const harness = await keyed();
    knowA1(harness);
    const asReader = asToken(harness.registry.mint('a1', { readOnly: true }));
    expect((await send(harness, '/call', 'probe_write', asReader, { amount: 1 })).code).toBe('FORBIDDEN');
    expect((await send(harness, '/call', 'svc_call', asReader, { name: 'probe_write' })).code).toBe('FORBIDDEN');
    expect((await echo(harness, asReader)).status).toBe(200);
    const inProfile = asToken(harness.registry.mint('a1', { profile: 'brain' }));
    expect((await echo(harness, inProfile)).code).toBe('FORBIDDEN');
    expect((await send(harness, '/call', 'svc_call', inProfile, { name: 'probe_echo' })).code).toBe('FORBIDDEN');
  });

  test('whoever is in quarantine reads and does nothing else, by whatever door and also inside svc_call', async () => {
    const harness = await keyed();
    knowA1(harness);
    const headers = asToken(harness.registry.mint('a1'));
    const forOperator = { 'x-api-key': KEY, 'x-svc-agent': 'a1' };
    const write = (how: Record<string, string>, path: '/call' | '/mcp/exec' = '/call') =>
      send(harness, path, 'probe_write', how, { amount: 1 });
    expect([(await write(headers)).status, (await write(forOperator)).status]).toEqual([200, 200]);
    harness.registry.quarantine('a1', true);
    const { length } = harness.probe.deps.ran;
    const refused = { status: 403, code: 'E_QUARANTINED' };
    expect(await write(headers)).toMatchObject(refused);
    expect(await write(headers, '/mcp/exec')).toMatchObject(refused);
    expect(await write(forOperator)).toMatchObject(refused);
    const inner = { name: 'probe_write', args: { amount: 1 } };
    expect(await send(harness, '/call', 'svc_call', headers, inner)).toMatchObject(refused);
    expect(harness.probe.deps.ran).toHaveLength(length);
    expect([(await echo(harness, headers)).status, (await echo(harness, forOperator)).status]).toEqual([200, 200]);
    expect((await write({ 'x-api-key': KEY })).status).toBe(200);
    harness.registry.quarantine('a1', false);
    expect((await write(headers)).status).toBe(200);
  });

  test('a token held to a profile learns of no other tools', async () => {
    const harness = await keyed();
    knowA1(harness);
    const token = harness.registry.mint('a1', { profile: 'gateway' });
    const headers = asToken(token);
    const found = await harness.content<{ count: number }>('tool_search', { query: 'probe', limit: 20 }, headers);
    expect(found.count).toBe(0);
    const described = await harness.content('tool_describe', { names: ['probe_echo', 'nodes_lst'] }, headers);
    expect(described).toMatchObject({ tools: [], unknown: [{ name: 'probe_echo' }, { name: 'nodes_lst' }] });
    expect(JSON.stringify(described).replace('"name":"probe_echo"', '')).not.toContain('probe_');
    const listed = await (await harness.fetch('/tools?profile=full', { headers: bearer(token) })).text();
    expect(listed).toContain('nodes_list');
    expect(listed).not.toContain('probe_');
    const { error } = await harness.tool('probe_ech', {}, headers);
    expect(error?.code).toBe('TOOL_NOT_FOUND');
    expect(error?.message).not.toContain('probe_echo');
  });
});

describe('a token', () => {
  test('is verified from memory until the registry changes, and then at once', async () => {
    const harness = await keyed();
    const { registry } = harness;
    knowA1(harness);
    const token = registry.mint('a1');
    const roles = async () => (await echo(harness, asToken(token))).caller?.subject;
    expect(await roles()).toEqual(A1);
    await roles();
    const before = registry.asked.subject;
    for (let call = 0; call < 20; call += 1) await roles();
    expect(registry.asked.subject).toBe(before);
    registry.grant('a1', 'acme', 'admin');
    expect(await roles()).toMatchObject({ roles: ['admin'] });
    registry.revoke(token, true);
    expect((await echo(harness, asToken(token))).status).toBe(401);
  });

  test('is asked for once by many callers at the same time', async () => {
    const harness = await keyed();
    const { registry } = harness;
    knowA1(harness);
    const token = registry.mint('a1');
    await echo(harness, asToken(token));
    await echo(harness, asToken(token));
    registry.grant('a1', 'gamma', 'viewer');
    const before = { ...registry.asked };
    const statuses = await Promise.all(Array.from({ length: 100 }, () => echo(harness, asToken(token))));
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(registry.asked.subject - before.subject).toBe(1);
  });

  test('that is unknown is asked for once, and what cannot be one never', async () => {
    const harness = await keyed();
    await echo(harness, asToken(UNKNOWN));
    const before = harness.registry.asked.subject;
    for (let call = 0; call < 20; call += 1) {
      expect((await echo(harness, asToken(UNKNOWN))).status).toBe(401);
      expect((await echo(harness, asToken(`svc_${call}`))).status).toBe(401);
    }
    expect(harness.registry.asked.subject).toBe(before);
  });

  test('ends at its time by the clock of the registry', async () => {
    const harness = await keyed();
    knowA1(harness);
    const expiresAt = Date.now() + 1500;
    const token = harness.registry.mint('a1', { expiresAt });
    expect((await echo(harness, asToken(token))).status).toBe(200);
    await until(() => Date.now() >= expiresAt);
    expect((await echo(harness, asToken(token))).status).toBe(401);
  });

  test('is neither good nor bad while the registry does not answer', async () => {
    const harness = await keyed();
    knowA1(harness);
    const token = harness.registry.mint('a1');
    expect((await echo(harness, asToken(token))).status).toBe(200);
    await harness.registry.leave();
    const { status, code, headers } = await echo(harness, asToken(token));
    expect([status, code, Number(headers.get('retry-after')) > 0]).toEqual([503, 'SERVICE_UNAVAILABLE', true]);
    const withoutToken = await echo(harness, { 'x-api-key': KEY });
    expect([withoutToken.status, withoutToken.caller?.registry]).toEqual([200, null]);
    expect((await echo(harness, { 'x-api-key': KEY, 'x-svc-agent': 'a1' })).status).toBe(503);
    await harness.registry.comeBack();
    expect((await echo(harness, asToken(token))).caller?.registry).not.toBeNull();
    expect((await echo(harness, { 'x-api-key': KEY })).caller?.registry).not.toBeNull();
  });

  test('that was used is reported, when the gateway ends at the latest', async () => {
    const harness = await startHarness();
    const used: string[] = [];
    await harness.platform.bus.subscribe(TOKENS_USED, (text) => {
      used.push(...(JSON.parse(text) as { tokenIds: string[] }).tokenIds);
    });
    knowA1(harness);
    const token = harness.registry.mint('a1');
    for (let call = 0; call < 5; call += 1) await echo(harness, asToken(token));
    expect(used).toEqual([]);
    await harness.gateway.close();
    await until(() => used.length > 0);
    expect(used).toHaveLength(1);
    await harness.probe.stop();
    await harness.platform.bus.close();
  });

  test('pays with the plan of its organisation from the next request on', async () => {
    const harness = await keyed({ SVC_RATE_LIMIT: 'on', SVC_PLAN_LIMITS: 'free=7,pro=9', SVC_PLAN: 'enterprise' });
    const { registry } = harness;
    knowA1(harness);
    registry.grant('a2', 'acme', 'viewer');
    const limit = async (token: string) => {
      const { headers } = await echo(harness, asToken(token));
      return [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
    };
    expect(await limit(registry.mint('a1', { org: 'o', plan: 'free' }))).toEqual(['7', '6']);
    expect(await limit(registry.mint('a2', { org: 'o', plan: 'free' }))).toEqual(['7', '5']);
    expect(await limit(registry.mint('a1', { org: 'p', plan: 'pro' }))).toEqual(['9', '8']);
    expect((await limit(registry.mint('a1')))[0]).toBe('6000');
  });
});

describe('a node without a key', () => {
  test('takes every local caller as operator and ignores a bearer that is no token', async () => {
    const harness = await keyless();
    for (const headers of [{}, { authorization: 'Bearer whatever' }, { 'x-api-key': 'whatever' }]) {
      expect((await echo(harness, headers)).caller).toMatchObject({ principal: 'local', operator: true });
    }
    expect((await echo(harness, bearer(UNKNOWN))).status).toBe(401);
  });

  test('does not open to other machines', async () => {
    const platform = createTestPlatform({ environment: { SVC_BIND: '0.0.0.0' } });
    await expect(startGateway(platform)).rejects.toThrow(/SVC_BIND=0\.0\.0\.0 .* SVC_API_KEY/);
  });
});

describe('static access', () => {
  test('asks who is there, and what they may', async () => {
    const harness = await keyed();
    knowA1(harness);
    const token = asToken(harness.registry.mint('a1'));
    const call = (name: string, headers: Record<string, string>, args = {}) =>
      send(harness, '/call', name, headers, args);
    expect((await call('probe_write', token, { amount: 1 })).status).toBe(200);
    expect(await call('probe_admin', token)).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect(await call('probe_admin', { 'x-api-key': KEY, ...token })).toMatchObject({ status: 403 });
    expect((await call('probe_admin', { 'x-api-key': KEY })).status).toBe(200);
    expect((await call('svc_call', token, { name: 'probe_admin' })).code).toBe('FORBIDDEN');
  });
});

describe('the subject', () => {
  const subjectOf = async (harness: Harness, headers: Record<string, string>, args = {}) =>
    (await echo(harness, headers, args)).caller?.subject;

  test('is what an operator declares, and what a token is whatever it declares', async () => {
    const harness = await keyed();
    knowA1(harness);
    const declared = { userId: 'u1', roles: ['admin'], workspace: 'beta' };
    const asOperator = { 'x-api-key': KEY };
    expect(await subjectOf(harness, asOperator, { userCtx: declared })).toEqual(declared);
    expect(await subjectOf(harness, asOperator, { options: { userCtx: declared } })).toEqual(declared);
    expect(await subjectOf(harness, asOperator, { userCtx: { userId: 'u1' } })).toEqual({ userId: 'u1' });
    const ghost = { userId: 'u1', roles: ['admin'], workspace: 'ghost' };
    expect(await subjectOf(harness, asOperator, { userCtx: ghost })).toEqual({ ...ghost, unknownWorkspace: true });

    const token = asToken(harness.registry.mint('a1'));
    const asDeclared = (userCtx: object, headers = token) => subjectOf(harness, headers, { userCtx });
    const inBeta = { ...A1, workspace: 'beta', roles: ['viewer'] };
    expect(await asDeclared({ workspace: 'gamma', roles: ['admin'] })).toEqual({ ...A1, roles: [] });
    expect(await asDeclared({ workspace: 'beta' })).toEqual(inBeta);
    expect(await subjectOf(harness, token, { options: { userCtx: { workspace: 'beta' } } })).toEqual(inBeta);
    expect(await asDeclared({ workspace: 'beta', roles: ['admin'] })).toEqual({ ...inBeta, roles: [] });
    expect(await asDeclared({ roles: ['editor', 'admin'] })).toEqual({ ...A1, roles: ['editor'] });
    expect(await asDeclared({ userId: 'root', team: 't', brain: 'b' })).toEqual(A1);
    expect(await asDeclared({ workspace: 'constructor' })).toEqual(A1);
    expect(await asDeclared({ workspace: 'beta' }, asToken(harness.registry.mint('a1', { bound: 'acme' })))).toEqual(
      A1,
    );
  });

  test('of a node without key is what its caller declares, but never beside a token', async () => {
    const harness = await keyless();
    knowA1(harness);
    const userCtx = { userId: 'root', roles: ['admin'] };
    expect(await subjectOf(harness, {}, { userCtx })).toEqual(userCtx);
    const { caller } = await echo(harness, asToken(harness.registry.mint('a1')), { userCtx });
    expect([caller?.operator, caller?.subject]).toEqual([false, { ...A1, roles: [] }]);
  });

  test('acts in the workspace that its session has set, if it holds a role there', async () => {
    const harness = await keyed();
    const { registry } = harness;
    knowA1(harness);
    const token = asToken(registry.mint('a1'));
    const session = async (headers: Record<string, string>) => (await echo(harness, headers)).caller?.session ?? '';
    registry.setCurrent(await session(token), 'beta');
    registry.setCurrent(await session({ 'x-api-key': KEY }), 'beta');
    expect(await subjectOf(harness, token)).toEqual({ ...A1, workspace: 'beta', roles: ['viewer'] });
    expect(await subjectOf(harness, token, { userCtx: { workspace: 'acme' } })).toEqual(A1);
    expect(await subjectOf(harness, { ...token, 'x-svc-session': 'other' })).toEqual(A1);
    expect(await subjectOf(harness, { 'x-api-key': KEY })).toEqual({ workspace: 'beta' });
    registry.grant('a1', 'beta');
    expect(await subjectOf(harness, token)).toEqual(A1);
  });

  test('of nobody is anonymous, whatever it declares', async () => {
    const harness = await keyed();
    expect(await subjectOf(harness, { 'x-api-key': KEY })).toEqual({ workspace: 'default' });
    const { caller, status } = await send(harness, '/mcp/exec', 'probe_echo', {}, { userCtx: { userId: 'root' } });
    expect([status, caller]).toEqual([401, undefined]);
  });

  test('is the agent that an operator works for when the registry knows it', async () => {
    const harness = await keyed({ SVC_AGENT_ID: 'house' });
    harness.registry.grant('house', 'acme', 'viewer');
    harness.registry.grant('a2', 'beta', 'editor');
    const as = (headers: Record<string, string>) => subjectOf(harness, { 'x-api-key': KEY, ...headers });
    expect(await as({})).toEqual({
      userId: 'house',
      agentId: 'house',
      workspace: 'acme',
      roles: ['viewer'],
      family: 'house',
    });
    expect(await as({ 'x-svc-agent': 'a2' })).toMatchObject({ agentId: 'a2', workspace: 'beta' });
    expect(await as({ 'x-svc-agent': 'ghost' })).toEqual({ workspace: 'default' });
    expect(await as({ 'x-svc-agent': 'no id at all' })).toEqual({ workspace: 'default' });
    const token = asToken(harness.registry.mint('a2'));
    expect(await subjectOf(harness, { ...token, 'x-svc-agent': 'house' })).toMatchObject({ agentId: 'a2' });
    harness.registry.grant('a2', 'beta');
    expect(await as({ 'x-svc-agent': 'a2' })).toEqual({ workspace: 'default' });
  });
});

test('one session name opens different sessions for different callers', async () => {
  const harness = await keyed();
  const { registry } = harness;
  knowA1(harness);
  registry.grant('a2', 'acme', 'viewer');
  const session = async (headers: Record<string, string>) => (await echo(harness, headers)).caller?.session;
  const named = { 'x-svc-session': 's1' };
  const sessions = [
    await session({ 'x-api-key': KEY, ...named }),
    await session({ 'x-api-key': KEY }),
    await session({ ...asToken(registry.mint('a1')), ...named }),
    await session({ ...asToken(registry.mint('a2')), ...named }),
    await session({ ...asToken(registry.mint('a1', { bound: 'acme' })), ...named }),
  ];
  expect(new Set(sessions).size).toBe(5);
  expect(await session({ 'x-api-key': KEY, ...named })).toBe(sessions[0]);
  expect(await session({ ...asToken(registry.mint('a1')), ...named })).toBe(sessions[2]);
  expect(await session({ ...asToken(registry.mint('a1', { bound: 'acme' })), ...named })).toBe(sessions[4]);
});
