/** Who is there: a session that entered, until some minutes after its last call. */
import { allow } from '@svc/contract/decision.ts';
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore } from '@svc/runtime/store.ts';
import type { Tenancy } from './tenancy.ts';

const STAYS = "interval '5 minutes'";
/** A session that was seen so lately need not be written again. */
const SEEN_ENOUGH = "interval '15 seconds'";
/** Sessions of one principal that are there at once; those longest unseen make room. */
const MAX_SESSIONS = 100;

export interface Visit {
  readonly session: string;
  readonly principal: string;
  readonly agentId: string | null;
  readonly workspace: string | null;
}

export type PresenceStore = ReturnType<typeof createPresence>;

export function createPresence({ client, change }: ServiceStore<EventIn<typeof AGORA_EVENTS>>) {
  return {
    /** Since when the session is there. */
    enter: (call: ChangeCall, { session, principal, agentId, workspace }: Visit): Promise<Once<number, never>> =>
      change(call, async ({ tx, emit }) => {
        const [row] = await tx.$queryRawUnsafe<{ since: number; entered: boolean }[]>(
          `INSERT INTO agora.presence AS p (session, principal, agent_id, workspace, since, seen_at)
           VALUES ($1, $2, $3, $4, clock_timestamp(), clock_timestamp())
           ON CONFLICT (session) DO UPDATE SET agent_id = $3, workspace = $4, seen_at = clock_timestamp(),
             since = CASE WHEN p.seen_at > clock_timestamp() - ${STAYS} THEN p.since ELSE clock_timestamp() END
           RETURNING ${epochMs('since')} AS since, since = seen_at OR xmax::text = '0' AS entered`,
          session,
          principal,
          agentId,
          workspace,
        );
        if (row === undefined) throw new Error('a session that did not enter');
        await tx.$executeRawUnsafe(
          `DELETE FROM agora.presence WHERE session IN (SELECT session FROM agora.presence WHERE principal = $1
             ORDER BY seen_at DESC OFFSET ${MAX_SESSIONS})`,
          principal,
        );
        // Of those who are nobody there is nothing to tell.
        if (row.entered && agentId !== null) {
          const where = workspace === null ? {} : { workspace };
          const parties = [workspace === null ? '*' : `ws:${workspace}`];
          emit({ name: 'forum:entered', ...where, payload: { agentId, parties } });
        }
        return allow(row.since);
      }),
    /** A call of a session that is there keeps it there. True = it is. */
    async stay(session: string): Promise<boolean> {
      const rows = await client.$queryRawUnsafe<{ late: boolean }[]>(
        `SELECT seen_at < now() - ${SEEN_ENOUGH} AS late FROM agora.presence WHERE session = $1 AND seen_at > now() - ${STAYS}`,
        session,
      );
      if (rows[0]?.late === true) {
        await client.$executeRawUnsafe('UPDATE agora.presence SET seen_at = now() WHERE session = $1', session);
      }
      return rows.length > 0;
    },
    /** Sessions that are there, as far as who looks may know of their workspaces. */
    async count({ workspaces }: Pick<Tenancy, 'workspaces'>): Promise<number> {
      const [row] = await client.$queryRawUnsafe<{ present: number }[]>(
        `SELECT count(*)::int AS present FROM agora.presence
         WHERE seen_at > now() - ${STAYS} AND (workspace IS NULL OR workspace = ANY($1::text[]))`,
        workspaces,
      );
      return row?.present ?? 0;
    },
    sweep: () => client.$executeRawUnsafe(`DELETE FROM agora.presence WHERE seen_at < now() - ${STAYS}`),
  };
}
