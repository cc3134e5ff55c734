/** A process is killed in the midst of a keyed change: whoever opens the brain next finds or makes all of it, and none twice. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lendTables } from '@svc/testing/servers/run-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BrainProcess, startBrainProcess } from '../../testing/brain-process.ts';
import { type Cut, type CutDatabase, startCutDatabase } from '../../testing/cut-database.ts';

const server = await lendTables();
/** Behind BEGIN, the section and the key. */
const MOVED_AT = 3;

interface Move {
  readonly tool: string;
  readonly args: Fields;
}

const MOVES: readonly Move[] = [
  { tool: 'svc_commit', args: { message: 'once' } },
  { tool: 'svc_create_branch', args: { name: 'new' } },
  { tool: 'svc_branch_auto', args: {} },
  { tool: 'svc_branch_rename', args: { name: 'aside', to: 'new' } },
  { tool: 'svc_branch_delete', args: { name: 'aside' } },
  { tool: 'svc_branch_merge', args: { from: 'other' } },
  { tool: 'brain_write', args: { name: 'new.md', content: 'y', ifMatch: 'none' } },
  { tool: 'brain_delete_file', args: { name: 'a.md' } },
  { tool: 'svc_create_island', args: { name: 'isle', content: 'y' } },
];

/** When the process is killed: nothing of it is stored, all but COMMIT has arrived, COMMIT was done. */
const CUT_AT: Record<string, readonly [number | 'COMMIT', Cut]> = {
  'at once': [MOVED_AT, 'unsent'],
  'before COMMIT': ['COMMIT', 'unsent'],
  'after COMMIT': ['COMMIT', 'unanswered'],
};

interface Case {
  readonly move: Move;
  readonly kill: string;
  readonly cut: readonly [number | 'COMMIT', Cut];
  readonly brain: string;
}

const cases: readonly Case[] = MOVES.flatMap((move) =>
  Object.entries(CUT_AT).map(([kill, cut]) => ({
    move,
    kill,
    cut,
    brain: `${move.tool}-${kill.replaceAll(' ', '-').toLowerCase()}`,
  })),
);

describe.skipIf(server === null)('a process that is killed in the midst of a keyed change', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-killed-'));
  let cutDatabase: CutDatabase;
  let node: BrainProcess;
  let client: Client;
  /** Of the same move where nobody was killed. */
  const calm = new Map<string, { answer: Fields; seen: unknown; told: unknown }>();

  beforeAll(async () => {
    cutDatabase = await startCutDatabase(server?.url ?? '');
    client = new Client({ connectionString: server?.url });
    await client.connect();
    node = await startBrainProcess(cutDatabase.url, dataDir);
    for (const { tool, args } of MOVES) {
      const brain = `${tool}-calm`;
      await makeBrain(brain);
      const answer = await call(tool, { ...args, brain }, brain);
      calm.set(tool, { answer, seen: await seen(brain), told: await told(brain) });
    }
    for (const { brain } of cases) await makeBrain(brain);
    for (const { move, cut, brain } of cases) {
      cutDatabase.cutAt(...cut, 'held');
      void call(move.tool, { ...move.args, brain }, brain);
      await vi.waitFor(() => expect(cutDatabase.isCut).toBe(true), 30_000);
    }
    await node.kill();
    node = await startBrainProcess(cutDatabase.url, dataDir);
  }, 120_000);
  afterAll(async () => {
    await node.kill();
    await client.end();
    await cutDatabase.close();
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const call = (tool: string, args: Fields, idempotencyKey?: string): Promise<Fields> =>
    node.call(tool, args, {
      deadlineAt: Date.now() + 30_000,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });

  /** With a file on `main` and another one on `aside`, both uncommitted, and a third one committed on `other`. */
  async function makeBrain(brain: string): Promise<void> {
    await call('brain_switch', { name: brain, create: true });
    await call('brain_write', { brain, name: 'a.md', content: 'x' });
    await call('svc_create_branch', { brain, name: 'aside' });
    await call('brain_write', { brain, branch: 'aside', name: 'b.md', content: 'x' });
    await call('svc_create_branch', { brain, name: 'other' });
    await call('brain_write', { brain, branch: 'other', name: 'c.md', content: 'x' });
    await call('svc_commit', { brain, branch: 'other', message: 'other' });
    if (brain.startsWith('svc_create_island')) await call('svc_create_island', { brain, name: 'first' });
    if (brain.startsWith('svc_branch_merge'))
      await call('svc_commit', { brain, message: 'what would be committed first' });
  }

  const rows = async (sql: string, values: unknown[]) => (await client.query(sql, values)).rows as unknown[];

  /** In git, on disk and in the rows. Of what `svc_branch_auto` makes, the name is another one each time, and the rows come later. */
  async function seen(brain: string) {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: join(dataDir, 'brains', brain), encoding: 'utf8' })
        .trim()
        .split('\n');
    const known = `SELECT DISTINCT branch FROM brain.brain_files WHERE brain = $1 AND branch NOT LIKE 'auto-%' ORDER BY branch`;
    return {
      subjects: git('log', '--format=%s', 'main'),
      refs: git('for-each-ref', '--format=%(refname:short)', 'refs/heads').map((name) =>
        name.replace(/^auto-.*/, 'auto'),
      ),
      files: readdirSync(join(dataDir, 'brains', brain), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md'))
        .toSorted(),
      known: await rows(known, [brain]),
    };
  }

  const told = (brain: string) =>
    rows(`SELECT name, count(*) FROM brain.outbox WHERE payload->>'brain' = $1 GROUP BY name ORDER BY name`, [brain]);

  it.each(cases)(
    '$move.tool, killed $kill: took effect once, is told once, and its repeat hears of it',
    async (given) => {
      const { move, brain } = given;
      const wanted = calm.get(move.tool);
      const again = await call(move.tool, { ...move.args, brain }, brain);
      expect(again['code']).toBeUndefined();
      expect(Object.keys(again)).toEqual(Object.keys(wanted?.answer ?? {}));
      expect(await call(move.tool, { ...move.args, brain }, brain)).toEqual(again);
      expect(await seen(brain)).toEqual(wanted?.seen);
      expect(await told(brain)).toEqual(wanted?.told);
    },
  );

  it('nothing is left to be stored', () => {
    expect(readdirSync(join(dataDir, 'journal'))).toEqual([]);
  });
});
