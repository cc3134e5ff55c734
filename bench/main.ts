/** `npm run bench [-- --only d,e] [--seconds 4] [--rounds 3] [--profile folder] [--texts folder of collections]`: what the service costs, beside what it stands on. */
import { execFileSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AGORA } from './agora.ts';
import { agentCall, agentRequest, listSize, startSdkServer } from './agents.ts';
import { measureBesideLoops } from './beside-loops.ts';
import { callBody, callTool } from './call.ts';
import { measureCommits } from './commits.ts';
import { measureCycles } from './cycles.ts';
import { measureDecisions } from './decisions.ts';
import { measureGrowth } from './growth.ts';
import { measureContexts } from './contexts.ts';
import { measureHostilePeer } from './hostile-peer.ts';
import { measureIndex } from './index.ts';
import { measureIndexMemory } from './index-memory.ts';
import { measureLargeBrain } from './large-brain.ts';
import { measureLedgerSync } from './ledger-sync.ts';
import { MARKET } from './market.ts';
import { measureMoney } from './money.ts';
import { measurePassages } from './passages.ts';
import { startPeers } from './peers.ts';
import { type NodeProcess, startNode } from './process.ts';
import { CONNECTIONS, type Group, READ_BODY, READ_TOOL, type Scenario, WRITE_BODY } from './scenarios.ts';
import { measureQueues } from './queues.ts';
import { measureRecovery } from './recovery.ts';
import { measureRounds } from './rounds.ts';
import { measureSearch } from './search.ts';
import { measureStarts } from './starts.ts';
import { WORLDS } from './worlds.ts';
import {
  AUTHORISED,
  type Servers,
  startCluster,
  startEmbedded,
  startServers,
  type System,
  temporaryDataDir,
} from './system.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    profile: { type: 'string' },
    texts: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const only = values.only?.split(',');
const wants = (...groups: string[]): boolean => only === undefined || groups.some((group) => only.includes(group));

/** For the processes of the system: each leaves a CPU profile in the folder when it ends. */
const profiling =
  values.profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${resolve(values.profile)}` };
const GET_BODY = callBody('svc_get_memory', { category: 'bench', filename: 'read' });
const PACKED_BRAIN = 'packed';
const PACKED_BODY = callBody('svc_get_memory', { brain: PACKED_BRAIN, category: 'bench', filename: 'read' });
const RECALL_BODY = callBody('svc_memory_recall', { key: 'bench' });
const STATE_BODIES = Array.from({ length: 64 }, (_, key) =>
  callBody('svc_memory_state', { key: `k${key}`, value: key }),
);
const TMP_GET_BODY = callBody('svc_tmp_get', { space: 'dropbox', name: 'bench.md' });
const TMP_PUT_BODIES = Array.from({ length: 64 }, (_, number) =>
  callBody('svc_tmp_put', {
    space: 'dropbox',
    name: `w${number}.md`,
    content: `# Note ${number}\n\nWritten by request {number}.\n`,
  }),
);
const STORED_READ_BODY = callBody('svc_storage_read', { path: 'bench/read.md' });
const STORED_WRITE_BODY = callBody('svc_storage_write', {
  path: 'bench/s{slot}.md',
  content: '# Note {slot}\n\nWritten by request {number}.\n',
});
const DESCRIBE_BODY = callBody('tool_describe', { names: ['svc_get_memory'] });
const ends: (() => Promise<void>)[] = [];
const scenarios: Scenario[] = [];

try {
  console.log(`${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} before`);
  await addDoors();
  const servers = wants('c', 'e', 't', 'draws', 'peers') ? await startServers() : null;
  if (servers !== null) await addOverNats(servers);
  if (wants('d', 'f', 'g', 't', 'draws', 'mcp')) await addEmbedded();
  if (scenarios.length > 0) {
    console.log(`\n${await measureRounds(scenarios, { seconds, rounds, withDisk: wants('g') })}`);
  }
  if (wants('decisions')) console.log(`\n${measureDecisions()}`);
  if (wants('money')) console.log(`\n${await measureMoney(seconds, rounds)}`);
  if (wants('universe', 'queues')) console.log(`\n${await measureQueues(seconds, rounds)}`);
  const cycles = { market: MARKET, agora: AGORA, universe: WORLDS };
  for (const [name, measured] of Object.entries(cycles)) {
    if (wants(name)) console.log(`\n${await measureCycles(measured, { seconds, rounds, profiling })}`);
  }
  if (wants('agora', 'sync')) console.log(`\n${await measureLedgerSync(rounds)}`);
  if (wants('agora', 'hostile')) console.log(`\n${await measureHostilePeer(seconds, rounds)}`);
  if (wants('universe', 'loops')) console.log(`\n${await measureBesideLoops(seconds, rounds)}`);
  if (wants('commits')) console.log(`\n${await measureCommits(seconds)}`);
  if (wants('large')) console.log(`\n${await measureLargeBrain()}`);
  if (wants('search')) console.log(`\n${await measureSearch(seconds, profiling)}`);
  if (wants('passages')) console.log(`\n${measurePassages(values.texts)}`);
  if (wants('memory')) console.log(`\n${await measureIndexMemory()}`);
  if (wants('growth')) console.log(`\n${await measureGrowth()}`);
  if (wants('index')) console.log(`\n${await measureIndex()}`);
  if (wants('contexts')) console.log(`\n${await measureContexts(profiling)}`);
  if (wants('start')) console.log(`\n${await measureStarts(rounds)}`);
  if (wants('recovery')) console.log(`\n${await measureRecovery(rounds * 4)}`);
  console.log(`\nload ${loadavg()[0]?.toFixed(1)} after`);
} finally {
  for (const end of ends.reverse()) await end();
}

/** A running baseline, as a part of a scenario. */
async function door(entry: string, environment = {}): Promise<Pick<Scenario, 'urls' | 'processes'>> {
  const node: NodeProcess = startNode(entry, [], environment);
  ends.push(() => node.stop());
  return { urls: [await node.said(/listening on (\S+)/)], processes: [node] };
}

function add(scenario: Omit<Scenario, 'connections' | 'bodies'> & Partial<Scenario>): void {
  if (wants(scenario.group)) scenarios.push({ connections: CONNECTIONS, bodies: [READ_BODY], ...scenario });
}

async function addDoors(): Promise<void> {
  if (wants('a')) add({ group: 'a', title: 'node:http echo', ...(await door('bench/doors/http-echo.ts')) });
  if (wants('b')) add({ group: 'b', title: 'Express echo', ...(await door('bench/doors/express-echo.ts')) });
}

async function addOverNats(servers: Servers): Promise<void> {
  ends.push(() => servers.stop());
  const environment = { NATS_URL: servers.nats.url };
  if (wants('c')) {
    const responder = startNode('bench/doors/nats-responder.ts', [], environment);
    ends.push(() => responder.stop());
    await responder.said(/answering/);
    const { urls, processes } = await door('bench/doors/nats-door.ts', environment);
    add({ group: 'c', title: 'node:http + NATS', urls, processes: [...processes, responder] });
  }
  if (wants('peers')) await addPeers(servers);
  if (!wants('e', 't', 'draws')) return;
  const small = await startCluster(servers, { gateways: 1, brains: 1 }, profiling);
  ends.push(() => small.stop());
  const compared = { group: 'e' as const, baseline: 'node:http + NATS', aim: '>= 60 %' };
  add({ ...compared, group: groupOfReads('e'), title: 'read tool, cluster 1+1', ...placeOf(small) });
  const write = { group: 'e' as const, bodies: [WRITE_BODY], ...placeOf(small) };
  add({ ...write, title: 'write, cluster 1+1, 1 writer', connections: 1 });
  add({ ...write, title: 'write, cluster 1+1, 64 writers' });
  if (wants('t')) await addTokenScenarios(small, 'cluster 1+1');
  if (wants('draws')) await addDraws(small, 'cluster 1+1');
  if (!wants('e')) return;
  const others = await startServers();
  if (others === null) return;
  ends.push(() => others.stop());
  const large = await startCluster(others, { gateways: 2, brains: 2 }, profiling);
  ends.push(() => large.stop());
  add({ ...compared, title: 'read tool, cluster 2+2', ...placeOf(large) });
}

async function addPeers(servers: Servers): Promise<void> {
  for (const { name, url, processes } of await startPeers(servers.nats.url)) {
    for (const one of processes) ends.push(() => one.stop());
    add({ group: 'peers', title: `${name} + NATS`, urls: [url], processes, baseline: 'node:http + NATS' });
  }
}

function placeOf({ urls, processes }: System): Pick<Scenario, 'urls' | 'processes'> {
  return { urls, processes };
}

async function addEmbedded(): Promise<void> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path, profiling);
  ends.push(() => system.stop());
  const content = `# To be read\n\n${'Some words that a reader would want. '.repeat(12)}`;
  await callTool(system.urls[0] ?? '', AUTHORISED, 'svc_set_memory', { category: 'bench', filename: 'read', content });
  const compared = { baseline: 'node:http echo', ...placeOf(system) };
  add({ ...compared, group: groupOfReads('d'), title: 'read tool, embedded', aim: '>= 55 %' });
  add({ ...compared, group: 'd', title: 'gateway tool, embedded', bodies: [DESCRIBE_BODY] });
  add({ ...compared, group: 'f', title: 'svc_get_memory, embedded', bodies: [GET_BODY] });
  if (wants('f')) await addPacked(system, dataDir.path, content);
  await callTool(system.urls[0] ?? '', AUTHORISED, 'svc_memory_state', { key: 'bench', value: content });
  add({ ...compared, group: 'f', title: 'svc_memory_recall, embedded', bodies: [RECALL_BODY] });
  await callTool(system.urls[0] ?? '', AUTHORISED, 'svc_tmp_put', { space: 'dropbox', name: 'bench.md', content });
  add({ ...compared, group: 'f', title: 'svc_tmp_get, embedded', bodies: [TMP_GET_BODY] });
  add({ ...compared, group: 'f', title: 'svc_storage_read, embedded', bodies: [STORED_READ_BODY] });
  const write = { group: 'g' as const, bodies: [WRITE_BODY], ...placeOf(system) };
  add({ ...write, title: 'svc_set_memory, 1 writer', connections: 1, aim: 'p50 <= 4 ms, p99 <= 25 ms' });
  add({ ...write, title: 'svc_set_memory, 64 writers', aim: '>= 1,000/s' });
  add({ ...write, bodies: STATE_BODIES, title: 'svc_memory_state, 1 writer', connections: 1 });
  add({ ...write, bodies: STATE_BODIES, title: 'svc_memory_state, 64 writers' });
  add({ ...write, bodies: TMP_PUT_BODIES, title: 'svc_tmp_put, 64 writers' });
  add({ ...write, bodies: [STORED_WRITE_BODY], title: 'svc_storage_write, 64 writers' });
  if (wants('t')) await addTokenScenarios(system, 'embedded');
  if (wants('draws')) await addDraws(system, 'embedded');
  if (wants('mcp')) await addAgents(system);
}

/** Of a brain whose heads lie together in one file, as after the maintenance of a night. */
async function addPacked(system: System, dataDir: string, content: string): Promise<void> {
  const ask = (tool: string, args: Record<string, unknown>) =>
    callTool(system.urls[0] ?? '', AUTHORISED, tool, { brain: PACKED_BRAIN, ...args });
  await callTool(system.urls[0] ?? '', AUTHORISED, 'brain_switch', { name: PACKED_BRAIN, create: true });
  await ask('svc_set_memory', { category: 'bench', filename: 'read', content });
  execFileSync('git', ['-C', join(dataDir, 'brains', PACKED_BRAIN), 'pack-refs', '--all']);
  const read = { group: 'f' as const, bodies: [PACKED_BODY], ...placeOf(system) };
  add({ ...read, title: 'the same, heads packed', baseline: 'svc_get_memory, embedded' });
}

/** What agents send, beside the same call by the plain door, and beside the official server with as many tools. */
async function addAgents(system: System): Promise<void> {
  const [url = ''] = system.urls;
  const [core, full] = [await listSize(url, AUTHORISED, 'core'), await listSize(url, AUTHORISED, 'full')];
  console.log(`lists for agents: core ${core.tools} tools, ${core.tokens} tokens; full ${full.tools}, ${full.tokens}`);
  const asAgent = ({ path, body, headers }: ReturnType<typeof agentRequest>) => ({
    path,
    bodies: [body],
    headers: { ...AUTHORISED, ...headers },
  });
  const over = { group: 'mcp' as const, ...placeOf(system) };
  const call = 'tools/call over /mcp';
  add({ ...over, title: call, ...asAgent(agentCall(READ_TOOL)), baseline: 'read tool, embedded', aim: '>= 80 %' });
  add({
    ...over,
    title: 'tools/list of full over /mcp',
    ...asAgent(agentRequest('tools/list', {}, '/mcp?profile=full')),
  });
  const sdk = startSdkServer(full.tools);
  ends.push(() => sdk.stop());
  const place = { urls: [await sdk.said(/listening on (\S+)/)], processes: [sdk] };
  const request = asAgent(agentCall('tool_0'));
  const title = `tools/call, SDK McpServer with ${full.tools} tools`;
  add({ group: 'mcp', title, ...place, ...request, baseline: call, aim: '<= 6.7 %' });
}

/** The reads that other groups are compared with run with these too. */
function groupOfReads(group: 'd' | 'e'): Group {
  const others = ['t', 'draws', 'mcp'] as const;
  return wants(group) ? group : (others.find((other) => wants(other)) ?? group);
}

/** Of one pool, by one agent: every call meets the same two rows. */
async function addDraws(system: System, place: string): Promise<void> {
  const [url = ''] = system.urls;
  const ask = (tool: string, args: Record<string, unknown>) => callTool(url, AUTHORISED, tool, args);
  const { content } = await ask('agent_spawn', { name: 'drawer' });
  const { agentId } = content as { agentId: string };
  const workspaceId = 'bench-pool';
  await ask('svc_habitat_createWorkspace', { workspaceId, options: { owner: agentId } });
  await ask('escrow_setWorkspaceBudget', { workspaceId, amount: 1_000_000_000, adminId: agentId });
  add({
    group: 'draws',
    title: `draw from a pool, ${place}`,
    bodies: [callBody('escrow_workspaceRecordSpend', { workspaceId, agentId, amount: 0.000001 })],
    baseline: `read tool, ${place}`,
    ...placeOf(system),
  });
}

/** The same calls with a token on each, which the registry vouches for anew every time. */
async function addTokenScenarios(system: System, place: string): Promise<void> {
  const [url = ''] = system.urls;
  const ask = async (tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>> =>
    (await callTool(url, AUTHORISED, tool, args)).content as Record<string, unknown>;
  const { agentId } = await ask('agent_spawn', { name: 'bench' });
  const { token } = await ask('svc_habitat_mintToken', { agentId });
  add({
    group: 't',
    title: `read tool with a token, ${place}`,
    headers: { 'x-habitat-token': String(token) },
    baseline: `read tool, ${place}`,
    aim: '>= 80 %',
    ...placeOf(system),
  });
}
