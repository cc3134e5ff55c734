/** Everything of a brain that a backup must bring back, as it lies on disk and in the database. */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fields } from '@svc/testing/service-bed.ts';
import { NOTES } from '../src/store/home-store.ts';
import type { BrainTestBed } from './brain-test-bed.ts';

export function gitIn(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
}

/** By the path, the hash of each file. */
export function filesIn(dir: string): Record<string, string> {
  if (!existsSync(dir)) return {};
  const entries = readdirSync(dir, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const own = files.map((file) => file.slice(dir.length + 1)).filter((file) => !/^\.git(?:\/|$)/.test(file));
  return Object.fromEntries(own.sort().map((file) => [file, hash('sha256', readFileSync(join(dir, file)))]));
}

/** `side`: the working tree of the branch of that name. */
export async function stateOf({ database, dataDir }: BrainTestBed, name: string): Promise<Fields> {
  const { pool } = database;
  const root = join(dataDir, 'brains', name);
  const home = await pool.query<{ id: string }>('SELECT id FROM brain.brain_homes WHERE brain = $1', [name]);
  const rows: unknown[] = [];
  for (const table of NOTES) {
    const query = `SELECT to_jsonb(t) - 'brain_id' AS row FROM brain.${table} t WHERE brain_id = $1 ORDER BY 1`;
    rows.push(table, ...(await pool.query<{ row: unknown }>(query, [home.rows[0]?.id])).rows);
  }
  const conflicts = await pool.query('SELECT * FROM brain.brain_conflicts WHERE brain = $1 ORDER BY id', [name]);
  const usage = `SELECT kind, items, bytes FROM brain.brain_usage WHERE scope = $1 ORDER BY kind`;
  return {
    refs: gitIn(root, 'for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/tags'),
    main: filesIn(root),
    side: filesIn(join(dataDir, 'worktrees', name, 'side')),
    status: gitIn(root, 'status', '--porcelain'),
    rows: [...rows, ...conflicts.rows, ...(await pool.query(usage, [home.rows[0]?.id])).rows],
  };
}
