/** Deployments that vote together, with everything in between that a network and a dishonest peer can do. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { systemRandom } from '@svc/runtime/clock.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BedNode, type Between, type NodesBed, openNodes } from '../../testing/node-bed.ts';
import { readEnvelope } from './domain/envelope.ts';
import type { SignedBallot, WireLedger } from './domain/messages.ts';
import { createSeal, subjectOf } from './transport/wire.ts';

const VOTERS = { alpha: 'al', beta: 'bea', gamma: 'gus' };

let bed: NodesBed<'alpha' | 'beta' | 'gamma'>;
let between: Between;
let alpha: BedNode;
let beta: BedNode;
let gamma: BedNode;
let made = 0;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta', 'gamma'], {
    alpha: { SVC_NODE_AGENT_ID: VOTERS.alpha },
    beta: { SVC_NODE_AGENT_ID: VOTERS.beta },
    gamma: { SVC_NODE_AGENT_ID: VOTERS.gamma },
  });
  ({ between } = bed);
  ({ alpha, beta, gamma } = bed.nodes);
});

afterAll(() => bed.stop());

/** A topic of alpha. */
async function opened(over: Fields = {}, node = alpha): Promise<string> {
  const topic = `lunch-${(made += 1)}`;
  const answer = await node.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', ...over });
  expect(answer).toMatchObject({ topic, status: 'open' });
  return topic;
}

const votes = (node: BedNode, topic: string, agentId: string, choice: string) =>
  node.agora('consensus_vote', { topic, agentId, choice });
const pulls = (node: BedNode, from: string, topic: string) => node.agora('agora_pull', { node: from, topic });
const ledger = (node: BedNode, topic: string) => node.agora('consensus_get', { topic });

interface Counters {
  received: number;
  accepted: number;
  rejected: Record<string, number>;
}
const countersOf = async (node: BedNode) => (await node.agora('agora_sync_status', {}))['counters'] as Counters;

/** As `node` could say it that is not what it should be. */
async function saysTo(
  to: BedNode,
  from: BedNode,
  [type, body]: readonly [string, Fields],
  clock = { now: () => Date.now() },
  withinMs?: number,
): Promise<Fields | 'silence'> {
  return send(to, createSeal(from.keyring, { clock, random: systemRandom })(to.name, type, body).text, withinMs);
}

const A_WHILE_MS = 300;

async function send(to: BedNode, text: string, withinMs = 10_000): Promise<Fields | 'silence'> {
  const reply = await between.bus
    .request(subjectOf(to.name), text, { deadlineAt: Date.now() + withinMs })
    .catch(() => 'silence');
  const read = readEnvelope(reply);
  return typeof read === 'string' ? 'silence' : read.envelope.body;
}

const isRejected = async (node: BedNode, reason: string) => (await countersOf(node)).rejected[reason] ?? 0;

async function headerOf(topic: string): Promise<string> {
  const { header } = (await alpha.deps().federatedLedgers.copyAfter(topic, 0, 0)) as WireLedger;
  const { headerHash } = await import('../ledger/domain/ledger.ts');
  return headerHash(header);
}

async function ballotOf(node: BedNode, topic: string, voter: string, outcome: string): Promise<SignedBallot> {
  const ballot = { header: await headerOf(topic), topic, voter, node: node.name, outcome, votedAt: Date.now() };
  return { ballot, sig: node.keyring.sign('svc-agora-ballot', ballot) ?? '' };
}

describe('nodes that know each other', () => {
  test('a ballot of another node decides a topic, and a copy of it has the same hash', async () => {
    const topic = await opened();
    await votes(alpha, topic, 'ann', 'yes');
    expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' })).toMatchObject({
      voted: true,
      voter: 'bea',
      duplicate: false,
      tally: { status: 'passed', votes: 2 },
    });
    const { hash } = await ledger(alpha, topic);
    const pulled = { pulled: true, created: true, adopted: 2, status: 'passed', hash, verified: true };
    expect(await pulls(beta, 'alpha', topic)).toMatchObject(pulled);
    expect(await pulls(beta, 'alpha', topic)).toMatchObject({ ...pulled, created: false, adopted: 0 });
    expect(await pulls(gamma, 'beta', topic)).toMatchObject(pulled);
    expect(await ledger(gamma, topic)).toMatchObject({ owner: 'alpha', hash, decision: { winner: 'yes' } });
    expect(await gamma.agora('agora_vote', { node: 'beta', topic, outcome: 'yes' })).toMatchObject({
      voted: false,
      reason: 'not_owner',
      code: 'E_NOT_OWNER',
      owner: 'alpha',
    });
  });

  test('a lost answer makes no second ballot, and a second outcome is refused without a message', async () => {
    const topic = await opened();
    between.carry('well');
    await pulls(beta, 'alpha', topic);
    between.carry('answer lost');
    const lost = await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' });
    expect(lost).toMatchObject({ voted: false, reason: 'timeout', code: 'E_OUTCOME_UNKNOWN' });
    between.carry('well');
    // The header came in that answer, so it is asked for once more.
    await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' });
    expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' })).toMatchObject({
      voted: true,
      duplicate: true,
    });
    const said = between.said.length;
    expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'no' })).toMatchObject({
      voted: false,
      code: 'E_ALREADY_VOTED',
      previous: 'yes',
    });
    expect(between.said).toHaveLength(said);
    expect((await ledger(alpha, topic))['votes']).toHaveLength(1);
  });

  test('what is pushed is what its owner signed, and evidence goes to the owner', async () => {
    const topic = await opened();
    await votes(alpha, topic, 'ann', 'yes');
    const pushed = await alpha.agora('agora_push', { node: 'gamma', topic });
    const { hash } = await ledger(alpha, topic);
    expect(pushed).toMatchObject({ pushed: true, adopted: 1, created: true, status: 'open', hash });
    expect(await alpha.agora('agora_push', { node: 'gamma', topic })).toMatchObject({ adopted: 0, created: false });
  });

  test.each<readonly [string, string, Fields, Fields]>([
    [
      'agora_vote',
      'a node that nobody knows',
      { node: 'nobody', outcome: 'yes' },
      { reason: 'unknown_node', code: 'E_NODE' },
    ],
    ['agora_vote', 'itself', { node: 'beta', outcome: 'yes' }, { reason: 'self', code: 'E_NODE' }],
    ['agora_vote', 'no such topic', { node: 'alpha', outcome: 'yes' }, { reason: 'not_found', code: 'E_TOPIC_ABSENT' }],
    ['agora_pull', 'no such topic', { node: 'alpha' }, { reason: 'not_found', code: 'E_TOPIC_ABSENT' }],
    ['agora_push', 'no such topic', { node: 'alpha' }, { reason: 'not_found', code: 'E_TOPIC_ABSENT' }],
    [
      'agora_vote',
      'an agent that is not its own',
      { node: 'alpha', outcome: 'yes', agentId: 'ann' },
      { reason: 'not_registered', code: 'E_NOT_REGISTRY' },
    ],
  ])('%s is refused of %s', async (tool, _what, args, refusal) => {
    expect(await beta.agora(tool, { topic: 'nothing', ...args })).toMatchObject(refusal);
  });

  test('an outcome that is none, and a topic that is over, are refused', async () => {
    const topic = await opened({ minQuorum: 1 });
    expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'maybe' })).toMatchObject({
      code: 'E_OUTCOME',
      options: ['yes', 'no'],
    });
    await votes(alpha, topic, 'ann', 'yes');
    expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' })).toMatchObject({
      code: 'E_CLOSED',
    });
  });

  test('another topic of the same name is no copy', async () => {
    const topic = await opened();
    await beta.agora('consensus_create', { topic, options: ['a', 'b'], agentId: 'ann' });
    expect(await pulls(beta, 'alpha', topic)).toMatchObject({
      pulled: false,
      reason: 'conflict',
      code: 'E_TOPIC_CONFLICT',
    });
    expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({ code: 'E_TOPIC_CONFLICT' });
  });
});

describe('a peer that is not honest', () => {
  test('a message has its effect once: at once, later, after a restart; and none when it is too old', async () => {
    const topic = await opened();
    const seal = createSeal(beta.keyring, { clock: { now: () => Date.now() }, random: systemRandom });
    const captured = seal('alpha', 'ballot.cast', { ...(await ballotOf(beta, topic, 'bea', 'yes')) }).text;
    expect(await send(alpha, captured)).toMatchObject({ voted: true });
    const before = await countersOf(alpha);
    expect(await send(alpha, captured, A_WHILE_MS)).toBe('silence');
    alpha.skew(240_000);
    expect(await send(alpha, captured, A_WHILE_MS)).toBe('silence');
    await alpha.restart();
    alpha.skew(270_000);
    expect(await send(alpha, captured, A_WHILE_MS)).toBe('silence');
    alpha.skew(360_000);
    expect(await send(alpha, captured, A_WHILE_MS)).toBe('silence');
    alpha.skew(0);
    const after = await countersOf(alpha);
    expect((after.rejected['replay'] ?? 0) - (before.rejected['replay'] ?? 0)).toBe(3);
    // What the others say of themselves meanwhile is too old, too.
    expect((after.rejected['stale'] ?? 0) - (before.rejected['stale'] ?? 0)).toBeGreaterThanOrEqual(1);
    expect((await ledger(alpha, topic))['votes']).toHaveLength(1);
  });

  test('a clock may be four minutes ahead, and not six', async () => {
    const ask = ['topic.get', { topic: 'nothing', afterSeq: 0 }] as const;
    expect(await saysTo(alpha, beta, ask, { now: () => Date.now() + 240_000 })).toMatchObject({ absent: true });
    const stale = await isRejected(alpha, 'stale');
    const late = { now: () => Date.now() + 360_000 };
    expect(await saysTo(alpha, beta, ask, late, A_WHILE_MS)).toBe('silence');
    await expect.poll(() => isRejected(alpha, 'stale')).toBe(stale + 1);
  });

  test('it votes as nobody but its own principal', async () => {
    const topic = await opened();
    for (const voter of ['ann', VOTERS.gamma]) {
      const signed = await ballotOf(beta, topic, voter, 'yes');
      expect(await saysTo(alpha, beta, ['ballot.cast', { ...signed }])).toMatchObject({
        voted: false,
        code: 'E_NOT_REGISTRY',
      });
    }
    const ofGamma = await ballotOf(gamma, topic, VOTERS.gamma, 'yes');
    expect(await saysTo(alpha, beta, ['ballot.cast', { ...ofGamma }])).toMatchObject({ code: 'E_NOT_REGISTRY' });
    const unsigned = { ...(await ballotOf(beta, topic, 'bea', 'yes')), sig: ofGamma.sig };
    expect(await saysTo(alpha, beta, ['ballot.cast', unsigned])).toMatchObject({ code: 'E_SIGNATURE' });
    expect((await ledger(alpha, topic))['votes']).toEqual([]);
  });

  test('a topic that it may not see is one that does not exist, byte for byte', async () => {
    const { agentId } = await alpha.habitat('agent_spawn', { name: 'rhea', team: 'red' });
    const topic = await opened({ scope: { owner: `agent:${String(agentId)}` }, agentId });
    const answers = await Promise.all(
      [topic, 'nothing'].map(async (asked) => {
        const { re: _re, ...body } = (await saysTo(alpha, beta, [
          'topic.get',
          { topic: asked, afterSeq: 0 },
        ])) as Fields;
        return canonicalJson(body);
      }),
    );
    expect(answers).toEqual(['{"absent":true}', '{"absent":true}']);
    expect(await pulls(beta, 'alpha', topic)).toMatchObject({ code: 'E_TOPIC_ABSENT' });
    expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({
      reason: 'scope',
      code: 'E_SCOPE',
    });
    const cast = (asked: string) => beta.agora('agora_vote', { node: 'alpha', topic: asked, outcome: 'yes' });
    expect(await cast(topic)).toEqual(await cast('nothing'));
  });

  test('a voter that signed two outcomes is void on all nodes, in whatever order they hear of it', async () => {
    const topic = await opened({ minQuorum: 5 });
    await pulls(gamma, 'alpha', topic);
    const [yes, no] = [await ballotOf(beta, topic, 'bea', 'yes'), await ballotOf(beta, topic, 'bea', 'no')];
    expect(await saysTo(gamma, beta, ['ballot.cast', { ...no }])).toMatchObject({
      code: 'E_NOT_OWNER',
      owner: 'alpha',
    });
    expect(await saysTo(alpha, beta, ['ballot.cast', { ...yes }])).toMatchObject({ voted: true, votes: 1 });
    await votes(alpha, topic, 'ann', 'yes');
    await pulls(gamma, 'alpha', topic);
    await gamma.agora('agora_push', { node: 'alpha', topic });
    await pulls(beta, 'gamma', topic);
    const ledgers = await Promise.all([alpha, beta, gamma].map((node) => ledger(node, topic)));
    for (const each of ledgers) expect(each).toMatchObject({ voided: ['bea'], hash: ledgers[0]?.['hash'] });
    expect(await alpha.agora('consensus_tally', { topic })).toMatchObject({ votes: 1, counts: { yes: 1, no: 0 } });
  });

  test('what is proven after the decision is listed and changes nothing', async () => {
    const topic = await opened({ minQuorum: 1 });
    const [yes, no] = [await ballotOf(beta, topic, 'bea', 'yes'), await ballotOf(beta, topic, 'bea', 'no')];
    expect(await saysTo(alpha, beta, ['ballot.cast', { ...yes }])).toMatchObject({ status: 'passed' });
    const { hash } = await ledger(alpha, topic);
    expect(await saysTo(alpha, beta, ['ballot.cast', { ...no }])).toMatchObject({ code: 'E_ALREADY_VOTED' });
    const after = await ledger(alpha, topic);
    expect(after).toMatchObject({ status: 'passed', hash, voided: [] });
    expect(after['equivocators']).toEqual(['bea']);
  });

  test('nothing is taken that its owner did not sign, and what a copy claims of itself is not believed', async () => {
    const topic = await opened();
    await votes(alpha, topic, 'ann', 'yes');
    const copy = (await alpha.deps().federatedLedgers.copyAfter(topic, 0, 500)) as WireLedger;
    const schema = await isRejected(gamma, 'schema');
    const claimed = ['topic.push', { ...copy, status: 'passed' }] as const;
    expect(await saysTo(gamma, alpha, claimed, undefined, A_WHILE_MS)).toBe('silence');
    await expect.poll(() => isRejected(gamma, 'schema')).toBe(schema + 1);
    const [first] = copy.entries;
    if (first === undefined) throw new Error('no entry');
    const forged = { ...copy, entries: [{ ...first, sig: beta.keyring.sign('svc-agora-entry', first.entry) ?? '' }] };
    expect(await saysTo(gamma, beta, ['topic.push', forged])).toMatchObject({ refused: 'bad_signature' });
    const decision = {
      status: 'passed' as const,
      winner: 'yes',
      votes: 1,
      percentage: 100,
      counts: { yes: 1, no: 0 },
      decidedAt: Date.now(),
      entries: 1,
      voided: [],
    };
    const sig = alpha.keyring.sign('svc-agora-decision', decision) ?? '';
    expect(await saysTo(gamma, alpha, ['topic.push', { ...copy, decision: { decision, sig } }])).toMatchObject({
      refused: 'disputed',
    });
    expect(await ledger(gamma, topic)).toMatchObject({ status: 'open', disputed: true });
    expect(await pulls(gamma, 'alpha', topic)).toMatchObject({ reason: 'disputed', code: 'E_LEDGER_FORK' });
  });
});
