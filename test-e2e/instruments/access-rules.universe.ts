/** Rows of the access matrix for where work happens. */
import type { Fields } from '../client.ts';
import type { Tenant } from './tenants.ts';
import { type AccessRule, admins, everybody, members, none, operators, writers } from './access-rule.ts';

/** A queue of the workspace; nobody else may make one there or put something into it. */
const editors = (more: Record<string, unknown> = {}): AccessRule =>
  admins(({ workspace }, fresh) => ({ stream: `q-${fresh}`, workspace, ...more }));

/** Refuses everybody alike, because there is no such thing. */
const absent = (code: string, args: AccessRule['args']): AccessRule => ({
  args,
  viewer: code,
  admin: code,
  stranger: code,
});

/** A queue of the workspace with work in it, and to others one that there is not. */
const queue = async ({ spareWork }: Tenant): Promise<Fields> => {
  const { stream, workspace } = await spareWork();
  return { stream, workspace };
};
const noQueue = (fresh: string): Fields => ({ stream: `q-${fresh}`, workspace: fresh });
const ofQueue = (answers: Pick<AccessRule, 'viewer' | 'admin' | 'stranger'>): AccessRule => ({
  args: queue,
  ...answers,
  unknown: noQueue,
});

/** Work that the admin holds: nobody else of the workspace says what becomes of it, and to others there is none. */
const heldWork = (name: 'id' | 'workId', more: Fields = {}): AccessRule => ({
  args: async ({ takenWork }) => ({ [name]: (await takenWork()).id, ...more }),
  viewer: 'E_LEASE_LOST',
  admin: 'served',
  stranger: 'E_WORK_ABSENT',
  unknown: (fresh) => ({ [name]: `wrk_${fresh}`, ...more }),
});

/** A role alone lets nobody run code or fetch. */
const runs = operators(() => ({ code: '1' }));
const fetches = operators(() => ({ url: 'http://example.org/' }));

/** Of the admin who made it: a role in another workspace shows nobody a crew. */
const crews = (more: Record<string, unknown> = {}): AccessRule => ({
  args: ({ team }) => ({ crew: team, ...more }),
  viewer: 'E_SCENARIO_ABSENT',
  admin: 'served',
  stranger: 'E_SCENARIO_ABSENT',
});

/** No such manifest, for whoever may look. */
const noManifest = absent('E_SNAPSHOT_ABSENT', () => ({ a: 'ffff', b: 'ffff' }));

export const UNIVERSE: Record<string, AccessRule> = {
  svc_universe_snapshot: everybody(() => ({ name: 'demo' })),
  svc_universe_fork: everybody(() => ({ parent: 'demo', child: 'kid' })),
  svc_universe_status: everybody(),
  svc_universe_record: writers((_tenant, fresh) => ({ name: `w${fresh}` })),
  svc_universe_diff: noManifest,
  svc_universe_resume: absent('E_SNAPSHOT_ABSENT', () => ({ id: 'ffff' })),
  stream_create: editors(),
  stream_delete: ofQueue({ viewer: 'E_NOT_CREATOR', admin: 'deleted:true', stranger: 'E_STREAM_ABSENT' }),
  stream_enqueue: editors({ task: 'x' }),
  stream_peek: ofQueue({ viewer: 'served', admin: 'served', stranger: 'E_STREAM_ABSENT' }),
  stream_poll: ofQueue({ viewer: 'FORBIDDEN', admin: 'served', stranger: 'E_STREAM_ABSENT' }),
  stream_info: ofQueue({ viewer: 'exists:true', admin: 'exists:true', stranger: 'exists:false' }),
  stream_list: { ...everybody(queue), unknown: noQueue },
  stream_lease: {
    args: async ({ spareWork, admin }) => ({ workId: (await spareWork()).id, agentId: admin.id }),
    viewer: 'FORBIDDEN',
    admin: 'leased:true',
    stranger: 'FORBIDDEN',
  },
  stream_release: heldWork('workId'),
  stream_complete: heldWork('id', { result: 1 }),
  stream_fail: heldWork('id', { error: 1 }),
  stream_stats: everybody(),
  stream_watch: absent('NOT_APPLICABLE', none),
  cron_schedule: members(({ workspace }, fresh) => ({ id: `j-${fresh}`, workspace }), 'FORBIDDEN'),
  cron_list: everybody(({ workspace }) => ({ workspace })),
  cron_run: absent('E_CRON_ABSENT', ({ workspace }, fresh) => ({ id: `j-${fresh}`, workspace })),
  cron_cancel: everybody(({ workspace }, fresh) => ({ id: `j-${fresh}`, workspace })),
  recursion_lookup: everybody(() => ({ start: { value: 1 } })),
  recursion_traverse: everybody(() => ({ root: { value: 1 } })),
  recursion_batch: everybody(() => ({ operation: 'upper', items: ['a'] })),
  recursion_retry: everybody(() => ({ operation: 'compute_status' })),
  recursion_register: members(
    ({ workspace }, fresh) => ({ name: `op-${fresh}`, type: 'pipeline', steps: ['upper'], workspace }),
    'FORBIDDEN',
  ),
  svc_scenario_crew: everybody((_tenant, fresh) => ({ name: `crew-${fresh}`, agents: 2, budget: 2 })),
  svc_scenario_task: crews({ task: 'x', cost: 0.01 }),
  svc_scenario_status: crews(),
  compute_eval: runs,
  svc_compute_eval: runs,
  compute_invoke: operators(() => ({ fn: 'sum' })),
  svc_compute_invoke: operators(() => ({ func: 'sum' })),
  compute_list: everybody(),
  compute_status: everybody(),
  svc_compute_status: everybody(),
  svc_network_fetch: fetches,
  svc_network_fetchJson: fetches,
  svc_network_online: everybody(),
  svc_connector_list: everybody(),
  svc_connector_connect: operators(() => ({ service: 'nothing' })),
  svc_remote_listProviders: operators(none),
  svc_remote_addProvider: operators((_tenant, fresh) => ({ type: 'node', config: { name: fresh, url: 'x' } })),
  svc_remote_removeProvider: operators((_tenant, fresh) => ({ id: fresh })),
  svc_remote_call: operators((_tenant, fresh) => ({ host: fresh, tool: 'svc_health' })),
  svc_shell_exec: operators(() => ({ cmd: 'true' })),
  svc_shell_capture: operators(() => ({ cmd: 'true' })),
  svc_shell_spawn: operators(() => ({ cmd: 'true' })),
  svc_sandbox_status: everybody(),
  svc_boot_status: everybody(),
  svc_boot_layers: everybody(),
  svc_boot_init: everybody(),
  svc_boot_reset: everybody(),
};
