/** Tokens at the doors: whose they are, what they may, and that what ended is over. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields, sendTo } from '../client.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import { REVOKED_TOKENS } from '../settings.ts';
import { API_KEY, logsOf } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

verifies('tokens:beside-key', async ({ keyed: place }) => {
  const { workspace, ids } = await workspaceWith(place, 'viewer', 'admin');
  const withKey = (token: string) => new Caller(place, { key: API_KEY, headers: { 'x-habitat-token': token } });
  const grant = { workspaceId: workspace, userId: `u-${workspace}`, role: 'viewer' };
  await withKey(await mint(place, ids[0])).fails('FORBIDDEN', 'svc_habitat_addRole', grant);
  expect(await withKey(await mint(place, ids[1])).ok('svc_habitat_addRole', grant)).toMatchObject({ added: true });
  expect(await new Caller(place).ok('svc_habitat_removeRole', grant)).toMatchObject({ removed: true });
});

verifies('tokens:invalid', async ({ keyed: place }) => {
  const { ids } = await workspaceWith(place, 'viewer');
  const good = await mint(place, ids[0]);
  const revoked = await mint(place, ids[0]);
  const expired = await mint(place, ids[0], { ttlMs: 1 });
  const operator = new Caller(place);
  expect(await operator.ok('svc_habitat_revokeToken', { tokenOrHash: revoked })).toEqual({ revoked: true });
  await delay(5);
  expect((await callerOf(place, good).call('svc_habitat_status')).status).toBe(200);
  for (const token of [revoked, expired, good.slice(0, -1), good.toUpperCase(), `svc_${'0'.repeat(64)}`]) {
    for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-habitat-token': token }, beside(token)]) {
      for (const door of ['/call', '/mcp/exec'] as const) {
        const reply = await new Caller(place, { key: null, headers }).call('svc_habitat_status', {}, { door });
        expect([reply.status, reply.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
      }
      const { status } = await sendTo(`${operator.url()}/tools`, { method: 'GET', headers });
      expect(status).toBe(401);
    }
    await expect(EventSocket.connect(operator.url(), { auth: { token } })).rejects.toMatchObject({
      data: { code: 'UNAUTHORIZED' },
    });
    expect(await operator.ok('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
  }
  expect(await operator.ok('svc_habitat_verifyToken', { token: good })).toMatchObject({ valid: true });
});

function beside(token: string): Record<string, string> {
  return { 'x-api-key': API_KEY, 'x-habitat-token': token };
}

verifies('tokens:declared-context', async ({ place }) => {
  const acme = await workspaceWith(place, 'viewer');
  const beta = await workspaceWith(place, 'admin');
  const operator = new Caller(place);
  const resource = newName('doc');
  const policy = { container: beta.workspace, readableBy: ['role:admin'], writableBy: ['role:admin'] };
  await operator.ok('svc_habitat_setPolicy', { resource, policy });
  const token = callerOf(place, await mint(place, acme.ids[0]));
  const can = (userCtx: Fields | undefined, caller = token) =>
    caller.ok('svc_habitat_can', { resource, ...(userCtx === undefined ? {} : { userCtx }) });
  const spoofed = { workspace: beta.workspace, roles: ['admin'], userId: beta.ids[0] };
  expect(await can(spoofed)).toMatchObject({ allowed: false, workspace: acme.workspace, verified: true });
  expect(await can({ userId: beta.ids[0] })).toMatchObject({ allowed: false, workspace: acme.workspace });
  expect(await can(undefined)).toMatchObject({ allowed: false, workspace: acme.workspace });
  expect(await can(spoofed, operator)).toMatchObject({ allowed: true, workspace: beta.workspace, verified: false });
  expect(await can({ ...spoofed, workspace: newName('ghost') }, operator)).toMatchObject({ allowed: false });
  await operator.ok('svc_habitat_addRole', {
    workspaceId: beta.workspace,
    userId: acme.ids[0] ?? '',
    role: 'admin',
  });
  expect(await can({ workspace: beta.workspace })).toMatchObject({ allowed: true, workspace: beta.workspace });
  expect(await can({ workspace: beta.workspace, roles: ['viewer'] })).toMatchObject({ allowed: false });
});

verifies('tokens:sessions', async ({ place }) => {
  const acme = await workspaceWith(place, 'viewer', 'editor');
  const session = newName('s1');
  const named = { session, key: null };
  const [one, other] = await Promise.all(
    acme.ids.map(async (id) => {
      return new Caller(place, { ...named, headers: { 'x-habitat-token': await mint(place, id) } });
    }),
  );
  const operator = new Caller(place, { session });
  const current = async (caller: Caller | undefined) => (await caller?.ok('svc_habitat_status'))?.currentWorkspace;
  const before = [await current(operator), await current(other)];
  await one?.ok('svc_habitat_setWorkspace', { workspaceId: acme.workspace });
  expect([await current(operator), await current(other)]).toEqual(before);
  expect(await current(operator)).toBe('default');
  await operator.ok('svc_habitat_setWorkspace', { workspaceId: acme.workspace });
  expect(await current(operator)).toBe(acme.workspace);
  expect(await current(new Caller(place))).toBe('default');
});

verifies(['tokens:profile', 'tokens:read-only'], async ({ place }) => {
  const { ids } = await workspaceWith(place, 'editor');
  const held = callerOf(place, await mint(place, ids[0], { profile: 'brain' }));
  await held.fails('FORBIDDEN', 'svc_habitat_status');
  await held.fails('FORBIDDEN', 'svc_call', { name: 'svc_habitat_status' });
  await held.ok('brain_list');
  await held.ok('svc_call', { name: 'brain_list' });
  const found = await held.ok<{ tools: { name: string }[] }>('tool_search', { query: 'habitat workspace', limit: 20 });
  expect(found.tools.filter(({ name }) => name.startsWith('svc_habitat'))).toEqual([]);
  const described = await held.ok('tool_describe', { names: ['svc_habitat_status', 'brain_list'] });
  expect(described).toMatchObject({ tools: [{ name: 'brain_list' }], unknown: [{ name: 'svc_habitat_status' }] });
  const listed = (await held.get('/tools?profile=full')).text;
  expect([listed.includes('"brain_list"'), listed.includes('svc_habitat_')]).toEqual([true, false]);

  const raw = await mint(place, ids[0], { readOnly: true });
  const reader = callerOf(place, raw);
  await reader.ok('brain_list');
  const write = { name: newName('f'), content: 'x' };
  await reader.fails('FORBIDDEN', 'brain_write', write);
  await reader.fails('FORBIDDEN', 'svc_call', { name: 'brain_write', args: write });
  expect(await reader.ok('svc_habitat_revokeToken', { tokenOrHash: raw })).toEqual({ revoked: true });
  await reader.fails('UNAUTHORIZED', 'brain_list');
});

const LANES = 8;

verifies(
  ['tokens:revoked-at-once', 'tokens:secret'],
  async ({ place, report }) => {
    const { ids } = await workspaceWith(place, 'viewer');
    const operator = new Caller(place);
    const minted: string[] = [];
    const outcomes = { good: 0, refused: 0, others: [] as string[] };
    await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        for (let trial = lane; trial < REVOKED_TOKENS; trial += LANES) {
          const token = await mint(place, ids[0]);
          minted.push(token);
          const caller = callerOf(place, token);
          const before = await Promise.all([0, 1].map((gateway) => caller.call('nodes_list', {}, { gateway })));
          if (before.every(({ status }) => status === 200)) outcomes.good += 1;
          await operator.ok('svc_habitat_revokeToken', { tokenOrHash: token }, { gateway: trial });
          const after = await caller.call('nodes_list', {}, { gateway: trial + 1 });
          if (after.status === 401) outcomes.refused += 1;
          else outcomes.others.push(`${after.status} ${after.text.slice(0, 200)}`);
        }
      }),
    );
    expect(outcomes).toEqual({ good: REVOKED_TOKENS, refused: REVOKED_TOKENS, others: [] });
    const said = logsOf(place);
    expect(minted.filter((token) => said.includes(token))).toEqual([]);
    report(`${REVOKED_TOKENS} tokens revoked through one gateway and refused by the next request to another`);
  },
  { timeoutMs: 300_000 },
);

verifies('tokens:roles-at-once', async ({ place }) => {
  const acme = await workspaceWith(place, 'viewer');
  const beta = await workspaceWith(place);
  const [userId = ''] = acme.ids;
  const operator = new Caller(place);
  const caller = callerOf(place, await mint(place, userId));
  const userCtx = { workspace: beta.workspace };
  const workspaceOf = async (gateway: number) =>
    (await caller.ok('svc_habitat_can', { resource: 'doc', userCtx }, { gateway })).workspace;
  const role = { workspaceId: beta.workspace, userId, role: 'viewer' };
  for (let round = 0; round < 50; round += 1) {
    await operator.ok('svc_habitat_addRole', role, { gateway: round });
    expect(await workspaceOf(round + 1)).toBe(beta.workspace);
    await operator.ok('svc_habitat_removeRole', role, { gateway: round });
    expect(await workspaceOf(round + 1)).toBe(acme.workspace);
  }
});

verifies('tokens:plan', async ({ gateways }) => {
  const limited = { ...KEYED, SVC_RATE_LIMIT: 'on', SVC_PLAN_LIMITS: 'free=50,pro=70' };
  const place = await gateways(1, limited);
  const { ids } = await workspaceWith(place, 'viewer', 'editor');
  const operator = new Caller(place);
  const callers = await Promise.all(ids.map(async (id) => callerOf(place, await mint(place, id))));
  const window = async (caller: Caller | undefined) => {
    const reply = await caller?.call('nodes_list');
    return ['limit', 'remaining'].map((field) => Number(reply?.headers[`x-ratelimit-${field}`]));
  };
  expect((await window(callers[0]))[0]).toBe(6000);
  const { id: org } = await operator.ok('teams_createOrg', { name: newName('o') });
  for (const agentId of ids) await operator.ok('teams_assign', { agentId, org });
  expect(await window(callers[0])).toEqual([50, 49]);
  expect(await window(callers[1])).toEqual([50, 48]);
});

const DENIALS = 500;

verifies('tokens:denials', async ({ place: shared, gateways }) => {
  const own = shared.kind === 'cluster' ? await gateways(1, KEYED) : null;
  const place = own ?? shared;
  const { workspace, ids } = await workspaceWith(place, 'viewer', 'admin');
  const viewer = callerOf(place, await mint(place, ids[0]));
  const admin = callerOf(place, await mint(place, ids[1]));
  const grant = { workspaceId: workspace, userId: ids[0] ?? '', role: 'admin' };
  await viewer.fails('FORBIDDEN', 'svc_habitat_addRole', grant);
  const entries = async (from = admin) => {
    const { entries: found } = await from.ok('svc_audit_list', { workspace, event: 'call:denied' });
    return found as { data: { principal: string; tool: string; code: string; count: number } }[];
  };
  await waitFor(async () => (await entries()).length === 1, { what: 'the first entry' });
  const expected = { principal: `tok:${ids[0]}`, tool: 'svc_habitat_addRole', code: 'FORBIDDEN', count: 1 };
  expect(await entries()).toMatchObject([{ data: expected, subject: { agentId: ids[0], verified: true } }]);
  await Promise.all(Array.from({ length: DENIALS - 1 }, () => viewer.call('svc_habitat_addRole', grant)));
  if (own === null) return;
  await Promise.all(own.processes.map((one) => one.stop()));
  const counts = (await entries(callerOf(shared, await mint(shared, ids[1])))).map(({ data }) => data.count);
  expect([counts.length, counts.reduce((sum, count) => sum + count, 0)]).toEqual([2, DENIALS]);
});
