/** Deployments on a network that fails vote on each other's topics: what each holds of each in the end. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { type Deployment, deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { type MeddledBus, meddledBus } from '../instruments/meddled-bus.ts';
import { insisted, persisted } from '../instruments/persistent-calls.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { DEPLOYMENTS, FEDERATED_BALLOTS, FEDERATION_SEEDS } from '../settings.ts';
import { newName, verifies } from '../verifies.ts';

const NAMES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'].slice(0, DEPLOYMENTS);
const OPTIONS = ['yes', 'no', 'later'];
/** Far below what one node may ask of another. */
const BETWEEN_MEDDLING_MS = 200;
const NEVER = 1000;
const SEALED_MS = 15_000;

/** What happens to a topic: nothing, a decision by its ballots, nothing in the dark, or a decision by its time. */
const KINDS: Readonly<Record<string, () => Fields>> = {
  open: () => ({ minQuorum: NEVER }),
  decided: () => ({ minQuorum: Math.max(2, Math.floor(FEDERATED_BALLOTS / 8)) }),
  sealed: () => ({ minQuorum: NEVER, sealed: true }),
  opened: () => ({ minQuorum: 2, sealed: true, deadline: Date.now() + SEALED_MS }),
};

interface Topic {
  readonly name: string;
  readonly kind: string;
  readonly owner: Deployment;
  /** Ballots whose voters were told that they count. */
  acknowledged: number;
}

const nameOf = ({ environment }: Deployment): string => String(environment['SVC_NODE_NAME']);

async function topicsOf(nodes: readonly Deployment[]): Promise<Topic[]> {
  const topics: Topic[] = [];
  for (const owner of nodes) {
    for (const [kind, wish] of Object.entries(KINDS)) {
      const name = newName('topic');
      await insisted(owner.caller, 'consensus_create', { topic: name, options: OPTIONS, agentId: 'ann', ...wish() });
      topics.push({ name, kind, owner, acknowledged: 0 });
    }
  }
  return topics;
}

/** Votes at home one after the other, at each topic in turn; the answer of each is waited for. */
async function voteAtHome(node: Deployment, topics: readonly Topic[], random: Random): Promise<void> {
  const own = topics.filter(({ owner }) => owner === node);
  for (let ballot = 0; ballot < FEDERATED_BALLOTS; ballot += 1) {
    const topic = own[ballot % own.length];
    if (topic === undefined) throw new Error('a node without topics');
    const choice = topic.kind === 'decided' ? 'yes' : random.pick(OPTIONS);
    const vote = { topic: topic.name, choice, agentId: newName('voter') };
    const code = codeOf(await persisted(node.caller, 'consensus_vote', vote));
    expect([null, 'E_CLOSED']).toContain(code);
    if (code === null) topic.acknowledged += 1;
  }
}

/** What may fail while the network does: a vote abroad, a pull, a push. How many worked. */
async function meddle(node: Deployment, topics: readonly Topic[], random: Random): Promise<number> {
  const owners = new Set(topics.map(({ owner }) => owner));
  owners.delete(node);
  const done = [...owners].map(async (owner) => {
    const { name: topic } = random.pick(topics.filter((one) => one.owner === owner));
    const abroad = { node: nameOf(owner), topic };
    const act = random.pick([
      () => node.caller.call('agora_vote', { ...abroad, outcome: random.pick(OPTIONS) }),
      () => node.caller.call('agora_pull', abroad),
      () => owner.caller.call('agora_push', { node: nameOf(node), topic }),
    ]);
    const reply = await act().catch(() => null);
    return reply !== null && reply.body.result !== undefined && codeOf(reply) === null;
  });
  return (await Promise.all(done)).filter(Boolean).length;
}

/** The bus goes away, some are parted from the rest, one deployment is killed: what is kept is what was answered. */
async function troubled(bus: MeddledBus, nodes: readonly Deployment[], random: Random): Promise<void> {
  await delay(random.int(0, 300));
  await bus.restart(random.int(0, 500));
  const { parted } = bus.counts;
  bus.part([random.pick(NAMES), random.pick(NAMES)]);
  const victim = random.pick(nodes);
  await victim.target.everybody[0]?.kill();
  await victim.target.revive(victim.environment);
  await waitFor(async () => bus.counts.parted > parted, { what: 'a message to be kept back' });
  await delay(random.int(0, 3000));
  bus.part([]);
}

async function everybodyHeard(nodes: readonly Deployment[]): Promise<void> {
  for (const by of nodes) for (const other of nodes) if (by !== other) await untilHeard(by.caller, nameOf(other));
}

/** Resolves with how many acts abroad worked while the network failed. */
async function livedThrough(bus: MeddledBus, nodes: readonly Deployment[], random: Random): Promise<number> {
  const topics = await topicsOf(nodes);
  let isOver = false;
  let worked = 0;
  const meddleUntilOver = async (node: Deployment): Promise<void> => {
    for (; !isOver; await delay(BETWEEN_MEDDLING_MS)) {
      // Others add to it meanwhile.
      const more = await meddle(node, topics, random);
      worked += more;
    }
  };
  bus.meddle(true);
  const meddling = nodes.map(meddleUntilOver);
  await Promise.all([troubled(bus, nodes, random), ...nodes.map((node) => voteAtHome(node, topics, random))]);
  // A few ballots are cast sooner than a node that was killed hears the others again.
  await waitFor(() => worked > 0 && bus.counts.twice > 0, { what: 'something to come through' });
  isOver = true;
  await Promise.all(meddling);
  bus.meddle(false);
  await everybodyHeard(nodes);
  for (const topic of topics) await expectOneLedger(topic, nodes);
  return worked;
}

verifies(
  'agora:federation:converges',
  async ({ random, report }) => {
    const bus = await meddledBus(NAMES, random);
    const nodes = await Promise.all(NAMES.map((name) => deployment(member(name, `${name}-agent`, bus.urlOf(name)))));
    await everybodyHeard(nodes);
    let worked = 0;
    for (let seed = 0; seed < FEDERATION_SEEDS; seed += 1) worked += await livedThrough(bus, nodes, random);
    expect(worked).toBeGreaterThan(0);
    const { lost, twice, late, parted } = bus.counts;
    for (const count of [lost, twice, late, parted]) expect(count).toBeGreaterThan(0);
    const hashes = `one hash of ${nodes.length * FEDERATION_SEEDS * Object.keys(KINDS).length} topics everywhere`;
    report(
      `${FEDERATION_SEEDS} seeds, ${nodes.length} deployments: ${hashes}, ${worked} acts abroad worked meanwhile; messages ${JSON.stringify(bus.counts)}`,
    );
  },
  { only: 'embedded', timeoutMs: 300_000 + FEDERATION_SEEDS * DEPLOYMENTS * 60_000 },
);

/** Once each has asked the owner, who comes to what its time and its ballots make of the topic. */
async function expectOneLedger({ name: topic, kind, owner, acknowledged }: Topic, nodes: readonly Deployment[]) {
  const ledger = () => owner.caller.ok<{ status: string; votes: object[] }>('consensus_get', { topic });
  if (kind === 'opened') await waitFor(async () => (await ledger()).status !== 'open', { what: 'the time to be over' });
  const { status, votes } = await ledger();
  expect(votes.length, kind).toBeGreaterThanOrEqual(acknowledged);
  if (kind === 'decided') expect(status).toBe('passed');
  else expect([kind, status === 'open']).toEqual([kind, kind !== 'opened']);
  const hash = await hashAt(owner, topic);
  for (const node of nodes) {
    if (node === owner) continue;
    const pulled = await node.caller.ok('agora_pull', { node: nameOf(owner), topic });
    expect([nameOf(node), kind, pulled['hash']]).toEqual([nameOf(node), kind, hash]);
    expect([nameOf(node), kind, await hashAt(node, topic)]).toEqual([nameOf(node), kind, hash]);
  }
}
