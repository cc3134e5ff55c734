/** Faults of a cluster under load: processes killed, servers restarted. Each test asserts that it had load. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf } from '../client.ts';
import { git } from '../instruments/git.ts';
import { Load, reader } from '../instruments/load.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { LOAD_PAUSE_MS, promised } from '../settings.ts';
import { servicesAlive } from '../targets/cluster.ts';
import { brainFolder, breakable, type OwnTarget } from '../targets/target.ts';
import { newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const CLIENTS = 16;
/** Operations before the fault. */
const LOAD_BEFORE = 100;
const BACK_WITHIN_MS = promised(5000);
const AFTERWARDS = 100;
/** What a caller may hear while something is broken: each says what happened and whether to try again. */
const TYPED = ['SERVICE_UNAVAILABLE', 'E_BUSY', 'TIMEOUT', 'E_OUTCOME_UNKNOWN', 'E_STATE_WRITE'];

const target = ownTarget({}, { only: 'cluster' });

interface Fault {
  readonly name: string;
  /** Hurts and heals; resolves when everything runs again. */
  happen(cluster: OwnTarget): Promise<void>;
  /** A killed gateway takes its connections with it. */
  readonly breaksConnections?: true;
}

const FAULTS: readonly Fault[] = [
  ...[0, 1].map(
    (index): Fault => ({
      name: `brain process ${index + 1} killed`,
      async happen({ brains }) {
        await brains[index]?.kill();
        await delay(1000);
        brains[index]?.spawn();
      },
    }),
  ),
  ...[0, 1].map(
    (index): Fault => ({
      name: `gateway ${index + 1} killed`,
      breaksConnections: true,
      async happen({ gateways }) {
        await gateways[index]?.kill();
        await gateways[index]?.start();
      },
    }),
  ),
  {
    name: 'NATS restarted',
    happen: async (cluster) => breakable(cluster, 'nats').restart(1000),
  },
  {
    name: 'Redis restarted',
    happen: async (cluster) => breakable(cluster, 'redis').restart(1000),
  },
  {
    name: 'PostgreSQL stopped for 10 s',
    happen: async (cluster) => breakable(cluster, 'postgres').restart(10_000),
  },
];

async function endure(fault: Fault, { place, report }: Scenario): Promise<void> {
  const cluster = target.get();
  const brain = newName('b');
  await new Caller(place).ok('brain_switch', { name: brain, create: true });
  const callers = [0, 1].map((gateway) => new Caller(place, { gateway, headers: { 'x-svc-timeout-ms': '3000' } }));
  const load = new Load(callers, { clients: CLIENTS, brain, readEvery: 4, pauseMs: LOAD_PAUSE_MS });
  try {
    await delay(2000);
    await waitFor(() => load.successes(0, Infinity) >= LOAD_BEFORE, {
      what: `${LOAD_BEFORE} operations before "${fault.name}"`,
    });
    const faultAt = performance.now();
    const perSecond = load.successes(faultAt - 1000, faultAt);
    await fault.happen(cluster);
    const healedAt = performance.now();
    const back = await waitFor(() => load.outcomes.find(({ at, problem }) => at > healedAt && problem === null), {
      withinMs: BACK_WITHIN_MS,
      what: `traffic after "${fault.name}"`,
    });
    await waitFor(() => load.successes(healedAt, Infinity) >= AFTERWARDS, {
      what: `${AFTERWARDS} operations after "${fault.name}"`,
    });
    await load.stop();
    const untyped = [...load.problems()].filter(
      ([problem]) =>
        !TYPED.includes(problem) && !(fault.breaksConnections === true && problem.startsWith('transport:')),
    );
    expect(untyped, fault.name).toEqual([]);
    for (const gateway of cluster.gateways) await gateway.ready();
    expect(await load.ledger.lost(reader(new Caller(place), brain)), fault.name).toEqual([]);
    const told = [...load.problems()].map(([problem, count]) => `${count} ${problem}`).join(', ') || 'no error';
    report(
      `${fault.name}: ${perSecond}/s before, back ${Math.round(back.at - healedAt)} ms after, ${told}, ${load.ledger.acknowledgedWrites} acknowledged writes, none lost`,
    );
  } finally {
    await load.stop();
  }
}

for (const fault of FAULTS) {
  verifies(
    'gateway:faults:survived',
    async (scenario) => {
      await endure(fault, scenario);
      await servicesAlive(scenario.place.gateways[0] ?? '', ['brain'], 2);
    },
    { on: target, title: fault.name },
  );
}

verifies(
  'gateway:unavailable:unknown-outcome',
  async ({ place }) => {
    const { brains } = target.get();
    const user = new Caller(place);
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    await user.ok('brain_write', { name: 'x', content: 'one' });
    const keyed = { headers: { 'idempotency-key': newName('key'), 'x-svc-timeout-ms': '1000' } };
    for (const one of brains) one.signal('SIGSTOP');
    const lost = await user.call('svc_commit', { brain, message: 'once' }, keyed);
    const read = await user.call('brain_read', { brain, name: 'x' }, { headers: { 'x-svc-timeout-ms': '500' } });
    for (const one of brains) one.signal('SIGCONT');
    expect([lost.status, codeOf(lost)]).toEqual([504, 'E_OUTCOME_UNKNOWN']);
    // Whether its silence was noticed already.
    expect(['504 TIMEOUT', '503 SERVICE_UNAVAILABLE']).toContain(`${read.status} ${codeOf(read)}`);
    const again = { headers: { 'idempotency-key': keyed.headers['idempotency-key'] } };
    await waitFor(async () => codeOf(await user.call('svc_commit', { brain, message: 'once' }, again)) === null, {
      everyMs: 200,
      what: 'the commit to be known',
    });
    expect(
      git(brainFolder(place, brain), 'log', '--format=%s', 'main')
        .split('\n')
        .filter((line) => line === 'once'),
    ).toEqual(['once']);
  },
  { on: target },
);

verifies(
  'gateway:unavailable:fast',
  async ({ place, report }) => {
    const { brains } = target.get();
    const user = new Caller(place);
    await Promise.all(brains.map((one) => one.stop()));
    const times: number[] = [];
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const at = performance.now();
      const error = await user.fails('SERVICE_UNAVAILABLE', 'brain_list');
      times.push(performance.now() - at);
      expect(error.status).toBe(503);
    }
    expect(times.sort((a, b) => a - b)[5]).toBeLessThan(promised(250));
    const reply = await user.call('brain_list');
    expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    await user.ok('nodes_list');
    for (const one of brains) one.spawn();
    await target.get().whole();
    await user.ok('brain_list');
    report(`no responder: 503 after ${Math.round(times[5] ?? 0)} ms in the median`);
  },
  { on: target },
);

verifies(
  'gateway:unavailable:unseen',
  async ({ place }) => {
    const { brains, gateways } = target.get();
    const user = new Caller(place);
    await Promise.all([...brains, ...gateways].map((one) => one.stop()));
    for (const one of gateways) one.spawn();
    const isUp = async (gateway: number): Promise<boolean> =>
      (await fetch(`${user.url(gateway)}/health`).catch(() => null))?.status === 200;
    for (const gateway of gateways.keys()) {
      await waitFor(() => isUp(gateway), { what: 'the gateway to be there' });
      for (const [tool, args] of [
        ['brain_list', {}],
        ['svc_call', { name: 'brain_list' }],
        ['tool_describe', { names: ['brain_list'] }],
      ] as const) {
        const reply = await user.call(tool, args, { gateway });
        expect([tool, reply.status, codeOf(reply)]).toEqual([tool, 503, 'SERVICE_UNAVAILABLE']);
        expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      }
    }
    for (const one of brains) one.spawn();
    await target.get().whole();
    await user.ok('brain_list');
  },
  { on: target },
);
