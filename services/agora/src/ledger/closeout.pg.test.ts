/** A vote that is entered under the name of a copy which goes at that moment: two connections, so on a server alone. */
import { AGORA } from '@svc/contract/operations.agora.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { expect, onTestFinished, test } from 'vitest';
import { openAgoraBed } from '../../testing/agora-bed.ts';
import { sweepReplicas } from './store/replica-rows.ts';

const LOCK = 4711;
/** Whoever has tried to insert a topic waits, its statement done but for this, for whoever holds the lock. */
const WAIT_AFTER_INSERT = `
  CREATE FUNCTION agora.wait_there() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NULL; END $$;
  CREATE TRIGGER wait_there AFTER INSERT ON agora.topics FOR EACH STATEMENT EXECUTE FUNCTION agora.wait_there()`;
const WAITING = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ${LOCK}`;
const ballots = ['ann', 'bob'].map((voter) => ({ voter, outcome: 'yes' }));

await onPostgres((open) => {
  test('a copy that had the name and is swept meanwhile is no obstacle', async () => {
    const database = await open();
    const bed = await openAgoraBed(database);
    onTestFinished(async () => {
      await bed.stop();
      await database.close();
    });
    const { pool } = database;
    const topic = 'crew-1';
    await bed.call('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann' });
    await pool.query(
      `UPDATE agora.topics SET replica = true, synced_from = 'beta', synced_at = now() - interval '1 year'`,
    );
    await pool.query(WAIT_AFTER_INSERT);
    const holder = await pool.connect();
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
    const universe = createOperationClient(bed.platform, AGORA, 'universe');
    const closing = universe.closeout({
      topic,
      options: ['yes', 'no'],
      minQuorum: 2,
      scope: null,
      author: 'ann',
      ballots,
    });
    await expect.poll(async () => (await pool.query(WAITING)).rowCount).toBe(1);
    expect(await sweepReplicas(poolClient(pool))).toBe(1);
    await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
    holder.release();
    expect(await closing).toMatchObject({ ok: true, value: { topic, winner: 'yes', votes: 2 } });
  });
});
