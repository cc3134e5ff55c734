/**
 * Who is answered how, written down tool by tool from what each tool promises: the oracle of the access matrix.
 * Each row: what a viewer and an admin of the tenant concerned are answered, and what a stranger is, who is viewer or
 * admin of another tenant. `served` = no access rule stands in the way, whatever the tool then says.
 */
import type { Fields } from '../client.ts';
import { type AccessRule, admins, everybody, gatedWriters, members, none, operators, writers } from './access-rule.ts';
import { MEMORY } from './access-rules.memory.ts';
import { STORAGE } from './access-rules.storage.ts';
import { TEMPORARY } from './access-rules.temporary.ts';
import { RELATIONS } from './access-rules.relations.ts';
import { AGORA } from './access-rules.agora.ts';
import { MARKET } from './access-rules.market.ts';
import { UNIVERSE } from './access-rules.universe.ts';
import { MONEY } from './access-rules.money.ts';
import type { Tenant } from './tenants.ts';

const file = ({ team }: Tenant): Fields => ({ name: `${team}/file` });
const absentFile = (fresh: string): Fields => ({ name: `${fresh}/file` });

const BRAIN: Record<string, AccessRule> = {
  brain_corpus: everybody(),
  brain_current: everybody(),
  brain_list: everybody(),
  brain_list_files: everybody(({ team }) => ({ category: team })),
  brain_load: everybody(() => ({ brains: ['svc'] })),
  brain_migration_status: everybody(),
  brain_pop: everybody(),
  brain_push: everybody(() => ({ name: 'svc' })),
  brain_stack: everybody(),
  brain_state: everybody(),
  brain_switch: everybody(() => ({ name: 'svc' })),
  brain_read: members(file, 'E_FILE_ABSENT', absentFile),
  brain_get_file: members(file, 'E_FILE_ABSENT', absentFile),
  svc_get_memory: members(
    ({ team }) => ({ category: team, filename: 'file' }),
    'E_FILE_ABSENT',
    (fresh) => ({ category: fresh, filename: 'file' }),
  ),
  brain_write: gatedWriters((tenant) => ({ ...file(tenant), content: 'x' })),
  brain_save: gatedWriters((tenant) => ({ ...file(tenant), content: 'x' })),
  svc_set_memory: gatedWriters(({ team }) => ({ category: team, filename: 'file', content: 'x' })),
  brain_remove: gatedWriters(({ team }, fresh) => ({ name: `${team}/${fresh}` })),
  brain_delete_file: gatedWriters(({ team }, fresh) => ({ name: `${team}/${fresh}` })),
  svc_branch_auto: writers(none),
  svc_branch_changed_brains: everybody(),
  svc_branch_is_dirty: everybody(),
  svc_commit: writers(() => ({ message: 'x' })),
  svc_config_get: everybody(),
  svc_config_set: operators(() => ({ key: 'market.skillsTradeTtlMs', value: 259_200_000 })),
  svc_create_branch: writers((_tenant, fresh) => ({ name: fresh })),
  svc_list_branches: everybody(),
  svc_switch_branch: everybody(() => ({ name: 'main' })),
  svc_health: everybody(),
  svc_lock: operators(() => ({ action: 'force' })),
  svc_rerank: everybody(() => ({ query: 'x', docs: ['x'] })),
  svc_search: everybody(({ team }) => ({ query: team })),
  svc_search_hybrid: everybody(({ team }) => ({ query: team })),
  svc_search_hyde: everybody(({ team }) => ({ query: team })),
  svc_search_multiquery: everybody(({ team }) => ({ query: team })),
  svc_search_semantic: everybody(({ team }) => ({ query: team })),
  svc_embed: everybody(({ team }) => ({ text: team })),
  svc_embed_similarity: everybody(({ team }) => ({ textA: team, textB: team })),
  context_build: everybody(({ team }) => ({ query: team })),
  context_refresh: everybody(),
  context_layers: everybody(),
  context_inspect: everybody(),
  context_cache: everybody(),
  context_heartbeat: members(() => ({ action: 'status' }), 'served'),
  svc_sync: writers(() => ({ direction: 'push' })),
  svc_sync_pullAny: writers(none),
  svc_sync_pushAll: writers(none),
  svc_sync_rebase: writers(none),
  svc_sync_status: everybody(),
};

const BRANCHES: Record<string, AccessRule> = {
  svc_branch_merge: writers(() => ({ from: 'main', dryRun: true })),
  svc_branch_delete: writers((_tenant, fresh) => ({ name: fresh })),
  svc_branch_rename: writers((_tenant, fresh) => ({ name: fresh, to: `${fresh}-new` })),
  svc_conflicts: everybody(),
  svc_history: everybody(),
  svc_diff: everybody(),
  svc_conflict_read: everybody(() => ({ id: 'cfl_0' })),
  svc_conflict_resolve: writers(() => ({ id: 'cfl_0', take: 'merged' })),
  brain_delete: absentBrain((name) => ({ name, confirm: name })),
  brain_rename: absentBrain((name) => ({ name, to: `${name}-new` })),
};

/** Who may, is asked after whether there is such a brain: to everybody alike there is none. */
function absentBrain(args: (fresh: string) => Fields): AccessRule {
  const answer = 'BRAIN_LOAD_FAIL';
  return { args: (_tenant, fresh) => args(fresh), viewer: answer, admin: answer, stranger: answer };
}

const island = ({ team }: Tenant): Fields => ({ name: team });

const ISLANDS: Record<string, AccessRule> = {
  svc_get_islands: everybody(),
  svc_load_island: members(island, 'RLS_DENIED'),
  svc_get_island: members(island, 'RLS_DENIED'),
  svc_island_status: everybody(island),
  islands_canAccess: everybody(island),
  svc_find_islands_by_trigger: everybody(({ team }) => ({ trigger: team })),
  svc_export_islands: everybody(),
  svc_create_island: writers((_tenant, fresh) => ({ name: fresh, content: 'x' })),
  svc_bulk_create_islands: writers((_tenant, fresh) => ({ islands: [{ name: fresh, content: 'x' }] })),
  svc_delete_island: gatedWriters(({ team }) => ({ name: `${team}-gone` })),
  svc_disable_island: gatedWriters(island),
  svc_enable_island: gatedWriters(island),
  svc_update_island_triggers: gatedWriters((tenant) => ({ ...island(tenant), triggers: [tenant.team] })),
};

const GATEWAY: Record<string, AccessRule> = {
  nodes_list: everybody(),
  svc_framework_status: everybody(),
  svc_call: everybody(() => ({ name: 'svc_habitat_status' })),
  tool_describe: everybody(() => ({ names: 'svc_call' })),
  tool_search: everybody(() => ({ query: 'call' })),
};

const workspaceId = ({ workspace }: Tenant): Fields => ({ workspaceId: workspace });
const noAgent = (fresh: string): string => `agt_${fresh}`;
const resource = ({ team }: Tenant): Fields => ({ resource: `brain:svc/${team}` });

const HABITAT: Record<string, AccessRule> = {
  svc_habitat_status: everybody(),
  svc_habitat_listWorkspaces: everybody(),
  svc_habitat_createWorkspace: everybody((_tenant, fresh) => ({ workspaceId: fresh })),
  svc_habitat_setWorkspace: members(workspaceId, 'FORBIDDEN', (fresh) => ({ workspaceId: fresh })),
  svc_habitat_addRole: admins(
    (tenant, fresh) => ({ ...workspaceId(tenant), userId: fresh, role: 'viewer' }),
    'FORBIDDEN',
    (fresh) => ({ workspaceId: fresh, userId: fresh, role: 'viewer' }),
  ),
  svc_habitat_removeRole: admins((tenant, fresh) => ({ ...workspaceId(tenant), userId: fresh, role: 'viewer' })),
  svc_habitat_getUserRoles: members((tenant) => ({ ...workspaceId(tenant), userId: tenant.admin.id }), 'FORBIDDEN'),
  svc_habitat_setPolicy: admins(({ team, workspace }, fresh) => ({
    resource: `brain:svc/${team}/${fresh}`,
    policy: { container: workspace },
  })),
  // Without a boundary of its own, the container of the folder decides about what nobody has made yet.
  svc_habitat_removePolicy: admins(({ team }, fresh) => ({ resource: `brain:svc/${team}/${fresh}` })),
  svc_habitat_getBoundaries: everybody(),
  svc_habitat_can: everybody(resource),
  svc_habitat_check: members(resource, 'RLS_DENIED'),
  svc_habitat_agentContext: members(
    ({ agent }) => ({ agentId: agent }),
    'AGENT_NOT_FOUND',
    (fresh) => ({ agentId: noAgent(fresh) }),
  ),
  svc_habitat_mintToken: admins(
    ({ agent }) => ({ agentId: agent }),
    'AGENT_NOT_FOUND',
    (fresh) => ({ agentId: noAgent(fresh) }),
  ),
  svc_habitat_verifyToken: everybody(() => ({ token: 'x' })),
  svc_habitat_revokeToken: {
    args: async (tenant) => ({ tokenOrHash: await tenant.spareToken() }),
    viewer: 'revoked:false',
    admin: 'revoked:true',
    stranger: 'revoked:false',
    unknown: () => ({ tokenOrHash: 'f'.repeat(64) }),
  },
  svc_habitat_listTokens: everybody(),
  auth_create: {
    args: ({ viewer }) => ({ userId: viewer.id }),
    viewer: 'served',
    admin: 'FORBIDDEN',
    stranger: 'FORBIDDEN',
  },
  auth_verify: everybody(() => ({ token: 'x' })),
  auth_require: everybody(() => ({ token: 'x' })),
};

const AGENTS: Record<string, AccessRule> = {
  // Strangers get a workspace of their own, whatever is called like it.
  agent_spawn: { args: ({ team }) => ({ team }), viewer: 'FORBIDDEN', admin: 'served', stranger: 'served' },
  // Without a team the agent comes to `default`, where nobody of a tenant holds a role.
  svc_agent_spawn: operators((_tenant, fresh) => ({ name: fresh })),
  agent_list: everybody(),
  agent_kill: admins(
    async (tenant) => ({ id: await tenant.spareAgent() }),
    'AGENT_NOT_FOUND',
    (fresh) => ({ id: noAgent(fresh) }),
  ),
  agent_proto_list: everybody(),
  agent_proto_load: everybody(() => ({ name: 'coordinator' })),
  svc_agents_delegate_mcp: admins(
    ({ agent }) => ({ id: agent, task: 'x' }),
    'AGENT_NOT_FOUND',
    (fresh) => ({ id: noAgent(fresh), task: 'x' }),
  ),
  svc_agents_broadcast: admins(({ workspace }) => ({ message: 'x', workspace })),
};

const org = ({ org: id }: Tenant): Fields => ({ org: id });
const noOrg = (fresh: string): Fields => ({ org: `org_${fresh}` });

const TEAMS: Record<string, AccessRule> = {
  teams_createOrg: everybody((_tenant, fresh) => ({ name: fresh })),
  teams_createDept: admins(
    (tenant, fresh) => ({ name: fresh, ...org(tenant) }),
    'E_NOT_FOUND',
    (fresh) => ({ name: fresh, ...noOrg(fresh) }),
  ),
  teams_createTeam: admins(({ dept }, fresh) => ({ name: fresh, dept }), 'E_NOT_FOUND'),
  teams_createRole: admins((tenant, fresh) => ({ name: fresh, ...org(tenant) }), 'E_NOT_FOUND'),
  teams_getOrg: members(
    ({ org: id }) => ({ id }),
    'E_NOT_FOUND',
    (fresh) => ({ id: `org_${fresh}` }),
  ),
  teams_listOrgs: everybody(),
  teams_listDepts: members(org, 'E_NOT_FOUND', noOrg),
  teams_listTeams: members(
    ({ dept }) => ({ dept }),
    'E_NOT_FOUND',
    (fresh) => ({ dept: `dpt_${fresh}` }),
  ),
  teams_confirmOrg: operators((tenant) => ({ ...org(tenant) })),
  teams_leave: {
    args: ({ agent }) => ({ agentId: agent }),
    viewer: 'FORBIDDEN',
    admin: 'served',
    stranger: 'FORBIDDEN',
    unknown: (fresh) => ({ agentId: noAgent(fresh) }),
  },
  teams_assign: admins((tenant) => ({ agentId: tenant.agent, ...org(tenant) }), 'E_NOT_FOUND'),
  teams_hasPermission: everybody(({ viewer }) => ({ agentId: viewer.id, permission: 'x' })),
};

const TRUST: Record<string, AccessRule> = {
  trust_getScore: everybody(({ agent }) => ({ entityId: agent })),
  trust_can: everybody(({ agent }) => ({ entityId: agent, action: 'x' })),
  trust_record: members(async (tenant) => ({ entityId: await tenant.spareAgent(), type: 'help' }), 'E_NOT_RELATED'),
  trust_leaderboard: everybody(),
  trust_setRequired: operators((_tenant, fresh) => ({ permission: fresh, minTrust: 0.1 })),
  governance_decide: everybody((_tenant, fresh) => ({ topic: fresh })),
  governance_isAllowed: everybody(() => ({ action: 'x' })),
  governance_history: everybody(),
  governance_stats: everybody(),
  svc_audit_log: members(({ workspace }) => ({ event: 'x', workspace }), 'FORBIDDEN'),
  svc_audit_list: everybody(({ workspace }) => ({ workspace })),
  svc_audit_verify: admins(({ workspace }) => ({ workspace })),
  svc_succession_info: everybody(),
};

const task = ({ task: taskId }: Tenant): Fields => ({ taskId });
const noTask = (fresh: string): Fields => ({ taskId: `tsk_${fresh}` });

/** The task belongs to the tenant's admin; to anybody who may not see it, it is not there. */
const SUDO: Record<string, AccessRule> = {
  sudo_can: members(({ viewer }) => ({ agentId: viewer.id, action: 'read' }), 'FORBIDDEN'),
  sudo_escalate: ownTask(
    (tenant) => ({ task: tenant.task }),
    (fresh) => ({ task: `tsk_${fresh}` }),
  ),
  sudo_grant: admins(({ agent }) => ({ agentId: agent, capability: 'read' }), 'AGENT_NOT_FOUND'),
  sudo_revoke: admins(({ agent }) => ({ agentId: agent, capability: 'read' })),
  sudo_listTasks: everybody(),
  svc_sudo_createTask: everybody(),
  svc_sudo_can: everybody((tenant) => ({ ...task(tenant), scope: 'read' })),
  svc_sudo_escalate: ownTask((tenant) => ({ ...task(tenant), scope: 'read' })),
  // The task is the admin's own, and nobody grants to themselves.
  svc_sudo_grant: { ...ownTask((tenant) => ({ ...task(tenant), scope: 'read' })), admin: 'FORBIDDEN' },
  svc_sudo_revoke: ownTask((tenant) => ({ ...task(tenant), scope: 'network' })),
  svc_sudo_getTask: ownTask(task, noTask),
  svc_sudo_listTasks: everybody(),
  svc_sudo_getScopes: everybody(),
  svc_sudo_getLayerStatus: everybody(),
  svc_sudo_suggest: ownTask(task, noTask),
};

function ownTask(args: AccessRule['args'], unknown?: AccessRule['unknown']): AccessRule {
  return {
    args,
    viewer: 'E_SUDO_TASK_ABSENT',
    admin: 'served',
    stranger: 'E_SUDO_TASK_ABSENT',
    ...(unknown === undefined ? {} : { unknown }),
  };
}

export const ACCESS_RULES: Readonly<Record<string, AccessRule>> = {
  ...BRAIN,
  ...BRANCHES,
  ...ISLANDS,
  ...GATEWAY,
  ...HABITAT,
  ...AGENTS,
  ...TEAMS,
  ...TRUST,
  ...SUDO,
  ...MARKET,
  ...AGORA,
  ...UNIVERSE,
  ...MONEY,
  ...MEMORY,
  ...STORAGE,
  ...TEMPORARY,
  ...RELATIONS,
};
