/** kill -9 at random points of write and commit; start again; nothing acknowledged is missing. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { assertSound, git } from '../instruments/git.ts';
import { Ledger } from '../instruments/ledger.ts';
import { reader } from '../instruments/load.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { KILL_ROUNDS, promised } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const WRITERS = 6;
/** Writes of a round, besides a commit, before its kill may come. */
const WARM_UP_WRITES = 10;
/** On the cluster the first seconds may pass until the others know that the owner of the brain is dead. */
const NEXT_WRITE_WITHIN_MS = { embedded: promised(2000), cluster: promised(4000) } as const;

const target = ownTarget();

interface Round {
  readonly user: Caller;
  readonly brain: string;
  readonly ledger: Ledger;
  readonly commits: string[];
  readonly number: number;
  over: boolean;
}

/** Writes and commits one after the other until the round is over or the connection breaks. */
async function work(round: Round, writer: number): Promise<void> {
  for (let step = 0; !round.over; step += 1) {
    try {
      if (writer === 0) await commit(round, step);
      else await write(round, `w${writer}/${step % 3}.md`, `${round.number}.${step}`);
    } catch {
      return;
    }
  }
}

async function write({ user, brain, ledger }: Round, name: string, content: string): Promise<void> {
  ledger.sent(name, content);
  const reply = await user.call('brain_write', { brain, name, content });
  if (codeOf(reply) === null) ledger.acknowledged(name, content);
}

async function commit({ user, brain, commits, number }: Round, step: number): Promise<void> {
  const reply = await user.call('svc_commit', { brain, message: `round ${number} step ${step}` });
  const { committed, commit: id } = (reply.body.result?.content ?? {}) as Fields;
  if (codeOf(reply) === null && committed === true) commits.push(String(id));
}

/** Resolves when a write is acknowledged. */
async function nextWrite(user: Caller, brain: string, withinMs: number): Promise<void> {
  const heard: string[] = [];
  const accepted = async () => {
    const reply = await user.call('brain_write', { brain, name: 'probe', content: randomUUID() });
    heard.push(`${Math.round(performance.now())} ${reply.text.slice(0, 200)}`);
    return codeOf(reply) === null;
  };
  await waitFor(accepted, { withinMs, what: 'the first write after a kill' }).catch((error: unknown) => {
    throw new Error(`no write was accepted within ${withinMs} ms; heard:\n${heard.slice(-5).join('\n')}`, {
      cause: error,
    });
  });
}

verifies(
  'brain:crash:nothing-lost',
  async ({ place, random, report }) => {
    const { brains, gateways } = target.get();
    const user = new Caller(place);
    // While processes are killed: it asks again sooner.
    const impatient = new Caller(place, { headers: { 'x-svc-timeout-ms': '1500' } });
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    const folder = brainFolder(place, brain);
    const ledger = new Ledger();
    const commits: string[] = [];
    const nextWriteMs: number[] = [];
    for (let number = 0; number < KILL_ROUNDS; number += 1) {
      const round: Round = { user: impatient, brain, ledger, commits, number, over: false };
      const working = Array.from({ length: WRITERS }, (_, writer) => work(round, writer));
      const before = [ledger.acknowledgedWrites + WARM_UP_WRITES, commits.length] as const;
      const isUnderWay = () => ledger.acknowledgedWrites >= before[0] && commits.length > before[1];
      await waitFor(isUnderWay, {
        what: 'the writers to be under way',
      });
      await delay(random.int(0, 300));
      await Promise.all(brains.map((one) => one.kill()));
      round.over = true;
      for (const one of brains) one.spawn();
      await Promise.all(working);
      for (const one of gateways) await one.ready();
      const readyAt = performance.now();
      await nextWrite(impatient, brain, NEXT_WRITE_WITHIN_MS[place.kind]);
      nextWriteMs.push(performance.now() - readyAt);
      expect(await ledger.lost(reader(user, brain))).toEqual([]);
      assertSound(folder);
    }
    const history = new Set(git(folder, 'rev-list', 'main').split('\n'));
    expect(commits.filter((id) => !history.has(id))).toEqual([]);
    await user.ok('svc_commit', { brain, message: 'after all kills' });
    expect(git(folder, 'status', '--porcelain')).toBe('');
    expect(ledger.acknowledgedWrites).toBeGreaterThanOrEqual(KILL_ROUNDS * WARM_UP_WRITES);
    expect(commits.length).toBeGreaterThanOrEqual(KILL_ROUNDS);
    report(
      `${KILL_ROUNDS} kills: ${ledger.acknowledgedWrites} acknowledged writes, ${commits.length} commits, none lost; ` +
        `next write at most ${Math.round(Math.max(...nextWriteMs))} ms after ready`,
    );
  },
  { on: target, timeoutMs: 300_000 + KILL_ROUNDS * 20_000 },
);
