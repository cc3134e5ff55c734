/** Agents that come in faster than the planner learns of them. */
import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countLiveAgents, readAgents } from './agent-rows.ts';

/** So many that the planner takes each table for a small one, and would compare all with all. */
const AGENTS = 800;
/** The row of the agent, and those of its role. */
const ROWS_OF_ONE = 4;

const database = await migratedEmbeddedDatabase();
const client = poolClient(database.pool);
afterAll(() => database.close());

beforeAll(async () => {
  const each = `FROM generate_series(1, ${AGENTS}) n`;
  const { pool } = database;
  await pool.query(`INSERT INTO habitat.agents (agent_id, name, workspace, created_by, created_at)
    SELECT 'agt_' || n, 'x', 'red', 'operator', now() ${each}`);
  await pool.query(`INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at)
    SELECT 'red', 'agt_' || n, 'editor', 'operator', now() ${each}`);
});

const everybody = { everything: true, identity: null, bound: null, workspace: 'red', after: null, limit: AGENTS };
const READS: Readonly<Record<string, (tx: SqlClient) => Promise<number>>> = {
  counting: (tx) => countLiveAgents(tx, 'red'),
  listing: async (tx) => (await readAgents(tx, everybody)).length,
};

test.each(Object.entries(READS))('%s the agents of a workspace looks at each once', async (_name, read) => {
  let found = 0;
  const looked = await rowsLookedAt(client, async (tx) => {
    found = await read(tx);
  });
  expect(found).toBe(AGENTS);
  expect(looked).toBeLessThanOrEqual(AGENTS * ROWS_OF_ONE);
});
