/** kill -9 while messages are sent, tasks delegated and ballots cast: no gap, nothing lost, nothing twice, and who subscribed still is. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { insisted } from '../instruments/persistent-calls.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { AGORA_KILL_ROUNDS, AGORA_NODE_KILL_ROUNDS } from '../settings.ts';
import { killed, type ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget, TargetPlace } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const SENDERS = 6;
const STEPS_BEFORE = 20;
const VOTERS_AT_ONCE = 3;
/** An inbox takes a thousand that nobody has done. */
const TASKS_OF_EACH = 500;

interface Work {
  steps: number;
  over: boolean;
}

async function keepSending(who: Caller, channel: string, work: Work): Promise<Fields[]> {
  const said: Fields[] = [];
  while (!work.over) {
    const content = newName('m');
    said.push({ ...(await insisted(who, 'msg_send', { channel, content })), content });
    work.steps += 1;
  }
  return said;
}

/** To an agent after the other; by agent what it was told. */
async function keepDelegating(who: Caller, work: Work): Promise<ReadonlyMap<string, string[]>> {
  const told = new Map<string, string[]>();
  while (!work.over) {
    const team = newName('t').replaceAll('-', '');
    const id = String((await insisted(who, 'agent_spawn', { team, name: 'worker' }))['agentId']);
    const tasks: string[] = [];
    told.set(id, tasks);
    while (!work.over && tasks.length < TASKS_OF_EACH) {
      const task = newName('task');
      await insisted(who, 'svc_agents_delegate_mcp', { id, task });
      tasks.push(task);
      work.steps += 1;
    }
  }
  return told;
}

/** Each arrives in the channel of its agent, once. */
async function expectDelegated(place: TargetPlace, told: ReadonlyMap<string, string[]>): Promise<void> {
  for (const [id, tasks] of told) {
    const inbox = `agent:${id}`;
    await waitFor(async () => (await allOf(place, inbox)).length >= tasks.length, { what: 'all tasks to arrive' });
    expect((await allOf(place, inbox)).map(({ content }) => content).sort()).toEqual([...tasks].sort());
  }
}

interface Cast {
  readonly voter: string;
  readonly outcome: string;
}

const OPTIONS = ['yes', 'no', 'later'];

/** A voter after the other, each with one ballot. */
async function keepVoting(who: Caller, topic: string, work: Work): Promise<Cast[]> {
  const cast: Cast[] = [];
  while (!work.over) {
    const [voter, outcome] = [newName('voter'), OPTIONS[cast.length % OPTIONS.length] ?? ''];
    const answer = await insisted(who, 'consensus_vote', { topic, choice: outcome, agentId: voter });
    expect(answer).toMatchObject({ voted: true, voter, outcome });
    cast.push({ voter, outcome });
    work.steps += 1;
  }
  return cast;
}

async function expectBallots(who: Caller, topic: string, cast: readonly Cast[]): Promise<void> {
  const { votes, hash } = await who.ok<{ votes: Cast[]; hash: string }>('consensus_get', { topic });
  const byVoter = (all: readonly Cast[]) => all.map(({ voter, outcome }) => `${voter} ${outcome}`).sort();
  expect(byVoter(votes)).toEqual(byVoter(cast));
  const tally = await who.ok('consensus_tally', { topic });
  expect(tally).toMatchObject({ status: 'open', votes: cast.length, hash });
  const counts = Object.fromEntries(OPTIONS.map((one) => [one, cast.filter(({ outcome }) => outcome === one).length]));
  expect(tally.counts).toEqual(counts);
}

function victimsOf({ place, everybody, of }: OwnTarget, round: number): readonly ServiceProcess[] {
  if (place.kind === 'embedded') return everybody;
  return [of('agora').slice(0, 1), of('habitat'), of('agora')][round % 3] ?? [];
}

const roundsOf = ({ place }: OwnTarget): number =>
  place.kind === 'cluster' ? AGORA_KILL_ROUNDS : AGORA_NODE_KILL_ROUNDS;

async function suffer(work: Work, pause: () => number): Promise<number> {
  const wanted = roundsOf(target.get());
  let rounds = 0;
  for (; rounds < wanted; rounds += 1) {
    const before = work.steps;
    await waitFor(() => work.steps >= before + STEPS_BEFORE, { what: 'messages to be under way' });
    await delay(pause());
    await killed(victimsOf(target.get(), rounds));
    for (const one of target.get().gateways) await one.ready();
  }
  return rounds;
}

async function allOf(place: TargetPlace, channel: string) {
  const messages: { seq: number; content: string; id: string }[] = [];
  let cursor: string | undefined;
  do {
    const args = { channel, after: 0, limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
    const page = await new Caller(place).ok<{ messages: typeof messages; nextCursor?: string }>('msg_list', args);
    messages.push(...page.messages);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return messages;
}

verifies(
  ['messages:killed', 'consensus:killed'],
  async ({ place, random, report, socket, caller }) => {
    const { workspace, members } = await createMembers(place, ...Array<string>(SENDERS).fill('viewer'));
    const ear = await addMember(place, workspace, 'viewer');
    const channel = `ws:${workspace}:ops`;
    await ear.caller.ok('msg_subscribe', { channel, handler: 'still' });
    const work: Work = { steps: 0, over: false };
    const impatient = { headers: { 'x-svc-timeout-ms': '3000' } };
    const sending = members.map(({ caller: who }) => keepSending(who.with(impatient), channel, work));
    const voter = new Caller(place, impatient);
    const [topic, overdue] = [newName('topic'), newName('topic')];
    await caller().ok('consensus_create', { topic, options: OPTIONS, minQuorum: 1000, agentId: newName('author') });
    const closing = await caller().ok('consensus_create', {
      topic: overdue,
      options: OPTIONS,
      deadline: Date.now() + 3000,
      agentId: newName('author'),
    });
    const voting = Array.from({ length: VOTERS_AT_ONCE }, () => keepVoting(voter, topic, work));
    const delegating = keepDelegating(new Caller(place, impatient), work);
    const rounds = await suffer(work, () => random.int(0, 250)).finally(() => {
      work.over = true;
    });
    await target.get().whole();
    const [said, told] = [(await Promise.all(sending)).flat(), await delegating];
    const cast = (await Promise.all(voting)).flat();
    await expectBallots(caller(), topic, cast);
    expect(await caller().ok('consensus_get', { topic: overdue })).toMatchObject({
      status: 'expired',
      decision: { decidedAt: closing.deadline },
    });

    const kept = await allOf(place, channel);
    expect(kept.map(({ seq }) => seq)).toEqual([...kept.keys()].map((n) => n + 1));
    expect(new Set(kept.map(({ content }) => content)).size).toBe(kept.length);
    const bySeq = new Map(kept.map((one) => [one.seq, one]));
    for (const one of said) expect(bySeq.get(Number(one.seq))).toMatchObject({ content: one.content, id: one.id });
    await expectDelegated(place, told);

    const { token } = await caller().ok('svc_habitat_mintToken', { agentId: ear.id });
    const listener = await socket({ auth: { token: String(token) } });
    await listener.subscribe({ events: ['msg:delivered'] });
    const { seq } = await memberAt({ workspace, members }, 0).caller.ok('msg_send', { channel, content: 'the last' });
    expect(await listener.until('the last', (event) => event.seq === seq)).toMatchObject({ handler: 'still', channel });
    report(
      `${rounds} kills: ${kept.length} messages without a gap, ${said.length} acknowledged, ${[...told.values()].flat().length} tasks, ${cast.length} ballots`,
    );
  },
  { on: target, timeoutMs: 300_000 + (AGORA_KILL_ROUNDS + AGORA_NODE_KILL_ROUNDS) * 15_000 },
);
