/** Which sessions have begun their work. A start of the process that began them forgets them. */
import { allow } from '@svc/contract/decision.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';

export interface BootWish {
  readonly session: string;
  readonly taskId: string;
  readonly by: string;
  /** Held now. */
  readonly scopes: readonly string[];
}

export interface Begun {
  readonly isNew: boolean;
  /** The task under which the session worked before; null = the same, or none. */
  readonly replaced: string | null;
}

export type BootStore = ReturnType<typeof createBootStore>;

const lockNames = nameLock('universe');

/** As long as the task of a session lasts. */
const KEPT = "interval '24 hours'";

export function createBootStore({ client, change }: Pick<UniverseStore, 'client' | 'change'>, nodeId: string) {
  const live = `SELECT task_id AS "taskId" FROM universe.boots WHERE session = $1 AND at > clock_timestamp() - ${KEPT}`;
  return {
    /** The task that the session works under; null = it has not begun. */
    async find(session: string): Promise<string | null> {
      const [row] = await client.$queryRawUnsafe<{ taskId: string }[]>(live, session);
      return row?.taskId ?? null;
    },
    begin: (call: ChangeCall, { session, taskId, by, scopes }: BootWish) =>
      change<Begun>(call, async ({ tx, emit }) => {
        await lockNames(tx, [`boot:${session}`]);
        const [present] = await tx.$queryRawUnsafe<{ taskId: string }[]>(live, session);
        if (present?.taskId === taskId) return allow({ isNew: false, replaced: null });
        await tx.$executeRawUnsafe(
          `INSERT INTO universe.boots (session, task_id, node_id, by, at) VALUES ($1, $2, $3, $4, clock_timestamp())
           ON CONFLICT (session) DO UPDATE SET task_id = excluded.task_id, node_id = excluded.node_id, by = excluded.by,
             at = excluded.at`,
          session,
          taskId,
          nodeId,
          by,
        );
        emit({ name: 'boot:initialized', payload: { by, taskId, scopes: [...scopes], parties: [by] } });
        return allow({ isNew: true, replaced: present?.taskId ?? null });
      }),
    /** Null = it had not begun. */
    forget: (call: ChangeCall, session: string, by: string) =>
      change<string | null>(call, async ({ tx, emit }) => {
        const [row] = await tx.$queryRawUnsafe<{ taskId: string }[]>(
          'DELETE FROM universe.boots WHERE session = $1 RETURNING task_id AS "taskId"',
          session,
        );
        if (row === undefined) return allow(null);
        emit({ name: 'boot:reset', payload: { by, taskId: row.taskId, parties: [by] } });
        return allow(row.taskId);
      }),
    /** Of the processes of this name, which are not the one that asks: it is about to start. */
    async forgetOwn(): Promise<void> {
      await client.$executeRawUnsafe('DELETE FROM universe.boots WHERE node_id = $1', nodeId);
    },
    sweep: () => client.$executeRawUnsafe(`DELETE FROM universe.boots WHERE at < clock_timestamp() - ${KEPT}`),
  };
}
