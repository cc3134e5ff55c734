/** `kill -9` before each statement of each change of a trade, also those of its ledger: finished or repeated, it is done once. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOON_ENDED } from '@svc/testing/soon-ended.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const FIXTURE = join(import.meta.dirname, '..', '..', 'testing', 'crash.fixture.ts');
/** More than any of them has: the process then dies when all is done and nobody was told. */
const AFTER_ALL = 99;

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
}

interface Outcome {
  readonly state: string;
  readonly taken: string;
  /** Spent, held and earned of the buyer, then of the seller. */
  readonly purses: readonly [string, string];
  readonly events: string;
}

const OPENED = 'trade:opened';
const ACTS: Readonly<Record<string, Outcome>> = {
  buy: { state: 'pending_delivery none', taken: '1', purses: ['0 40 0', '0 0 0'], events: OPENED },
  deliver: { state: 'delivered none', taken: '1', purses: ['0 40 0', '0 0 0'], events: `${OPENED} trade:delivered` },
  confirm: {
    state: 'confirmed done',
    taken: '1',
    purses: ['40 0 0', '0 0 40'],
    events: `${OPENED} trade:delivered trade:confirmed trade:settled`,
  },
  cancel: {
    state: 'cancelled done',
    taken: '0',
    purses: ['0 0 0', '0 0 0'],
    events: `${OPENED} trade:cancelled trade:settled`,
  },
};

/** Before which statements an act is cut off, beside where all is done; `act`: its place among them. */
export type Cuts = (act: number) => readonly number[];

/** `begin` resolves with what the fixture opens, which nobody else has open. */
export function describeTradeCrashes(name: string, begin: () => Promise<string>, cuts: Cuts): void {
  describe(`kill -9: ${name}`, () => {
    let place = '';
    let turns = 0;
    /** Who is killed clears nothing away. */
    const left = mkdtempSync(join(tmpdir(), 'market-killed-'));
    beforeAll(async () => {
      place = await begin();
    });
    afterAll(() => rmSync(left, { recursive: true, force: true }));

    const run = (act: string, prefix: string, killBefore: number): Promise<Ended> => {
      const child = spawn(process.execPath, [...SOON_ENDED, FIXTURE, place, act, prefix, String(killBefore)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, TMPDIR: left },
      });
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      return new Promise((resolve) => {
        child.once('close', (_code, signal) => resolve({ signal, said }));
      });
    };

    const cases = Object.keys(ACTS).flatMap((act, index) =>
      [...cuts(index), AFTER_ALL].map((at) => [act, at] as const),
    );
    test.each(cases)('%s cut off before statement %i is done once', { timeout: 120_000 }, async (act, at) => {
      turns += 1;
      const prefix = `k${turns}x`;
      expect(await run(act, prefix, at)).toEqual({ signal: 'SIGKILL', said: '' });
      const { said } = await run(act, prefix, 0);
      const found = JSON.parse(said) as Record<string, Record<string, string>>;
      const [tradeId = ''] = Object.keys(found['trades'] ?? {});
      const { state, taken, purses, events } = ACTS[act] ?? expect.fail(`no act ${act}`);
      expect(found).toMatchObject({
        finished: [],
        said: null,
        wrong: [],
        trades: { [tradeId]: state },
        taken: { [`lst_${prefix}0`]: taken },
        purses: { [`${prefix}b`]: purses[0], [`${prefix}a`]: purses[1] },
        events: { [tradeId]: events },
      });
      expect(Object.keys(found['trades'] ?? {})).toHaveLength(1);
    });
  });
}
