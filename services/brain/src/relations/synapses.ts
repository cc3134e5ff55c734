/** Learning which brains a session goes to after which, in the transaction that moves it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { lockNames } from '../store/name-lock.ts';
import { decideMove, type Move } from './domain/synapse.ts';
import { dropLightest, dropSynapse, readSynapses, writeSynapse } from './relation-rows.ts';

/** `at` in ms since the epoch. */
export async function noteMove(tx: SqlClient, workspace: string, { from, to }: Move, at: number): Promise<void> {
  const rows = await tx.$queryRawUnsafe<{ fromId: string; toId: string }[]>(
    `SELECT f.id AS "fromId", t.id AS "toId" FROM brain.brain_homes f, brain.brain_homes t
     WHERE f.brain = $1 AND t.brain = $2`,
    from,
    to,
  );
  const [ids] = rows;
  if (ids === undefined) return; // one of them is being deleted
  const { fromId, toId } = ids;
  const edges = { workspace, fromId };
  await lockNames(tx, [`synapses of ${workspace}`]);
  const grown = decideMove(await readSynapses(tx, edges), toId, at);
  await writeSynapse(tx, edges, { toId, weight: grown.weight, at });
  if (grown.gone !== null) await dropSynapse(tx, edges, grown.gone);
  if (grown.isNew) await dropLightest(tx, edges, toId);
}
