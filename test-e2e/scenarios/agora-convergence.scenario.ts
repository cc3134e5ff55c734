/** Deployments on a NATS that fails vote on each other's topics: what each holds of each in the end. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { busOfOwn, type Deployment, deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { insisted } from '../instruments/persistent-calls.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { DEPLOYMENTS, FEDERATED_BALLOTS, FEDERATION_SEEDS } from '../settings.ts';
import { newName, verifies } from '../verifies.ts';

const NAMES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'].slice(0, DEPLOYMENTS);
const OPTIONS = ['yes', 'no', 'later'];
/** Far below what one node may ask of another. */
const BETWEEN_MEDDLING_MS = 200;

const nameOf = ({ environment }: Deployment): string => String(environment['SVC_NODE_NAME']);

/** Somebody's own topic for each, so large a quorum that nothing decides it. */
async function topicsOf(nodes: readonly Deployment[]): Promise<Map<Deployment, string>> {
  const topics = new Map<Deployment, string>();
  for (const node of nodes) {
    const topic = newName('topic');
    await insisted(node.caller, 'consensus_create', { topic, options: OPTIONS, minQuorum: 1000, agentId: 'ann' });
    topics.set(node, topic);
  }
  return topics;
}

/** Votes at home one after the other; the answer of each is waited for. */
async function voteAtHome(node: Deployment, topic: string, random: Random): Promise<void> {
  for (let ballot = 0; ballot < FEDERATED_BALLOTS; ballot += 1) {
    await insisted(node.caller, 'consensus_vote', { topic, choice: random.pick(OPTIONS), agentId: newName('voter') });
  }
}

/** What may fail while the network does: a vote abroad, a pull, a push. */
async function meddle(node: Deployment, topics: ReadonlyMap<Deployment, string>, random: Random): Promise<number> {
  let worked = 0;
  for (const [owner, topic] of topics) {
    if (owner === node) continue;
    const abroad = { node: nameOf(owner), topic };
    const acts = [
      () => node.caller.call('agora_vote', { ...abroad, outcome: random.pick(OPTIONS) }),
      () => node.caller.call('agora_pull', abroad),
      () => owner.caller.call('agora_push', { node: nameOf(node), topic }),
    ];
    for (const act of acts) {
      const reply = await act().catch(() => null);
      const content = reply?.body.result?.content as { code?: string } | undefined;
      if (content !== undefined && content.code === undefined) worked += 1;
    }
  }
  return worked;
}

verifies(
  'agora:federation:converges',
  async ({ random, report }) => {
    const nats = await busOfOwn();
    const nodes = await Promise.all(NAMES.map((name) => deployment(member(name, `${name}-agent`, nats.url))));
    const everybodyHeard = async () => {
      for (const by of nodes) for (const other of nodes) if (by !== other) await untilHeard(by.caller, nameOf(other));
    };
    let worked = 0;
    const meddleUntil = async (node: Deployment, topics: ReadonlyMap<Deployment, string>, isOver: () => boolean) => {
      let count = 0;
      while (!isOver()) {
        count += await meddle(node, topics, random);
        await delay(BETWEEN_MEDDLING_MS);
      }
      return count + (await meddle(node, topics, random));
    };
    for (let seed = 0; seed < FEDERATION_SEEDS; seed += 1) {
      await everybodyHeard();
      const topics = await topicsOf(nodes);
      const voting = nodes.map((node) => voteAtHome(node, topics.get(node) ?? '', random));
      let isOver = false;
      const meddling = nodes.map((node) => meddleUntil(node, topics, () => isOver));
      await delay(random.int(0, 300));
      await nats.control?.restart(random.int(0, 500));
      const victim = random.pick(nodes);
      await victim.target.everybody[0]?.kill();
      await victim.target.revive(victim.environment);
      await Promise.all(voting);
      await everybodyHeard();
      isOver = true;
      worked += (await Promise.all(meddling)).reduce((sum, one) => sum + one, 0);
      for (const [owner, topic] of topics) await expectOneLedger(owner, topic, nodes);
    }
    expect(worked).toBeGreaterThan(0);
    report(
      `${FEDERATION_SEEDS} seeds, ${nodes.length} deployments: one hash of ${nodes.length * FEDERATION_SEEDS} topics everywhere, ${worked} acts abroad worked meanwhile`,
    );
  },
  { only: 'embedded', timeoutMs: 300_000 + FEDERATION_SEEDS * DEPLOYMENTS * 30_000 },
);

/** Once each has asked the owner. */
async function expectOneLedger(owner: Deployment, topic: string, nodes: readonly Deployment[]): Promise<void> {
  const hash = await hashAt(owner, topic);
  const { votes } = await owner.caller.ok<{ votes: object[] }>('consensus_get', { topic });
  expect(votes.length).toBeGreaterThanOrEqual(FEDERATED_BALLOTS);
  for (const node of nodes) {
    if (node === owner) continue;
    await waitFor(async () => (await node.caller.call('agora_pull', { node: nameOf(owner), topic })).status === 200, {
      what: `${nameOf(node)} to pull`,
    });
    expect([nameOf(node), topic, await hashAt(node, topic)]).toEqual([nameOf(node), topic, hash]);
  }
}
