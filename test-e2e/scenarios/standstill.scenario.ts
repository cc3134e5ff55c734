/**
 * A replica that stands still keeps its connections open, so nobody hears that it does nothing. Others must notice, go
 * on without it, and lose nothing that was acknowledged; what waited for it must not happen late.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Reply } from '../client.ts';
import { CommandLine } from '../instruments/command-line.ts';
import { Load, reader } from '../instruments/load.ts';
import { createPool, poolFunds } from '../instruments/pools.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { FAULTS_AT_ONCE, LOAD_PAUSE_MS, promised } from '../settings.ts';
import type { ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const CLIENTS = 8;
const LOAD_BEFORE = 60;
const STANDS_STILL_MS = 14_000;
/** A call that begins so long after is one like any other. */
const NOTICED_WITHIN_MS = 5000;
/** So long a machine that is short of processors may keep a process waiting; it is less than that takes to be given up. */
const HESITATES_MS = [1300, 1600, 1700, 1800];
/** What a call costs that was in the hands of a process that is lost. */
const COSTS_AT_MOST_MS = 5000;
const AFTERWARDS = 60;
/** So soon svc doctor says that nothing behind the gateways answers. */
const TOLD_WITHIN_MS = 12_000;
/** What a gateway found out a moment ago it may say again. */
const READY_IS_REMEMBERED_MS = 300;

const target = ownTarget({}, { only: 'cluster', apart: EACH_APART });

interface Heard {
  readonly at: number;
  readonly ms: number;
  readonly kind: string;
  readonly problem: string | null;
}

/** Asks one thing of each service again and again: reads, and changes with a key. */
class Rounds {
  readonly heard: Heard[] = [];
  /** What was acknowledged, in credits. */
  spent = 0;
  readonly #end = new AbortController();
  readonly #work: Promise<unknown>;

  constructor(callers: readonly Caller[], workspace: string) {
    this.#work = Promise.all(callers.map((caller) => this.#run(caller, workspace)));
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#work;
  }

  async #run(caller: Caller, workspace: string): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#note('habitat read', () => caller.call('svc_habitat_listWorkspaces'));
      await this.#note('escrow read', () => caller.call('escrow_getWorkspacePool', { workspaceId: workspace }));
      const key = { headers: { 'idempotency-key': newName('spend') } };
      const spend = { workspaceId: workspace, amount: 1 };
      const problem = await this.#note('keyed spend', () => caller.call('escrow_workspaceRecordSpend', spend, key));
      if (problem === null) this.spent += 1;
      await delay(LOAD_PAUSE_MS);
    }
  }

  async #note(kind: string, send: () => Promise<Reply>): Promise<string | null> {
    const at = performance.now();
    const reply = await send();
    const problem = codeOf(reply) ?? (reply.status === 200 ? null : `status ${reply.status}`);
    this.heard.push({ at, ms: performance.now() - at, kind, problem });
    return problem;
  }
}

type Service = 'brain' | 'habitat' | 'escrow' | 'gateway';

/** What happens to a replica; resolves when it is over. */
interface Fault {
  readonly title: string;
  /** Nobody hears that a service is away: it takes time alone. */
  readonly isUnnoticed?: true;
  happen(replica: ServiceProcess): Promise<void>;
}

interface Replica {
  readonly service: Service;
  readonly index: number;
}

/** What happens to replicas of different services at once. */
interface Case {
  readonly hurt: readonly Replica[];
  readonly fault: Fault;
}

const STANDSTILL: Fault = {
  title: 'stands still',
  async happen(replica) {
    replica.signal('SIGSTOP');
    await delay(STANDS_STILL_MS);
    replica.signal('SIGCONT');
  },
};

const HESITATION: Fault = {
  title: 'hesitates',
  isUnnoticed: true,
  async happen(replica) {
    for (const ms of HESITATES_MS) {
      replica.signal('SIGSTOP');
      await delay(ms);
      replica.signal('SIGCONT');
      await delay(NOTICED_WITHIN_MS / 5);
    }
  },
};

const KILL: Fault = {
  title: 'is killed',
  async happen(replica) {
    await replica.kill();
    await delay(NOTICED_WITHIN_MS + 1000);
    replica.spawn();
  },
};

function replicaOf(cluster: OwnTarget, { service, index }: Replica): ServiceProcess {
  const replica = cluster.of(service)[index];
  if (replica === undefined) throw new Error(`no ${service}`);
  return replica;
}

const named = ({ service, index }: Replica): string => `${service} ${index + 1}`;

async function endure({ hurt, fault }: Case, { place, report }: Scenario): Promise<void> {
  const cluster = target.get();
  const brain = newName('b');
  const user = new Caller(place);
  await user.ok('brain_switch', { name: brain, create: true });
  const { workspace, admin, members } = await createPool(place, 1_000_000, 2);
  // A gateway that stands still answers nobody: whoever comes through the balancer comes to the other.
  const doors = hurt.some(({ service }) => service === 'gateway') ? [0] : [0, 1];
  const load = new Load(
    doors.map((gateway) => new Caller(place, { gateway })),
    { clients: CLIENTS, brain, readEvery: 2, pauseMs: LOAD_PAUSE_MS },
  );
  const rounds = new Rounds(
    members.map(({ caller }, index) => caller.with({ gateway: doors[index % doors.length] ?? 0 })),
    workspace,
  );
  const replicas = hurt.map((one) => replicaOf(cluster, one));
  try {
    await waitFor(() => load.successes(0, Infinity) >= LOAD_BEFORE && rounds.heard.length >= LOAD_BEFORE, {
      what: 'load before',
    });
    const stoppedAt = performance.now();
    await Promise.all(replicas.map((replica) => fault.happen(replica)));
    const goesOnAt = performance.now();
    await waitFor(() => load.successes(goesOnAt, Infinity) >= AFTERWARDS, { what: 'load afterwards' });
    await Promise.all([load.stop(), rounds.stop()]);

    const heard = [
      ...load.outcomes.map(({ at, ms, problem }) => ({ at: at - ms, ms, problem, kind: 'file' })),
      ...rounds.heard,
    ];
    const during = heard.filter(({ at }) => at >= stoppedAt && at < goesOnAt);
    const failed = heard.filter(({ problem }) => problem !== null);
    const told = [...Map.groupBy(failed, ({ kind, problem }) => `${kind} ${problem}`)].map(
      ([what, { length }]) => `${length} ${what}`,
    );
    const last = Math.max(0, ...failed.map(({ at }) => at - stoppedAt));
    const longest = Math.max(...during.map(({ ms }) => ms));
    report(
      `${hurt.map(named).join(' and ')} ${fault.title}: ${during.length} calls meanwhile, ${failed.length} failed (${told.join(', ') || 'none'}), the last began after ${Math.round(last)} ms, the longest took ${Math.round(longest)} ms`,
    );
    expect(during.length).toBeGreaterThan(LOAD_BEFORE);
    expect(told.filter((what) => !/ (SERVICE_UNAVAILABLE|TIMEOUT|E_OUTCOME_UNKNOWN|E_BUSY)$/.test(what))).toEqual([]);
    expect(heard.filter(({ at, problem }) => problem !== null && at > stoppedAt + NOTICED_WITHIN_MS)).toEqual([]);
    expect(failed.filter(({ kind }) => fault.isUnnoticed || kind === 'keyed spend')).toEqual([]);
    expect(Math.max(...heard.map(({ ms }) => ms))).toBeLessThan(promised(COSTS_AT_MOST_MS));
    expect(await load.ledger.lost(reader(user, brain))).toEqual([]);
    expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: rounds.spent });
  } finally {
    for (const replica of replicas) replica.signal('SIGCONT');
    await Promise.all([load.stop(), rounds.stop()]);
  }
}

// Of the brain processes one owns the brain and the other sends it the work. A killed gateway takes its connections with
// it: that is another promise.
const BRAIN_1: Replica = { service: 'brain', index: 0 };
const BRAIN_2: Replica = { service: 'brain', index: 1 };
const ESCROW_2: Replica = { service: 'escrow', index: 1 };
const HABITAT_2: Replica = { service: 'habitat', index: 1 };
const GATEWAY_2: Replica = { service: 'gateway', index: 1 };

type Groups = readonly (readonly Replica[])[];
const IN_PAIRS: Groups = [
  [BRAIN_1, ESCROW_2],
  [BRAIN_2, HABITAT_2],
];
const ALL_AT_ONCE: Groups = [[BRAIN_1, ESCROW_2, HABITAT_2]];
const ALONE: Groups = IN_PAIRS.flat().map((replica) => [replica]);
const ifTogether = (groups: Groups): Groups => (FAULTS_AT_ONCE > 1 ? groups : ALONE);
const CASES: readonly Case[] = [
  ...[...ifTogether(IN_PAIRS), [GATEWAY_2]].map((hurt) => ({ hurt, fault: STANDSTILL })),
  ...ifTogether(ALL_AT_ONCE).map((hurt) => ({ hurt, fault: HESITATION })),
  ...ifTogether(ALL_AT_ONCE).map((hurt) => ({ hurt, fault: KILL })),
];

for (const tried of CASES) {
  const { hurt, fault } = tried;
  verifies(
    'gateway:faults:standstill',
    async (scenario) => {
      await endure(tried, scenario);
      await target.get().whole();
    },
    { on: target, title: `${hurt.map(named).join(' and ')} ${fault.title}` },
  );
}

verifies(
  'cli:doctor:hangs',
  async ({ place }) => {
    const cluster = target.get();
    const behind = cluster.everybody.filter((one) => !cluster.gateways.includes(one));
    const svc = new CommandLine(place, newName('session'));
    for (const one of behind) one.signal('SIGSTOP');
    try {
      await delay(READY_IS_REMEMBERED_MS);
      const askedAt = performance.now();
      const { code, stdout } = await svc.run(['doctor', '--json']);
      expect(code, stdout).toBe(1);
      expect(performance.now() - askedAt).toBeLessThan(promised(TOLD_WITHIN_MS));
      const wrong = stdout
        .split('\n')
        .filter((line) => line.includes('"state":"fail"'))
        .map((line) => JSON.parse(line) as { name: string; found: string });
      expect(wrong).toMatchObject([{ name: 'node', found: expect.stringMatching(/is not ready: .*brain/) as string }]);
    } finally {
      for (const one of behind) one.signal('SIGCONT');
    }
    await cluster.whole();
  },
  { on: target },
);
