/** A deployment of any form among others: whichever of its processes is asked, it is one member, and outlives each of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { startNats } from '@svc/testing/servers/nats.ts';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { type Deployment, deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { changedMessage, connectImpostor, forgedBallot } from '../instruments/impostor.ts';
import { insisted } from '../instruments/persistent-calls.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { CHANGED_MESSAGES } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { EACH_APART, newName, ownTarget, type Preparation, verifies } from '../verifies.ts';

const target = ownTarget(onBusOfOwn, { apart: EACH_APART });
const OPTIONS = ['yes', 'no'];
/** Where the deployments of this file meet. */
let meetingAt = '';

async function onBusOfOwn(): Promise<Preparation> {
  const nats = await startNats({ config: 'max_connections: 100' });
  if (nats === null) throw new Error('there is no NATS server');
  meetingAt = nats.url;
  return { environment: member('alpha', 'al', nats.url), dispose: () => nats.stop() };
}

interface Peer {
  readonly name: string;
  readonly online: boolean;
  readonly conflict: boolean;
}

async function expectOneMember(place: Caller['place'], { caller }: Deployment): Promise<void> {
  const { peers } = await caller.ok<{ peers: Peer[] }>('agora_nodes');
  expect(peers.find(({ name }) => name === 'alpha')).toMatchObject({ online: true, conflict: false });
  for (const gateway of place.gateways.keys()) {
    const { self } = await new Caller(place, { gateway }).ok<{ self: Fields }>('agora_nodes');
    expect(self).toMatchObject({ name: 'alpha', agentId: 'al', configured: true, listening: true });
  }
}

const voteAbroad = ({ caller }: Deployment, topic: string, outcome: string): Promise<Fields> =>
  insisted(caller, 'agora_vote', { node: 'alpha', topic, outcome });

/** What is asked of the owner for a topic that there is not, and for one that the asker may not see. */
async function answersTo({ caller }: Deployment, topic: string): Promise<string[]> {
  const abroad = { node: 'alpha', topic };
  const replies = await Promise.all([
    caller.call('agora_pull', abroad),
    caller.call('agora_vote', { ...abroad, outcome: 'yes' }),
  ]);
  return replies.map(({ body }) => JSON.stringify(body.result?.['content']).replaceAll(topic, '<topic>'));
}

verifies(
  'agora:federation:member',
  async ({ place }) => {
    const operator = new Caller(place, { gateway: 1 });
    const [beta, gamma] = await Promise.all([
      deployment(member('beta', 'bea', meetingAt)),
      deployment(member('gamma', 'gus', meetingAt)),
    ]);
    for (const { caller } of [beta, gamma]) await untilHeard(caller, 'alpha');
    for (const name of ['beta', 'gamma']) await untilHeard(operator, name);
    await expectOneMember(place, beta);

    const topic = newName('lunch');
    await operator.ok('consensus_create', { topic, options: OPTIONS, minQuorum: 3, agentId: 'ann' });
    await operator.ok('consensus_vote', { topic, choice: 'yes', agentId: 'ann' }, { gateway: 0 });
    expect(await voteAbroad(beta, topic, 'yes')).toMatchObject({ voter: 'bea', duplicate: false, tally: { votes: 2 } });
    const [one] = target.get().of('agora');
    await one?.kill();
    one?.spawn();
    expect(await voteAbroad(beta, topic, 'yes')).toMatchObject({ duplicate: true, tally: { votes: 2 } });
    const changed = { node: 'alpha', topic, outcome: 'no' };
    expect(await beta.caller.refused('E_ALREADY_VOTED', 'agora_vote', changed)).toMatchObject({ previous: 'yes' });
    for (const agentId of ['ann', 'gus']) {
      await beta.caller.refused('E_NOT_REGISTRY', 'agora_vote', { node: 'alpha', topic, outcome: 'yes', agentId });
    }
    expect(await voteAbroad(gamma, topic, 'yes')).toMatchObject({ duplicate: false, tally: { status: 'passed' } });
    for (const gate of target.get().gateways) await gate.ready();
    const { hash } = await operator.ok('consensus_get', { topic });
    for (const { caller } of [beta, gamma]) {
      const pulled = await insisted(caller, 'agora_pull', { node: 'alpha', topic });
      expect(pulled).toMatchObject({ pulled: true, adopted: 3, status: 'passed', hash, verified: true });
      expect(await caller.ok('consensus_get', { topic })).toMatchObject({ hash, owner: 'alpha', votes: { length: 3 } });
    }

    const { agentId } = await operator.ok('agent_spawn', { team: newName('t').replaceAll('-', ''), name: 'rhea' });
    const hidden = newName('hidden');
    const scope = { owner: `agent:${String(agentId)}` };
    await operator.ok('consensus_create', { topic: hidden, options: OPTIONS, scope, agentId });
    expect(await answersTo(beta, hidden)).toEqual(await answersTo(beta, newName('never')));
    await operator.refused('E_SCOPE', 'agora_push', { node: 'beta', topic: hidden });
  },
  { on: target },
);

const SENT_AT_ONCE = 100;

interface Counters {
  readonly accepted: number;
  readonly rejected: Readonly<Record<string, number>>;
}

/** Longer than twice the time after which a process writes down what it has counted, so that others know it. */
const WRITTEN_WITHIN_MS = 5000;

/** A count once nothing is on its way to it any more. */
async function unchanging(count: () => Promise<number>): Promise<number> {
  let last = await count();
  for (;;) {
    await delay(WRITTEN_WITHIN_MS);
    const now = await count();
    if (now === last) return now;
    last = now;
  }
}

verifies(
  'agora:federation:changed',
  async ({ place, random, report }) => {
    const operator = new Caller(place, { gateway: 1 });
    const epsilon = await deployment(member('epsilon', 'eli', meetingAt));
    const impostor = await connectImpostor(meetingAt, 'alpha');
    await untilHeard(epsilon.caller, 'alpha');
    await untilHeard(operator, 'epsilon');
    const rejected = async () => {
      const { counters } = await operator.ok<{ counters: Counters }>('agora_sync_status');
      return Object.values(counters.rejected).reduce((sum, count) => sum + count, 0);
    };
    const topic = newName('lunch');
    await operator.ok('consensus_create', { topic, options: OPTIONS, minQuorum: 5, agentId: 'ann' });
    const question = { from: 'epsilon', type: 'topic.get', body: { topic, afterSeq: 0 } };
    // One of the processes may not have heard of epsilon yet; it rejects the question, and counts that.
    const { header } = await waitFor<Fields | null>(() => impostor.say(question), { what: 'an answer' });
    const ballot = () => {
      const body = forgedBallot(header as Fields, { node: 'epsilon', voter: 'eli', outcome: 'yes' });
      return impostor.written({ from: 'epsilon', type: 'ballot.cast', body });
    };

    const before = await unchanging(rejected);
    for (let sent = 0; sent < CHANGED_MESSAGES; sent += SENT_AT_ONCE) {
      const texts = Array.from({ length: SENT_AT_ONCE }, () => changedMessage(ballot(), random));
      expect((await Promise.all(texts.map(impostor.send))).filter((answer) => answer !== null)).toEqual([]);
    }
    const count = Math.ceil(CHANGED_MESSAGES / SENT_AT_ONCE) * SENT_AT_ONCE;
    // What one process has counted the others know when it has written that down.
    await waitFor(async () => (await rejected()) === before + count, { what: 'all of them to be counted' });
    expect(await operator.ok('consensus_get', { topic })).toMatchObject({ status: 'open', votes: [] });
    expect(await impostor.ask(ballot())).toMatchObject({ voted: true, votes: 1 });
    expect(await rejected()).toBeLessThanOrEqual(before + count);
    report(`${count} changed messages: none had an effect, each was counted`);
  },
  { on: target, timeoutMs: 120_000 + CHANGED_MESSAGES * 50 },
);

/** What another secret than theirs would sign. */
const OTHER_SECRET = 'another secret than that of all';
const MINUTE_MS = 60_000;

verifies(
  'agora:federation:hostile',
  async ({ place }) => {
    const operator = new Caller(place, { gateway: 1 });
    const delta = await deployment(member('delta', 'dee', meetingAt));
    const impostor = await connectImpostor(meetingAt, 'alpha');
    await untilHeard(delta.caller, 'alpha');
    await untilHeard(operator, 'delta');
    /** Nobody answers it, and it is counted: as often as another process needs to write that down. */
    const expectRejected = async (reason: string, send: () => Promise<Fields | null>) => {
      const counted = async () => {
        const { counters } = await operator.ok<{ counters: { rejected: Record<string, number> } }>('agora_sync_status');
        return counters.rejected[reason] ?? 0;
      };
      const before = await counted();
      const isCounted = async () => {
        expect(await send()).toBeNull();
        return (await counted()) > before;
      };
      await waitFor(isCounted, { everyMs: 300, what: `a message to be counted as ${reason}` });
    };

    const topic = newName('lunch');
    await operator.ok('consensus_create', { topic, options: OPTIONS, minQuorum: 5, agentId: 'ann' });
    await voteAbroad(delta, topic, 'yes');
    const ballot = impostor.recorded('ballot.cast').text;
    await expectRejected('replay', () => impostor.send(ballot));
    await killed(target.get().of('agora'));
    await target.get().whole();
    await expectRejected('replay', () => impostor.send(ballot));
    expect(await operator.ok('consensus_get', { topic })).toMatchObject({ status: 'open', votes: { length: 1 } });

    const question = { from: 'delta', type: 'topic.get', body: { topic, afterSeq: 0 } };
    const within = () => impostor.say({ ...question, ts: Date.now() + 4 * MINUTE_MS });
    expect(await waitFor(within, { what: 'an answer' })).toMatchObject({ header: { topic }, entries: { length: 1 } });
    const dropped = {
      stale: () => impostor.say({ ...question, ts: Date.now() + 6 * MINUTE_MS }),
      signature: () => impostor.say({ ...question, secret: OTHER_SECRET }),
      unknown: () => impostor.say({ ...question, from: 'mallory' }),
      misdirected: () => impostor.say({ ...question, to: 'gamma' }),
      schema: () => impostor.say({ ...question, type: 'topic.drop' }),
      size: () => impostor.say({ ...question, body: { topic: 'x'.repeat(600_000) } }),
    };
    for (const [reason, send] of Object.entries(dropped)) await expectRejected(reason, send);

    const theirs = newName('theirs');
    await delta.caller.ok('consensus_create', { topic: theirs, options: OPTIONS, agentId: 'ann' });
    await delta.caller.ok('consensus_vote', { topic: theirs, choice: 'yes', agentId: 'ann' });
    await insisted(delta.caller, 'agora_push', { node: 'alpha', topic: theirs });
    impostor.announce('eve');
    await untilHeard(operator, 'eve');
    const forged = withOneMore(impostor.recorded('topic.push').body);
    const push = () => impostor.say({ from: 'eve', type: 'topic.push', body: forged });
    expect(await waitFor(push, { what: 'an answer' })).toMatchObject({ refused: 'bad_signature' });
    expect(await operator.ok('consensus_get', { topic: theirs })).toMatchObject({
      status: 'open',
      votes: { length: 1 },
      hash: await hashAt(delta, theirs),
    });
  },
  { on: target },
);

interface Signed {
  readonly sig: string;
  readonly entry: { readonly ballot: Fields };
}

/** A ballot that its owner never admitted, and the decision that it would bring; both with a signature of the owner for something else. */
function withOneMore(ledger: Fields): Fields {
  const [first] = ledger['entries'] as [Signed];
  const { sig, entry } = first;
  const more = { sig, entry: { ...entry, seq: 2, ballot: { ...entry.ballot, voter: 'eve-agent' } } };
  const decision = {
    status: 'passed',
    winner: 'yes',
    votes: 2,
    percentage: 100,
    counts: { yes: 2, no: 0 },
    decidedAt: Date.now(),
    entries: 2,
    voided: [],
  };
  return { ...ledger, entries: [first, more], decision: { decision, sig } };
}
