/** How the last attempts to reach what is outside ended: the same for all processes, and after a restart. */
import { allow } from '@svc/contract/decision.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { UniverseEvent, UniverseStore } from '../universe-store.ts';

export interface Contact {
  readonly connector: string;
  /** Ms since the epoch. */
  readonly checkedAt: number;
  /** Of the last one that succeeded; null = none did. */
  readonly okAt: number | null;
  /** Null = the last one succeeded. */
  readonly error: string | null;
}

export interface Noted<Answer> {
  /** Code of the attempt; null = it succeeded. */
  readonly error: string | null;
  readonly event: UniverseEvent;
  readonly answer: Answer;
}

export type ContactStore = ReturnType<typeof createContactStore>;

const CONTACT = `connector, ${epochMs('checked_at')} AS "checkedAt", ${epochMs('ok_at')} AS "okAt", error`;

export function createContactStore({ client, change }: Pick<UniverseStore, 'client' | 'change'>) {
  return {
    async all(): Promise<Map<string, Contact>> {
      const rows = await client.$queryRawUnsafe<Contact[]>(`SELECT ${CONTACT} FROM universe.contacts`);
      return new Map(rows.map((row) => [row.connector, row]));
    },
    /** With what is told of it; `answer` is kept under the key of the call. */
    note: <Answer>(call: ChangeCall, connector: string, { error, event, answer }: Noted<Answer>) =>
      change<Answer>(call, async ({ tx, emit }) => {
        await tx.$executeRawUnsafe(
          `INSERT INTO universe.contacts (connector, checked_at, ok_at, error)
           VALUES ($1, clock_timestamp(), CASE WHEN $2::text IS NULL THEN clock_timestamp() END, $2)
           ON CONFLICT (connector) DO UPDATE SET checked_at = excluded.checked_at, error = excluded.error,
             ok_at = coalesce(excluded.ok_at, contacts.ok_at)`,
          connector,
          error,
        );
        emit(event);
        return allow(answer);
      }),
  };
}
