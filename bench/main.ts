/** `npm run bench [-- --only d,e] [--seconds 4] [--rounds 3]`: what the service costs, beside what it stands on. */
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { callBody, callTool } from './call.ts';
import { measureDisk } from './disk.ts';
import { markdownTable, median, shown } from './figures.ts';
import type { LoadResult } from './offered-load.ts';
import { type NodeProcess, startNode } from './process.ts';
import { CONNECTIONS, READ_BODY, runScenario, type Scenario, WRITE_BODY } from './scenarios.ts';
import { measureSearch } from './search.ts';
import { measureStarts } from './starts.ts';
import { AUTHORISED, type Servers, startCluster, startEmbedded, startServers, temporaryDataDir } from './system.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const only = values.only?.split(',');
const wants = (...groups: string[]): boolean => only === undefined || groups.some((group) => only.includes(group));

const GET_BODY = callBody('svc_get_memory', { category: 'bench', filename: 'read' });
const DESCRIBE_BODY = callBody('tool_describe', { names: ['svc_get_memory'] });
const ends: (() => Promise<void>)[] = [];
const scenarios: Scenario[] = [];

try {
  console.log(`${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} before`);
  await addDoors();
  const servers = wants('c', 'e', 'peers') ? await startServers() : null;
  if (servers !== null) await addOverNats(servers);
  if (wants('d', 'f', 'g')) await addEmbedded();
  await runRounds();
  if (wants('search')) console.log(`\n${await measureSearch(seconds)}`);
  if (wants('start')) console.log(`\n${await measureStarts(rounds)}`);
  console.log(`\nload ${loadavg()[0]?.toFixed(1)} after`);
} finally {
  for (const end of ends.reverse()) await end();
}

async function door(entry: string, environment = {}): Promise<string> {
  const node: NodeProcess = startNode(entry, [], environment);
  ends.push(() => node.stop());
  return node.said(/listening on (\S+)/);
}

function add(scenario: Omit<Scenario, 'connections' | 'bodies'> & Partial<Scenario>): void {
  if (wants(scenario.group)) scenarios.push({ connections: CONNECTIONS, bodies: [READ_BODY], ...scenario });
}

async function addDoors(): Promise<void> {
  if (wants('a')) add({ group: 'a', title: 'node:http echo', urls: [await door('bench/doors/http-echo.ts')] });
  if (wants('b')) add({ group: 'b', title: 'Express echo', urls: [await door('bench/doors/express-echo.ts')] });
}

async function addOverNats(servers: Servers): Promise<void> {
  ends.push(() => servers.stop());
  const environment = { NATS_URL: servers.nats.url };
  if (wants('c')) {
    const responder = startNode('bench/doors/nats-responder.ts', [], environment);
    ends.push(() => responder.stop());
    await responder.said(/answering/);
    add({ group: 'c', title: 'node:http + NATS', urls: [await door('bench/doors/nats-door.ts', environment)] });
  }
  if (!wants('e')) return;
  const [first, second] = [servers, await startServers()];
  if (second === null) return;
  ends.push(() => second.stop());
  const small = await startCluster(first, { gateways: 1, brains: 1 });
  ends.push(() => small.stop());
  const large = await startCluster(second, { gateways: 2, brains: 2 });
  ends.push(() => large.stop());
  const compared = { group: 'e' as const, baseline: 'node:http + NATS', aim: '>= 60 %' };
  add({ ...compared, title: 'read tool, cluster 1+1', urls: small.urls });
  add({ ...compared, title: 'read tool, cluster 2+2', urls: large.urls });
  const write = { group: 'e' as const, bodies: [WRITE_BODY], urls: small.urls };
  add({ ...write, title: 'write, cluster 1+1, 1 writer', connections: 1 });
  add({ ...write, title: 'write, cluster 1+1, 64 writers' });
}

async function addEmbedded(): Promise<void> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path);
  ends.push(() => system.stop());
  const { urls } = system;
  const content = `# To be read\n\n${'Some words that a reader would want. '.repeat(12)}`;
  await callTool(urls[0] ?? '', AUTHORISED, 'svc_set_memory', { category: 'bench', filename: 'read', content });
  const compared = { baseline: 'node:http echo', urls };
  add({ ...compared, group: 'd', title: 'read tool, embedded', aim: '>= 50 %' });
  add({ ...compared, group: 'd', title: 'gateway tool, embedded', bodies: [DESCRIBE_BODY] });
  add({ ...compared, group: 'f', title: 'svc_get_memory, embedded', bodies: [GET_BODY] });
  const write = { group: 'g' as const, bodies: [WRITE_BODY], urls };
  add({ ...write, title: 'svc_set_memory, 1 writer', connections: 1, aim: 'p50 <= 5 ms, p99 <= 25 ms' });
  add({ ...write, title: 'svc_set_memory, 64 writers', aim: '>= 1,000/s' });
}

async function runRounds(): Promise<void> {
  if (scenarios.length === 0) return;
  const results = new Map<string, LoadResult[]>(scenarios.map(({ title }) => [title, []]));
  const disk: { p50Ms: number; p99Ms: number }[] = [];
  const folder = temporaryDataDir();
  for (let round = 1; round <= rounds; round += 1) {
    for (const scenario of scenarios) {
      const result = await runScenario(scenario, seconds);
      results.get(scenario.title)?.push(result);
      process.stderr.write(`round ${round}: ${scenario.title}: ${shown(result.perSecond)}/s\n`);
    }
    if (wants('g')) disk.push(await measureDisk(join(folder.path, 'disk'), 1));
  }
  const of = (title: string | undefined, field: keyof LoadResult): number =>
    median((results.get(title ?? '') ?? []).map((result) => result[field]));
  const rows = scenarios.map(({ title, connections, baseline, aim = '' }) => {
    const ratio = (100 * of(title, 'perSecond')) / of(baseline, 'perSecond');
    return [
      title,
      shown(connections),
      shown(of(title, 'perSecond')),
      shown(of(title, 'p50Ms'), 2),
      shown(of(title, 'p99Ms'), 2),
      Number.isFinite(ratio) ? `${shown(ratio)} % of ${baseline}` : '',
      aim,
      shown(of(title, 'failed')),
    ];
  });
  if (disk.length > 0) {
    const [p50, p99] = [median(disk.map(({ p50Ms }) => p50Ms)), median(disk.map(({ p99Ms }) => p99Ms))];
    rows.push(['the disk alone: one durable file', '1', shown(1000 / p50), shown(p50, 2), shown(p99, 2), '', '', '0']);
  }
  const header = ['', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'ratio', 'aim', 'failed'];
  console.log(`\nmedians of ${rounds} rounds of ${seconds} s\n\n${markdownTable(header, rows)}`);
}
