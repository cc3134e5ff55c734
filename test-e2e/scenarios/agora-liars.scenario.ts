/** Voters that say two things to two deployments, and deployments that say so of voters of others. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { busOfOwn, type Deployment, deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { connectImpostor, forgedBallot, type Impostor } from '../instruments/impostor.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { verifies } from '../verifies.ts';

interface World {
  readonly alpha: Deployment;
  readonly beta: Deployment;
  readonly gamma: Deployment;
  readonly atAlpha: Impostor;
  readonly atGamma: Impostor;
}

async function met(): Promise<World> {
  const { url } = await busOfOwn();
  const [alpha, beta, gamma] = await Promise.all([
    deployment(member('alpha', 'al', url)),
    deployment(member('beta', 'bea', url)),
    deployment(member('gamma', 'gus', url)),
  ]);
  for (const { caller, environment } of [alpha, beta, gamma]) {
    for (const node of ['alpha', 'beta', 'gamma']) {
      if (environment['SVC_NODE_NAME'] !== node) await untilHeard(caller, node);
    }
  }
  const [atAlpha, atGamma] = [await connectImpostor(url, 'alpha'), await connectImpostor(url, 'gamma')];
  return { alpha, beta, gamma, atAlpha, atGamma };
}

/** A topic of alpha that nobody decides meanwhile, with a ballot of its own. */
async function opened({ alpha, atAlpha }: World, topic: string): Promise<Fields> {
  await alpha.caller.ok('consensus_create', { topic, options: ['yes', 'no'], minQuorum: 5, agentId: 'ann' });
  await alpha.caller.ok('consensus_vote', { topic, choice: 'yes', agentId: 'ann' });
  return asked(atAlpha, { from: 'gamma', type: 'topic.get', body: { topic, afterSeq: 0 } });
}

async function asked(ear: Impostor, said: Parameters<Impostor['say']>[0]): Promise<Fields> {
  const wanted = { what: 'an answer', withinMs: 30_000 };
  const { re: _re, ...body } = await waitFor<Fields | null>(() => ear.say(said), wanted);
  return body;
}

const voteOfBeta = ({ beta }: World, topic: string) =>
  beta.caller.ok('agora_vote', { node: 'alpha', topic, outcome: 'yes' });
const saidToGamma = ({ atGamma }: World, body: Fields) => asked(atGamma, { from: 'beta', type: 'ballot.cast', body });
const pull = ({ caller }: Deployment, node: string, topic: string) => caller.ok('agora_pull', { node, topic });

/** In which order the two ballots of bea, and the proof that they are, become known. */
const ORDERS: Readonly<Record<string, (world: World, topic: string, no: Fields, copy: Fields) => Promise<unknown>>> = {
  'first the owner hears her': async (world, topic, no) => {
    await voteOfBeta(world, topic);
    await pull(world.gamma, 'alpha', topic);
    await saidToGamma(world, no);
    await world.gamma.caller.ok('agora_push', { node: 'alpha', topic });
  },
  'first another one hears her': async (world, topic, no) => {
    await pull(world.gamma, 'alpha', topic);
    await saidToGamma(world, no);
    await voteOfBeta(world, topic);
    await pull(world.gamma, 'alpha', topic);
    await world.gamma.caller.ok('agora_push', { node: 'alpha', topic });
  },
  'first the proof is there': async (world, topic, no, copy) => {
    const yes = forgedBallot(copy['header'] as Fields, { node: 'beta', voter: 'bea', outcome: 'yes' });
    const body = { ...copy, evidence: [[yes, no]] };
    await asked(world.atAlpha, { from: 'gamma', type: 'topic.push', body });
    await voteOfBeta(world, topic);
  },
};

async function ledgers({ alpha, beta, gamma }: World, topic: string): Promise<Fields[]> {
  await pull(beta, 'alpha', topic);
  await pull(gamma, 'beta', topic);
  return Promise.all([alpha, beta, gamma].map(({ caller }) => caller.ok('consensus_get', { topic })));
}

verifies(
  'agora:federation:liar',
  async () => {
    const world = await met();
    for (const [index, [order, happen]] of Object.entries(ORDERS).entries()) {
      const topic = `twice-${index}`;
      const copy = await opened(world, topic);
      const no = forgedBallot(copy['header'] as Fields, { node: 'beta', voter: 'bea', outcome: 'no' });
      await happen(world, topic, no, copy);
      const all = await ledgers(world, topic);
      for (const each of all) expect(each, order).toMatchObject({ voided: ['bea'], hash: all[0]?.['hash'] });
      const { votes } = await world.alpha.caller.ok('consensus_tally', { topic });
      expect(votes, order).toBe(1);
    }

    const topic = 'slandered';
    const copy = await opened(world, topic);
    await voteOfBeta(world, topic);
    const before = await hashAt(world.alpha, topic);
    const header = copy['header'] as Fields;
    const by = (node: string, voter: string, outcome: string) => forgedBallot(header, { node, voter, outcome });
    const [{ entry } = { entry: {} }] = copy['entries'] as [{ entry: Fields }?];
    const evidence = [
      ...['ann', 'bea'].map((voter) => [by('gamma', voter, 'yes'), by('gamma', voter, 'no')]),
      [{ ballot: entry['ballot'], sig: entry['ballotSig'] }, by('gamma', 'ann', 'no')],
    ];
    const body = { ...copy, evidence };
    await asked(world.atAlpha, { from: 'gamma', type: 'topic.push', body });
    await asked(world.atGamma, { from: 'beta', type: 'topic.push', body });
    const all = await ledgers(world, topic);
    for (const each of all) expect(each).toMatchObject({ voided: [], hash: before });
    for (const each of all) expect(each).not.toHaveProperty('equivocators');
  },
  { only: 'embedded' },
);
