/** Islands and processes that end: politely, and by kill -9 in the middle of many. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { assertSound } from '../instruments/git.ts';
import { brainServed } from '../instruments/served.ts';
import { ISLAND_KILLS_INSIDE, ISLAND_ROUNDS_WITH_ALL } from '../settings.ts';
import { brainFolder, type OwnTarget } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget();

const MADE_TOGETHER = 200;
const MOST_ROUNDS = 40;

async function begin({ brains, whole }: OwnTarget): Promise<void> {
  for (const one of brains) one.spawn();
  await whole();
}

/** How many islands the brain has, as soon as it is served again. */
async function served(user: Caller, brain: string): Promise<number> {
  await brainServed(user, brain);
  let count = 0;
  for (let page: Fields = {}, more = true; more; more = page.nextCursor !== undefined) {
    const from = page.nextCursor === undefined ? {} : { cursor: page.nextCursor };
    page = await user.ok('svc_get_islands', { brain, limit: 1000, ...from });
    count += Number(page.count);
  }
  return count;
}

/** A call under way, which may end with its connection. */
class Making {
  isOver = false;
  readonly #reply: Promise<Reply | null>;

  constructor(call: Promise<Reply>) {
    this.#reply = call.catch(() => null).finally(() => (this.isOver = true));
  }

  async isAcknowledged(): Promise<boolean> {
    const reply = await this.#reply;
    return reply !== null && codeOf(reply) === null;
  }
}

verifies(
  'islands:create',
  async ({ place }) => {
    const user = new Caller(place);
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    await user.ok('svc_create_branch', { name: 'without' });
    await user.ok('svc_create_island', { name: 'ops', triggers: ['Deploy', 'deploy'], content: 'x' });
    await Promise.all(target.get().brains.map((one) => one.stop()));
    await begin(target.get());
    expect(await served(user, brain)).toBe(1);
    expect(await user.ok('svc_get_islands', { brain })).toMatchObject({
      islands: [{ name: 'ops', triggers: ['deploy'], branch: 'main', brain }],
    });
    expect(await user.ok('svc_get_islands', { brain, branch: 'without' })).toMatchObject({ count: 0 });
  },
  { on: target, title: 'a restart lists it' },
);

verifies(
  'islands:bulk',
  async ({ place, random, report }) => {
    const { brains } = target.get();
    const user = new Caller(place);
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    await user.ok('svc_create_island', { name: 'first' });
    const journal = join(place.dataDir, 'journal');
    const isInside = (): boolean =>
      existsSync(journal) && readdirSync(journal).some((name) => name.startsWith(`${brain}.stp_`));
    const startedAt = performance.now();
    const warmUp = Array.from({ length: MADE_TOGETHER }, (_, n) => ({ name: `warm-${n}`, content: 'x'.repeat(1000) }));
    await user.ok('svc_bulk_create_islands', { brain, islands: warmUp });
    const longestMs = Math.ceil(performance.now() - startedAt);
    const seen = { inside: 0, none: 0, all: 0, acknowledged: 0 };
    let expected = 1 + MADE_TOGETHER;
    for (let round = 0; seen.inside < ISLAND_KILLS_INSIDE || seen.all < ISLAND_ROUNDS_WITH_ALL; round += 1) {
      expect(round, JSON.stringify(seen)).toBeLessThan(MOST_ROUNDS);
      const islands = Array.from({ length: MADE_TOGETHER }, (_, n) => ({
        name: `r${round}-${n}`,
        triggers: [`t${n}`],
        content: `${random.int(0, 9)}`.repeat(1000),
      }));
      const headers = { 'idempotency-key': newName('bulk') };
      const impatient = { headers: { ...headers, 'x-svc-timeout-ms': '5000' } };
      const made = new Making(user.call('svc_bulk_create_islands', { brain, islands }, impatient));
      while (!made.isOver && !isInside()) await nextTurn();
      await delay(random.int(0, longestMs));
      await Promise.all(brains.map((one) => one.kill()));
      if (isInside()) seen.inside += 1;
      await begin(target.get());
      const isAcknowledged = await made.isAcknowledged();
      const count = (await served(user, brain)) - expected;
      expect([round, [0, MADE_TOGETHER].includes(count), isAcknowledged && count === 0]).toEqual([round, true, false]);
      expect(isInside()).toBe(false);
      if (isAcknowledged) seen.acknowledged += 1;
      seen[count === 0 ? 'none' : 'all'] += 1;
      const again = await user.call('svc_bulk_create_islands', { brain, islands }, { headers });
      expect([codeOf(again), again.headers['idempotency-replayed'] ?? 'false']).toEqual([null, String(count !== 0)]);
      expected += MADE_TOGETHER;
      expect(await served(user, brain)).toBe(expected);
      assertSound(brainFolder(place, brain));
    }
    report(
      `${seen.none + seen.all} kills around a bulk of ${MADE_TOGETHER}, ${seen.inside} of them inside: ` +
        `${seen.none} left none, ${seen.all} left all (${seen.acknowledged} acknowledged)`,
    );
  },
  { on: target, timeoutMs: 300_000 + ISLAND_KILLS_INSIDE * 60_000, title: 'kill -9 inside a bulk leaves none or all' },
);
