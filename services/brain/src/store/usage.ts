/**
 * How much is kept of each kind and whose, counted where it changes, so that a limit holds exactly and costs the same
 * however much there is. Take the rows before their room: everybody locks in that order.
 */
import type { SqlClient } from '@svc/runtime/database.ts';

export interface Room {
  readonly kind: 'memory' | 'objects' | 'geo-keys' | 'places' | 'resolutions' | 'citations' | 'links';
  /** A workspace, or the own id of a brain. */
  readonly scope: string;
}

export interface Amount {
  readonly items: number;
  readonly bytes: number;
}

const COUNT = `INSERT INTO brain.brain_usage AS u (kind, scope, items, bytes) VALUES ($1, $2, $3::bigint, $4::bigint)
  ON CONFLICT (kind, scope) DO UPDATE SET items = u.items + excluded.items, bytes = u.bytes + excluded.bytes`;

/** Until the end of the transaction nobody else takes of the same room. False when there is not enough of it. */
export async function takeRoom(tx: SqlClient, { kind, scope }: Room, added: Amount, limit: Amount): Promise<boolean> {
  const taken = await tx.$executeRawUnsafe(
    `${COUNT} WHERE u.items + excluded.items <= $5::bigint AND u.bytes + excluded.bytes <= $6::bigint`,
    kind,
    scope,
    added.items,
    added.bytes,
    limit.items,
    limit.bytes,
  );
  return taken === 1;
}

export async function giveRoomBack(tx: SqlClient, { kind, scope }: Room, freed: Amount): Promise<void> {
  if (freed.items === 0 && freed.bytes === 0) return;
  await tx.$executeRawUnsafe(COUNT, kind, scope, -freed.items, -freed.bytes);
}

export async function readUsage(client: SqlClient, { kind, scope }: Room): Promise<Amount> {
  const [row] = await client.$queryRawUnsafe<{ items: bigint; bytes: bigint }[]>(
    'SELECT items, bytes FROM brain.brain_usage WHERE kind = $1 AND scope = $2',
    kind,
    scope,
  );
  return { items: Number(row?.items ?? 0), bytes: Number(row?.bytes ?? 0) };
}
