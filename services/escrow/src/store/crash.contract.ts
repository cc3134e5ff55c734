/** `kill -9` at every statement of a change of the ledger, and at any moment: nothing acknowledged is lost, nothing is done twice. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Database } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { SOON_ENDED } from '@svc/testing/soon-ended.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readViolations } from './invariants.ts';

const FIXTURE = join(import.meta.dirname, '..', '..', 'testing', 'crash.fixture.ts');
/** More than any change has: the process then dies between COMMIT and its answer. */
const AFTER_COMMIT = 99;
/** The statements of a capture, from BEGIN to COMMIT. */
const STATEMENTS = [1, 2, 3, 4, 5, 6, 7, 8, AFTER_COMMIT];

/** About as long as a few spends take. */
const MOMENTS_MS = 20;

export interface CrashSetup {
  /** What the fixture opens. */
  readonly place: string;
  /** Opens the same database; only while no fixture has it open. */
  open(): Promise<Database>;
  stop(): Promise<void>;
}

interface CrashOptions {
  /** Before which statements of a capture it is cut off; all when absent. */
  readonly statements?: readonly number[];
  readonly storms: number;
}

interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
}

export function describeCrashes(
  name: string,
  begin: () => Promise<CrashSetup>,
  { statements = STATEMENTS, storms }: CrashOptions,
): void {
  describe(`kill -9: ${name}`, () => {
    let setup: CrashSetup;
    let buyer = '';
    let buyers = 0;
    beforeAll(async () => {
      setup = await begin();
    });
    afterAll(() => setup.stop());
    beforeEach(() => {
      buyer = `buyer${(buyers += 1)}`;
    });

    /** `linesAtLeast`: it is killed in the moments after it has said so many. */
    const run = (action: string, killBefore = 0, linesAtLeast?: number): Promise<Ended> => {
      const child = spawn(process.execPath, [...SOON_ENDED, FIXTURE, setup.place, action, buyer, String(killBefore)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      let isDoomed = linesAtLeast === undefined;
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (isDoomed || said.split('\n').length <= (linesAtLeast ?? 0)) return;
        isDoomed = true;
        setTimeout(() => child.kill('SIGKILL'), Math.random() * MOMENTS_MS);
      });
      return new Promise((resolve) => {
        child.once('close', (_code, signal) => resolve({ signal, said }));
      });
    };

    /** After a look at everything that must hold. */
    const inspect = async (...queries: readonly string[]): Promise<object[][]> => {
      const database = await setup.open();
      try {
        expect(await readViolations(poolClient(database.pool))).toEqual([]);
        const answers: object[][] = [];
        for (const sql of queries) answers.push((await database.pool.query(sql, [buyer])).rows);
        return answers;
      } finally {
        await database.close();
      }
    };
    const BALANCES = `SELECT spent, earned, pending FROM escrow.accounts WHERE account_id LIKE '%' || $1 ORDER BY account_id`;

    test.each(statements)('a capture cut off before statement %i is done once by a repetition', async (statement) => {
      expect(await run('capture', statement)).toEqual({ signal: 'SIGKILL', said: '' });
      const outcome = JSON.parse((await run('capture')).said);
      expect(outcome).toMatchObject({ decision: { ok: true, value: { captured: true, amount: 50 } } });
      expect(outcome.decision.value.replay === true).toBe(statement === AFTER_COMMIT);
      const found = await inspect(
        `SELECT amount FROM escrow.entries WHERE kind = 'capture' AND account = $1`,
        BALANCES,
        `SELECT 1 AS told FROM escrow.outbox WHERE name = 'escrow:posted' AND payload->>'account' = $1`,
      );
      expect(found).toEqual([
        [{ amount: '50000000' }],
        [
          { spent: '50000000', earned: '0', pending: '0' },
          { spent: '0', earned: '50000000', pending: '0' },
        ],
        [{ told: 1 }],
      ]);
    });

    test.each([6, AFTER_COMMIT])(
      'a void after a capture cut off before statement %i has one outcome',
      async (statement) => {
        await run('capture', statement);
        await run('void');
        const [state, spent] = statement === AFTER_COMMIT ? ['posted', '50000000'] : ['released', '0'];
        const found = await inspect(
          'SELECT state FROM escrow.holds WHERE account = $1',
          'SELECT spent, pending FROM escrow.accounts WHERE account_id = $1',
        );
        expect(found).toEqual([[{ state }], [{ spent, pending: '0' }]]);
      },
    );

    test.each([5, AFTER_COMMIT])('a keyed spend cut off before statement %i is done once', async (statement) => {
      expect((await run('spend', statement)).signal).toBe('SIGKILL');
      const outcome = JSON.parse((await run('spend')).said);
      expect(outcome).toMatchObject({ replayed: statement === AFTER_COMMIT, decision: { ok: true } });
      expect(await inspect('SELECT spent FROM escrow.accounts WHERE account_id = $1')).toEqual([
        [{ spent: '10000000' }],
      ]);
    });

    test('spends under way when the process is killed: what was acknowledged is there, once', async () => {
      const acknowledged: string[] = [];
      for (let storm = 0; storm < storms; storm += 1) {
        const { signal, said } = await run('storm', 0, 2 + Math.random() * 40);
        expect(signal).toBe('SIGKILL');
        acknowledged.push(...said.split('\n').slice(0, -1));
      }
      expect(acknowledged.length).toBeGreaterThan(storms);
      const [kept = [], sums] = await inspect(
        `SELECT i.key || ' ' || e.entry_id AS line FROM escrow.idempotency i
         JOIN escrow.entries e ON e.entry_id = i.outcome->'value'->>'entryId' WHERE e.account = $1`,
        `SELECT (SELECT count(*)::int FROM escrow.entries WHERE kind = 'spend' AND account = $1) AS spends, spent
         FROM escrow.accounts WHERE account_id = $1`,
      );
      const found = new Set((kept as { line: string }[]).map(({ line }) => line));
      expect(acknowledged.filter((line) => !found.has(line))).toEqual([]);
      expect(sums).toEqual([{ spends: kept.length, spent: String(kept.length * 1_000_000) }]);
    });
  });
}
