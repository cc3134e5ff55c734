/** Tokens and the rights behind them, over replicas, races and restarts. */
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { storedRows } from '../instruments/stored-rows.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { logsOf, type TargetPlace } from '../targets/target.ts';
import { KEYED, newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

/** An operator that calls another gateway each time. */
function roundRobin(place: TargetPlace): (tool: string, args?: Fields) => Promise<Fields> {
  const caller = new Caller(place);
  let turn = 0;
  return (tool, args = {}) => {
    turn += 1;
    return caller.ok(tool, args, { gateway: turn });
  };
}

async function mint(place: TargetPlace, agentId: string, options: Fields = {}): Promise<string> {
  const { token } = await new Caller(place).ok('svc_habitat_mintToken', { agentId, ...options });
  return String(token);
}

verifies('habitat:tokens:follow-roles', async ({ place }) => {
  const call = roundRobin(place);
  const [workspaceId, userId] = [newName('w'), newName('u')];
  await call('svc_habitat_createWorkspace', { workspaceId });
  const grant = { workspaceId, userId };
  await call('svc_habitat_addRole', { ...grant, role: 'viewer' });
  const token = await mint(place, userId);
  const rolesSeen = async () => {
    const { valid, subject } = await call('svc_habitat_verifyToken', { token });
    return valid === true ? (subject as Fields).roles : null;
  };
  for (let round = 0; round < 20; round += 1) {
    await call('svc_habitat_addRole', { ...grant, role: 'admin' });
    expect(await rolesSeen()).toEqual(['admin', 'viewer']);
    await call('svc_habitat_removeRole', { ...grant, role: 'admin' });
    expect(await rolesSeen()).toEqual(['viewer']);
  }
  await call('svc_habitat_removeRole', { ...grant, role: 'viewer' });
  expect(await rolesSeen()).toBeNull();
  await call('svc_habitat_addRole', { ...grant, role: 'viewer' });
  expect(await rolesSeen()).toBeNull();
});

verifies('habitat:roles:self-promotion', async ({ keyed: place }) => {
  const operator = new Caller(place);
  const [workspaceId, other] = [newName('w'), newName('w')];
  await operator.ok('svc_habitat_createWorkspace', { workspaceId });
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: other });
  const members = [
    [newName('viewer'), workspaceId, 'viewer'],
    [newName('editor'), workspaceId, 'editor'],
    [newName('stranger'), other, 'admin'],
  ] as const;
  for (const [userId, where, role] of members)
    await operator.ok('svc_habitat_addRole', { workspaceId: where, userId, role });
  const nobody = newName('nobody');
  await new Caller(place, { key: null }).fails('UNAUTHORIZED', 'svc_habitat_addRole', {
    workspaceId,
    userId: nobody,
    role: 'admin',
  });
  for (const [userId] of members) {
    const self = callerOf(place, await mint(place, userId));
    await self.fails('FORBIDDEN', 'svc_habitat_addRole', { workspaceId, userId, role: 'admin' });
  }
  for (const [userId, where, role] of [...members, [nobody, workspaceId, null] as const]) {
    const { roles } = await operator.ok<{ roles: string[] }>('svc_habitat_getUserRoles', { workspaceId, userId });
    expect(roles).toEqual(where === workspaceId && role !== null ? [role] : []);
  }
  const wanted = new Map<string, string>(members.map(([userId]) => [`tok:${userId}`, 'FORBIDDEN']));
  await waitFor(
    async () => {
      const { entries } = await operator.ok('svc_audit_list', { event: 'call:denied', limit: 200 });
      const said = (entries as Fields[]).map(({ data }) => data as { principal: string; code: string; count: number });
      const mine = said.filter(({ principal }) => wanted.has(principal));
      const anonymous = said.filter(({ principal, code }) => principal.startsWith('anon:') && code === 'UNAUTHORIZED');
      const each = mine.every(({ principal, code, count }) => code === wanted.get(principal) && count === 1);
      return mine.length === wanted.size && anonymous.length >= 1 && each ? true : null;
    },
    { what: 'an audit entry of each denial' },
  );
});

verifies('habitat:tokens:admin-mint', async ({ place }) => {
  const operator = new Caller(place);
  const [red, blue] = [newName('t').replaceAll('-', ''), newName('t').replaceAll('-', '')];
  const spawn = async (team: string) => {
    const { agentId } = await operator.ok('agent_spawn', { team, name: 'one' });
    return String(agentId);
  };
  const [admin, guest] = [await spawn(red), await spawn(blue)];
  const [workspaceId, away] = [`org-${red}`, `org-${blue}`];
  const asAdmin = callerOf(place, await mint(place, admin));
  const bob = newName('bob');
  const own = await spawn(red);
  await asAdmin.ok('svc_habitat_addRole', { workspaceId, userId: bob, role: 'viewer' });
  await asAdmin.fails('FORBIDDEN', 'svc_habitat_mintToken', { agentId: bob });
  await asAdmin.ok('svc_habitat_addRole', { workspaceId, userId: guest, role: 'viewer' });
  await asAdmin.fails('FORBIDDEN', 'svc_habitat_mintToken', { agentId: guest });
  await operator.ok('svc_habitat_addRole', { workspaceId: away, userId: own, role: 'viewer' });
  const minted = await asAdmin.ok('svc_habitat_mintToken', { agentId: own });
  expect(minted).toMatchObject({ bound: true, workspace: workspaceId });
  const bound = callerOf(place, String(minted.token));
  const resource = newName('doc');
  await operator.ok('svc_habitat_setPolicy', { resource, policy: { container: away, readableBy: ['role:viewer'] } });
  const can = (caller: Caller) => caller.ok('svc_habitat_can', { resource, userCtx: { workspace: away } });
  expect(await can(bound)).toMatchObject({ allowed: false, workspace: workspaceId });
  expect(await can(callerOf(place, await mint(place, own)))).toMatchObject({ allowed: true, workspace: away });
});

verifies('habitat:tokens:verify-anything', async ({ place }) => {
  const operator = new Caller(place);
  const { token: application } = await operator.ok('auth_create', { userId: newName('u') });
  const replies = new Set<string>();
  for (const token of ['', 17, null, `svc_${'a'.repeat(63)}`, application]) {
    const reply = await operator.call('svc_habitat_verifyToken', { token });
    expect(reply.status).toBe(200);
    replies.add(reply.text);
  }
  expect([...replies]).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"content":{"valid":false}}}']);
});

verifies('habitat:workspaces:race', async ({ place }) => {
  const operator = new Caller(place);
  const workspaceId = newName('race');
  const racers = Array.from({ length: 50 }, (_, index) => `${workspaceId}-u${index}`);
  const tokens = await Promise.all(
    racers.map(async (userId) => {
      await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId, role: 'viewer' });
      return mint(place, userId);
    }),
  );
  const codes = await Promise.all(
    tokens.map((token, gateway) => answerOf(callerOf(place, token).with({ gateway }), workspaceId)),
  );
  const told = Object.entries(Object.groupBy(codes, String)).map(([code, each]) => [code, each?.length]);
  expect(Object.fromEntries(told)).toEqual({ null: 1, HABITAT_WORKSPACE_EXISTS: 49 });
  const roles = await Promise.all(
    racers.map((userId) => operator.ok<{ roles: string[] }>('svc_habitat_getUserRoles', { workspaceId, userId })),
  );
  expect(roles.flatMap(({ roles: held }) => held)).toEqual(['admin']);
});

const TRY_AGAIN = ['SERVICE_UNAVAILABLE', 'E_BUSY'];

/** The code of the answer; a caller that is told to come back does. */
async function answerOf(caller: Caller, workspaceId: string): Promise<string | null> {
  for (;;) {
    const code = codeOf(await caller.call('svc_habitat_createWorkspace', { workspaceId }));
    if (code === null || !TRY_AGAIN.includes(code)) return code;
    await delay(200);
  }
}

verifies('habitat:tokens:ttl', async ({ place }) => {
  const operator = new Caller(place);
  const userId = newName('u');
  await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId, role: 'viewer' });
  for (const ttlMs of [0, -1, 1.5, 2_592_000_001, '1000']) {
    await operator.fails('VAF_INPUT_INVALID', 'svc_habitat_mintToken', { agentId: userId, ttlMs });
  }
  const longest = await operator.ok('svc_habitat_mintToken', { agentId: userId, ttlMs: 2_592_000_000 });
  expect(Number(longest.expiresAt) - Number(longest.mintedAt)).toBe(2_592_000_000);
  const short = await operator.ok('svc_habitat_mintToken', { agentId: userId, ttlMs: 1 });
  expect(Number(short.expiresAt) - Number(short.mintedAt)).toBe(1);
  await delay(2);
  expect(await operator.ok('svc_habitat_verifyToken', { token: short.token })).toEqual({ valid: false });
});

const target = ownTarget(KEYED, { apart: REGISTRY_APART });

verifies(
  ['habitat:tokens:stored-hash', 'auth:no-secret'],
  async ({ report }) => {
    const { place, gateways, habitats } = target.get();
    const operator = new Caller(place);
    const userId = newName('u');
    await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId, role: 'admin' });
    const listener = await EventSocket.connect(operator.url(), { auth: { apiKey: place.key ?? '' } });
    const keyed = { headers: { 'idempotency-key': newName('k') } };
    const minted = await operator.ok('svc_habitat_mintToken', { agentId: userId }, keyed);
    const again = await operator.ok('svc_habitat_mintToken', { agentId: userId }, keyed);
    expect([again.token, again.replayed, again.tokenId]).toEqual([null, true, minted.tokenId]);
    const application = await operator.ok('auth_create', { userId, roles: ['admin'] });
    const raws = [String(minted.token), String(application.token)];
    await callerOf(place, raws[0] ?? '').ok('svc_habitat_status');
    await operator.ok('auth_verify', { token: raws[1] });
    await operator.ok('auth_require', { token: raws[1], permission: 'write' });
    await operator.ok('svc_habitat_revokeToken', { tokenOrHash: raws[0] });
    await listener.until(
      'token:revoked',
      ({ name, tokenId }) => name === 'token:revoked' && tokenId === minted.tokenId,
    );
    const heard = JSON.stringify(listener.heard);
    listener.close();
    await Promise.all([...new Set([...gateways, ...habitats])].map((one) => one.stop()));
    const rows = await storedRows(place);
    const logs = logsOf(place);
    for (const raw of raws) {
      const secret = raw.slice(raw.indexOf('_') + 1);
      expect([heard.includes(secret), logs.includes(secret)]).toEqual([false, false]);
      expect(rows.filter((row) => row.includes(secret))).toEqual([]);
      const digest = hash('sha256', raw, 'hex');
      const holding = rows.filter((row) => row.includes(digest)).map((row) => row.split(' ')[0]);
      expect(holding).toEqual(['habitat.tokens']);
    }
    report(`${rows.length} rows and ${logs.length} characters of logs hold no raw token`);
  },
  { on: target },
);
