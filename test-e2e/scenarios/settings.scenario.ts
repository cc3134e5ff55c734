/** Settings are changed while everything runs. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { API_KEY, logsOf, type TargetPlace } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({ SVC_API_KEY: API_KEY, SVC_MARKET_SKILLS_TRADE_TTL_MS: '5000' }, { fresh: {}, apart: [] });
const on = { on: target };
const ROUNDS = 10;

verifies(
  'settings:next-call',
  async ({ place }) => {
    const gateways = [0, 1].map((gateway) => new Caller(place, { gateway }));
    const [one, other] = gateways as [Caller, Caller];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const set = await one.ok('svc_config_set', { key: 'sudo.ttlMs', value: 1000 * round });
      expect(set).toMatchObject({
        key: 'sudo.ttlMs',
        value: 1000 * round,
        status: 'set',
        persisted: true,
        changed: true,
      });
      for (const caller of gateways) {
        // Each call gets to any of the replicas; each of them has to know.
        const shown = await Promise.all(
          Array.from({ length: 4 }, () => caller.ok('svc_config_get', { key: 'sudo.ttlMs' })),
        );
        expect(shown.map(({ value, source }) => ({ value, source }))).toEqual(
          shown.map(() => ({ value: 1000 * round, source: 'node' })),
        );
      }
      const { taskId } = await other.ok('svc_sudo_createTask');
      const asked = Date.now();
      const { expiresAt } = await other.ok('svc_sudo_grant', { taskId, scope: 'exec' });
      expect(Number(expiresAt) - asked).toBeGreaterThanOrEqual(1000 * round - 50);
      expect(Number(expiresAt) - Date.now()).toBeLessThanOrEqual(1000 * round + 50);
    }
    expect(await one.ok('svc_config_set', { key: 'sudo.ttlMs', value: null })).toMatchObject({
      value: 600_000,
      source: 'default',
      changed: true,
    });
  },
  on,
);

verifies(
  'settings:types',
  async ({ place }) => {
    const operator = new Caller(place);
    const set = (key: string, value: unknown) => operator.ok('svc_config_set', { key, value });
    expect(await set('mcp.requireKey', 'false')).toMatchObject({ value: false });
    expect(await set('mcp.requireKey', null)).toMatchObject({ value: null, source: 'default' });
    expect(await set('habitat.maxAgents', '250')).toMatchObject({ value: 250 });
    await set('habitat.maxAgents', null);
    const bad: [string, unknown][] = [
      ['mcp.requireKey', 'maybe'],
      ['habitat.maxAgents', 0],
      ['habitat.maxAgents', 1.5],
      ['habitat.maxAgents', { value: 1 }],
      ['profiles.mine', 'svc_search'],
    ];
    for (const [key, value] of bad) await operator.fails('VAF_INPUT_INVALID', 'svc_config_set', { key, value });
    await operator.fails('VAF_INPUT_INVALID', 'svc_config_set', { key: 'mcp.requireKey' });
    for (const key of ['__proto__.x', 'a..b', 'profiles.full', 'sync.such', 'habitat.maxagents']) {
      const refused = await operator.refused('E_CONFIG_KEY', 'svc_config_set', { key, value: 1 });
      expect(refused).toMatchObject({ key, persisted: false });
    }
    const { nearest } = await operator.refused('E_CONFIG_KEY', 'svc_config_set', {
      key: 'habitat.maxagents',
      value: 1,
    });
    expect(nearest).toContain('habitat.maxAgents');
    expect(await operator.ok('svc_config_get', { key: 'no.such' })).toMatchObject({ value: null, source: null });
    await operator.fails('BRAIN_LOAD_FAIL', 'svc_config_get', { key: 'sudo.ttlMs', brain: newName('b') });
  },
  on,
);

verifies(
  'settings:secrets',
  async ({ place }) => {
    const canary = newName('canary');
    const operator = new Caller(place);
    for (const key of ['host.token', 'mail.password', 'a.b.secret', 'token']) {
      const reply = await operator.call('svc_config_set', { key, value: canary });
      expect(reply.body.result).toMatchObject({ content: { code: 'E_CONFIG_SECRET', key, persisted: false } });
      expect(reply.text).not.toContain(canary);
    }
    const { config } = await operator.ok('svc_config_get');
    expect(JSON.stringify(config)).not.toContain(canary);
    expect(JSON.stringify(await operator.ok('svc_audit_list', { limit: 200 }))).not.toContain(canary);
    expect(logsOf(place)).not.toContain(canary);
    // By its declaration it is none, though a part of it is called key.
    expect(await operator.ok('svc_config_get', { key: 'mcp.requireKey' })).toMatchObject({ masked: false });
  },
  on,
);

verifies(
  ['settings:operators', 'settings:told'],
  async ({ place, socket }) => {
    const operator = new Caller(place);
    const { workspace, members } = await createMembers(place, 'admin', 'viewer');
    const admin = memberAt({ workspace, members }, 0).caller;
    const [theirs, ours] = [await socket({ auth: { token: await tokenOf(operator, members[0]?.id) } }), await socket()];
    const key = 'habitat.maxAgents';
    await admin.fails('FORBIDDEN', 'svc_config_set', { key, value: 1 });
    expect(await admin.ok('svc_config_get', { key })).toMatchObject({ value: 200, source: 'default' });
    expect(await admin.ok('svc_config_get')).toMatchObject({ config: { [key]: 200, 'sudo.ttlMs': 600_000 } });
    await operator.ok('svc_config_set', { key, value: 201 });
    await operator.ok('svc_config_set', { key, value: 201 });
    await operator.ok('svc_config_set', { key, value: null });
    const heard = () => ours.heard.filter((event) => event.name === 'config:changed' && event['key'] === key);
    await waitFor(() => heard().length === 2, { what: 'two changes to be told' });
    expect(heard()[0]).toMatchObject({ key, by: 'operator' });
    expect(Object.keys(heard()[0] ?? {})).not.toContain('value');
    expect(theirs.heard.filter(({ name }) => name === 'config:changed')).toEqual([]);
    const entries = async () => {
      const found = await operator.ok<{ entries: { data: Fields }[] }>('svc_audit_list', { event: 'config:changed' });
      return found.entries.map(({ data }) => data).filter(({ setting }) => setting === key);
    };
    await waitFor(async () => (await entries())[0]?.['previous'] === 201, { what: 'the changes in the audit' });
    expect((await entries()).slice(0, 2)).toEqual([
      { setting: key, value: null, previous: 201, by: 'operator' },
      { setting: key, value: 201, previous: null, by: 'operator' },
    ]);
  },
  on,
);

verifies(
  'settings:keyed',
  async ({ place }) => {
    const key = newName('once');
    const operators = [0, 1].map((gateway) => new Caller(place, { gateway, headers: { 'idempotency-key': key } }));
    const set = (value: number) => operators.map((one) => one.call('svc_config_set', { key: 'sudo.ttlMs', value }));
    const replies = await Promise.all([...set(30_000), ...set(30_000)]);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers['idempotency-replayed'] === 'true')).toHaveLength(3);
    for (const reply of await Promise.all(set(40_000))) {
      expect(reply.body.error?.code).toBe('IDEMPOTENCY_KEY_REUSED');
    }
    await new Caller(place).ok('svc_config_set', { key: 'sudo.ttlMs', value: null });
  },
  on,
);

verifies(
  'settings:environment',
  async ({ place }) => {
    const operator = new Caller(place);
    const key = 'market.skillsTradeTtlMs';
    expect(await operator.ok('svc_config_get', { key })).toMatchObject({ value: 5000, source: 'flag' });
    expect(await operator.ok('svc_config_set', { key, value: 6000 })).toMatchObject({
      value: 5000,
      source: 'flag',
      changed: false,
      persisted: true,
      shadowedBy: 'flag',
    });
    expect(await operator.ok('svc_config_set', { key, value: 5000 })).toMatchObject({ shadowedBy: null });
    expect(await operator.ok('svc_config_get', { key })).toMatchObject({ value: 5000, source: 'flag' });
  },
  on,
);

verifies(
  'settings:require-key',
  async ({ place }) => {
    const operator = new Caller(place);
    const nobody = [0, 1].map((gateway) => new Caller(place, { gateway, key: null }));
    const ask = (door: '/call' | '/mcp/exec') =>
      Promise.all(nobody.map(async (one) => codeOf(await one.call('tool_search', { query: 'search' }, { door }))));
    for (const [value, code] of [
      [null, 'UNAUTHORIZED'],
      [false, null],
      [true, 'UNAUTHORIZED'],
      [false, null],
      [null, 'UNAUTHORIZED'],
    ] as const) {
      await operator.ok('svc_config_set', { key: 'mcp.requireKey', value });
      expect([value, await ask('/mcp/exec')]).toEqual([value, [code, code]]);
      expect([value, await ask('/call')]).toEqual([value, ['UNAUTHORIZED', 'UNAUTHORIZED']]);
    }
  },
  on,
);

verifies(
  'settings:profiles',
  async ({ place }) => {
    const operator = new Caller(place);
    const name = newName('p').replaceAll('-', '');
    const lists = async () => {
      const replies = await Promise.all(
        [0, 1].map((gateway) => new Caller(place, { gateway }).get(`/tools?profile=${name}`)),
      );
      return replies.map(({ body }) => (body as { tools?: { name: string }[] }).tools?.map((tool) => tool.name));
    };
    expect(await lists()).toEqual([undefined, undefined]);
    const { id, token } = await heldTo(place, name);
    expect(codeOf(await token.call('escrow_status'))).toBe('FORBIDDEN');
    for (const tools of [['escrow_status'], ['svc_health', 'escrow_stat*'], ['svc_health']]) {
      await operator.ok('svc_config_set', { key: `profiles.${name}`, value: tools });
      const shown = tools.map((tool) => tool.replace('*', 'us')).toSorted();
      expect(await lists()).toEqual([shown, shown]);
      const codes = await Promise.all(
        [0, 1].map(async (gateway) => codeOf(await token.call('escrow_status', {}, { gateway }))),
      );
      const code = shown.includes('escrow_status') ? null : 'FORBIDDEN';
      expect([id, tools, codes]).toEqual([id, tools, [code, code]]);
    }
    await operator.ok('svc_config_set', { key: `profiles.${name}`, value: null });
    expect(await lists()).toEqual([undefined, undefined]);
  },
  on,
);

verifies(
  'settings:money',
  async ({ place }) => {
    const operator = new Caller(place);
    const gateways = [0, 1].map((gateway) => new Caller(place, { gateway }));
    const { workspace, members } = await createMembers(place, 'admin');
    const { id } = memberAt({ workspace, members }, 0);
    await operator.ok('escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 100, adminId: id });
    const args = { workspaceId: workspace, agentId: id, amount: 1 };
    // Each call gets to any of the ledgers.
    const draws = () =>
      Promise.all([...gateways, ...gateways].map((one) => one.call('escrow_workspaceRecordSpend', args)));
    const codes = async () =>
      (await draws()).map(({ body }) => (body.result?.content as Fields | undefined)?.['code'] ?? null);
    expect(await codes()).toEqual([null, null, null, null]);
    await operator.ok('svc_config_set', { key: 'escrow.runawayPerMinute', value: 4 });
    expect(await codes()).toEqual(Array.from({ length: 4 }, () => 'E_RUNAWAY'));
    await operator.ok('svc_config_set', { key: 'escrow.runawayPerMinute', value: null });
    expect(await codes()).toEqual([null, null, null, null]);
    for (const value of [3, 12]) {
      await operator.ok('svc_config_set', { key: 'escrow.defaultBudget', value });
      const made = await Promise.all(
        gateways.map((one) => one.ok('escrow_create', { org: newName('org') }).then(({ budget }) => budget)),
      );
      expect(made).toEqual(made.map(() => expect.objectContaining({ limit: value })));
    }
    await operator.ok('svc_config_set', { key: 'escrow.defaultBudget', value: null });
  },
  on,
);

verifies(
  'settings:log',
  async ({ place }) => {
    const operator = new Caller(place);
    const [before, during] = [newName('before'), newName('during')];
    const lineOf = (requestId: string) =>
      logsOf(place)
        .split('\n')
        .find((line) => line.includes(requestId));
    await operator.ok('svc_health', {}, { headers: { 'x-request-id': before } });
    await operator.ok('svc_config_set', { key: 'gateway.logCalls', value: true });
    await operator.ok('svc_health', {}, { headers: { 'x-request-id': during } });
    await waitFor(() => lineOf(during) !== undefined, { what: 'a line of the call' });
    expect(JSON.parse(lineOf(during) ?? '')).toMatchObject({ requestId: during, tool: 'svc_health', code: 'ok' });
    expect(lineOf(before)).toBeUndefined();
    await operator.ok('svc_config_set', { key: 'gateway.logCalls', value: null });
  },
  on,
);

async function heldTo(place: TargetPlace, profile: string): Promise<{ id: string; token: Caller }> {
  const id = newName('held');
  const operator = new Caller(place);
  await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId: id, role: 'editor' });
  const minted = await operator.ok('svc_habitat_mintToken', { agentId: id, profile });
  return { id, token: callerOf(place, String(minted.token)) };
}

verifies(
  'settings:restart',
  async ({ place }) => {
    const operator = new Caller(place);
    const key = 'agora.requireRegistry';
    await operator.ok('svc_config_set', { key, value: true });
    const { everybody } = target.get();
    await Promise.all(everybody.map((one) => one.stop()));
    await Promise.all(everybody.map((one) => one.start()));
    const answers = async () => (await operator.call('svc_config_get', { key })).status === 200;
    await waitFor(answers, { what: 'the node to answer again', ignoreErrors: () => true });
    expect(await operator.ok('svc_config_get', { key })).toMatchObject({ value: true, source: 'node' });
  },
  { ...on },
);

async function tokenOf(operator: Caller, agentId: string | undefined): Promise<string> {
  return String((await operator.ok('svc_habitat_mintToken', { agentId })).token);
}
