/** Right calls of each tool of the universe, on things that are there. */
import type { Caller, Fields } from '../client.ts';
import { newName } from '../verifies.ts';
import { makeCrew } from './crew.ts';
import type { KnownTool, RightCall } from './garbage.ts';

const AREAS = [
  'boot',
  'compute',
  'connectors',
  'cron',
  'network',
  'recursion',
  'remote',
  'scenario',
  'shell',
  'stream',
  'universe',
];

export async function toolsOfUniverse(user: Caller): Promise<readonly KnownTool[]> {
  const { tools } = (await user.get('/tools')).body as unknown as { tools: (KnownTool & { readonly area: string })[] };
  return tools.filter(({ area }) => AREAS.includes(area));
}

interface Ground {
  readonly operator: Caller;
  readonly member: Caller;
  readonly workspace: string;
  readonly brain: string;
  readonly agentId: string;
}

export async function callsOfUniverse(ground: Ground): Promise<readonly RightCall[]> {
  const right = {
    ...(await worldCalls(ground)),
    ...(await queueCalls(ground)),
    ...boundedCalls(ground),
    ...doorCalls(),
  };
  return Object.entries(right).map(([name, args]) => ({ name, args }));
}

type Calls = Readonly<Record<string, Fields>>;

async function worldCalls({ operator, brain }: Ground): Promise<Calls> {
  const { id } = await operator.ok('svc_universe_record', { name: 'demo', brain });
  const { crew } = await makeCrew(operator, { budget: 100_000 });
  const actor = newName('actor');
  return {
    svc_universe_snapshot: { name: 'demo', universe: 'x' },
    svc_universe_fork: { parent: 'demo', child: 'kid', universe: 'x' },
    svc_universe_status: { universe: 'x' },
    svc_universe_record: { name: 'demo.kid', fork: true, brain, stateRoot: '0'.repeat(64) },
    svc_universe_diff: { a: id, b: id, brain, manifestFile: 'x.json' },
    svc_universe_resume: { id, actor, brain, materialize: true },
    svc_scenario_crew: { name: crew, agents: 3, budget: 120, universe: 'x' },
    svc_scenario_task: { crew, task: 'x', cost: 1, universe: 'x' },
    svc_scenario_status: { crew, universe: 'x' },
  };
}

async function queueCalls({ member, workspace, agentId }: Ground): Promise<Calls> {
  const at = { stream: newName('q'), workspace };
  await member.ok('stream_enqueue', { ...at, task: 'x' });
  const { work, leaseToken } = await member.ok('stream_poll', at);
  const { id } = work as Fields;
  const job = { id: newName('job'), workspace };
  const task = { tool: 'svc_health', arguments: {} };
  await member.ok('cron_schedule', { ...job, enabled: false, task });
  return {
    stream_create: { ...at, options: { maxAttempts: 3, leaseMs: 1000, ordered: true } },
    stream_delete: { ...at },
    stream_enqueue: { ...at, task: { x: 1 }, key: 'x', delayMs: 1 },
    stream_peek: { ...at },
    stream_poll: { ...at, agentId, ttl: 1000 },
    stream_info: { ...at },
    stream_list: { ...at, status: 'pending', limit: 5, cursor: 'x' },
    stream_lease: { workId: id, agentId, ttl: 1000, leaseToken },
    stream_release: { workId: id, leaseToken },
    stream_complete: { id, result: 'x', leaseToken },
    stream_fail: { id, error: 'x', leaseToken },
    stream_stats: { x: 1 },
    stream_watch: { event: 'x' },
    cron_schedule: { ...job, interval: 86_400_000, enabled: false, task },
    cron_list: { ...job },
    cron_run: { ...job },
    cron_cancel: { ...job },
  };
}

/** Work over what is passed, and in sandboxes. */
function boundedCalls({ workspace }: Ground): Calls {
  const graph = { start: 'a', nodes: { a: { children: ['b'] }, b: { value: 1 } } };
  const code = { code: '1 + 1', timeout: 100 };
  return {
    recursion_lookup: { operation: 'resolve', start: graph },
    recursion_traverse: { operation: 'ids', root: graph, order: 'depth', maxDepth: 4 },
    recursion_batch: { operation: 'double', items: [1, 'x'] },
    recursion_retry: { operation: 'svc_health', arguments: {}, maxRetries: 1, backoffMs: 1 },
    recursion_register: { name: newName('op').toLowerCase(), type: 'pipeline', steps: ['double'], workspace },
    compute_eval: { ...code, language: 'javascript' },
    svc_compute_eval: { ...code, lang: 'javascript' },
    compute_invoke: { fn: 'sum', args: [[1, 2]] },
    svc_compute_invoke: { func: 'sum', args: [[1, 2]] },
    compute_list: { x: 1 },
    compute_status: { x: 1 },
    svc_compute_status: { x: 1 },
    svc_shell_exec: { cmd: 'echo x', timeout: 100 },
    svc_shell_capture: { cmd: 'echo x', jobId: 'x' },
    svc_shell_spawn: { cmd: 'echo x' },
    svc_sandbox_status: { x: 1 },
  };
}

/** To what is outside. */
function doorCalls(): Calls {
  const remote = { name: newName('r'), url: 'https://peer.example', tokenRef: 'SVC_REMOTE_TOKEN_X' };
  return {
    svc_network_fetch: { url: 'https://peer.example/x' },
    svc_network_fetchJson: { url: 'https://peer.example/x' },
    svc_network_online: { x: 1 },
    svc_connector_list: { x: 1 },
    svc_connector_connect: { service: 'postgres' },
    svc_remote_listProviders: { x: 1 },
    svc_remote_addProvider: { type: 'node', config: remote },
    svc_remote_removeProvider: { id: remote.name },
    svc_remote_call: { host: remote.name, tool: 'svc_health', args: {} },
    svc_boot_status: { x: 1 },
    svc_boot_layers: { x: 1 },
    svc_boot_init: { taskId: 'x', scopes: ['read'] },
    svc_boot_reset: { x: 1 },
  };
}
