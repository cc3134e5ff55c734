/** One editor and the many agents it spawns count as one. */
import { expect } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { Caller, codeOf, type Reply } from '../client.ts';
import { addMember, createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import { SPAWNED_VOICES } from '../settings.ts';
import type { TargetPlace } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

interface Agent {
  readonly id: string;
  /** Its home, of which the first of them is admin. */
  readonly workspace: string;
  readonly caller: Caller;
}

/** Spawned by one another as well as by the editor, each with a token of its own. */
async function spawnMany(place: TargetPlace, editor: WorkspaceMember, count: number): Promise<Agent[]> {
  const operator = new Caller(place);
  const team = newName('t').replaceAll('-', '');
  const agents: Agent[] = [];
  while (agents.length < count) {
    const spawner = agents.length % 10 === 1 ? agents[0] : undefined;
    const reply = await (spawner?.caller ?? editor.caller).call('agent_spawn', { team });
    if (codeOf(reply) === 'E_RATE_LIMIT') {
      await delay(1000);
      continue;
    }
    expect(codeOf(reply)).toBeNull();
    const { agentId, workspace } = (reply.body.result ?? {}).content as { agentId: string; workspace: string };
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId });
    agents.push({ id: agentId, workspace, caller: callerOf(place, String(token)) });
  }
  return agents;
}

const succeeded = (replies: readonly Reply[]) => replies.filter((reply) => codeOf(reply) === null);

verifies(
  'habitat:families:voices',
  async ({ place, caller, report }) => {
    const operator = caller();
    const workspace = await createMembers(place, 'editor', 'editor', 'editor', 'admin');
    const [editor, alone, rated] = [memberAt(workspace, 0), memberAt(workspace, 1), memberAt(workspace, 2)];
    const admin = memberAt(workspace, 3);
    const agents = await spawnMany(place, editor, SPAWNED_VOICES);
    const everybody = [...agents.map((agent) => agent.caller), editor.caller];
    const all = (call: (one: Caller, index: number) => Promise<Reply>) => Promise.all(everybody.map(call));
    const scoreOf = async (entityId: string) => (await operator.ok('trust_getScore', { entityId })).score;

    // Ratings, of somebody whom the first of the agents has taken into their workspace.
    const [first] = agents;
    if (first === undefined) throw new Error('no agents');
    const taken = { workspaceId: first.workspace, userId: rated.id, role: 'viewer' };
    await first.caller.ok('svc_habitat_addRole', taken);
    const spam = { entityId: rated.id, type: 'spam' };
    // Before its agents, who have no standing, use up what their family may say of one entity in a day.
    await editor.caller.ok('trust_record', spam);
    const opinions = await all((one) => one.call('trust_record', spam));
    expect(succeeded(opinions).length).toBeGreaterThan(1);
    const other = await addMember(place, workspace.workspace, 'viewer');
    await alone.caller.ok('trust_record', { entityId: other.id, type: 'spam' });
    expect(await scoreOf(rated.id)).toBe(await scoreOf(other.id));
    await all((one) => one.call('trust_record', { entityId: editor.id, type: 'task' }));
    await all((one) => one.call('trust_record', { entityId: first.id, type: 'task' }));
    expect([await scoreOf(editor.id), await scoreOf(first.id)]).toEqual([0.5, 0.5]);

    // Decisions and the votes that hang on them.
    const topic = newName('deploy');
    await all((one) => one.call('governance_decide', { topic, context: { harmPotential: 1 } }));
    expect(await admin.caller.ok('governance_isAllowed', { action: topic })).toMatchObject({ allowed: true });

    // Quotas: of one who owns nothing yet, twenty.
    const workspaces = await all((one) => one.call('svc_habitat_createWorkspace', { workspaceId: newName('w') }));
    const orgs = await all((one) => one.call('teams_createOrg', { name: newName('o') }));
    // The first of the team has a workspace with its spawn.
    expect([succeeded(workspaces).length, succeeded(orgs).length]).toEqual([19, 20]);
    expect(codeOf(await editor.caller.call('agent_spawn', { team: 'another' }))).toMatch(/^E_(QUOTA|RATE_LIMIT)$/);
    report(`${agents.length} agents of one editor: one voice, 20 workspaces, 20 organisations`);
  },
  { timeoutMs: 300_000 + SPAWNED_VOICES * 2000 },
);

verifies('habitat:families:bucket', async ({ gateways, report }) => {
  const limit = 120;
  const limits = { SVC_RATE_LIMIT: 'on', SVC_PLAN: 'pro', SVC_PLAN_LIMITS: `pro=${limit}` };
  const place = await gateways(1, { ...KEYED, ...limits });
  const editor = await addMember(place, 'default', 'editor');
  const stranger = await addMember(place, 'default', 'editor');
  const agents = await spawnMany(place, editor, 10);
  const everybody = [...agents.map((agent) => agent.caller), editor.caller];
  const replies: Reply[] = [];
  for (let round = 0; round < 30; round += 1) {
    replies.push(...(await Promise.all(everybody.map((one) => one.call('svc_habitat_status')))));
  }
  const passed = replies.filter(({ status }) => status === 200);
  const windows = new Set(replies.map(({ headers }) => headers['x-ratelimit-reset'])).size;
  expect(passed.length).toBeLessThanOrEqual(windows * limit);
  expect(replies.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  for (const { headers } of replies) expect(headers['x-ratelimit-limit']).toBe(String(limit));
  expect((await stranger.caller.call('svc_habitat_status')).status).toBe(200);
  report(`11 of one family: ${passed.length} of ${replies.length} calls in ${windows} windows of ${limit}`);
});
