/** What a session of work did, noted in the transaction in which it did it. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { countChanges } from './domain/evolution.ts';
import { lockActive, readKnown, writeChanges, writeCommit } from './evolution-rows.ts';

/** A change of a file, and in which session of a caller it was made. */
interface NotedChange {
  readonly path: string;
  readonly session: string;
}

/** Of sessions in which no work goes on nothing is noted. */
export async function noteChanges(tx: SqlClient, brainId: string, changes: readonly NotedChange[]): Promise<void> {
  const sessions = Map.groupBy(changes, ({ session }) => session);
  // In one order, as everybody who locks several.
  for (const session of [...sessions.keys()].sort()) {
    const active = await lockActive(tx, { brainId, session });
    if (active === null) continue;
    const paths = (sessions.get(session) ?? []).map(({ path }) => path);
    const known = await readKnown(tx, brainId, active.id, paths);
    await writeChanges(tx, brainId, active.id, countChanges(paths, known, active.files));
  }
}

export async function noteCommit(
  tx: SqlClient,
  worker: { readonly brainId: string; readonly session: string },
  commit: string,
): Promise<void> {
  const active = await lockActive(tx, worker);
  if (active !== null) await writeCommit(tx, worker.brainId, active.id, commit);
}
