/** Which files were remembered with which texts. What a file holds now is for whoever reads it to say. */
import { type Denial, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { giveRoomBack, takeRoom } from '../store/usage.ts';
import type { Addressed } from './domain/address.ts';

interface NewPlace extends Pick<Addressed, 'barcode' | 'sha256'> {
  readonly brainId: string;
  readonly path: string;
  readonly key: string;
}

const PLACE_LIMIT = { items: 100_000, bytes: 0 } as const;
/** Texts of one file that are remembered; those of branches beside each other are among them. */
const TEXTS_OF_ONE_FILE = 8;
/** Of one answer. */
const MAX_PLACES = 1000;

/** Null when it is kept; `isNew` is told then. A denial leaves nothing. */
export async function keepPlace(
  tx: SqlClient,
  place: NewPlace,
): Promise<{ readonly isNew: boolean } | Denial<'E_ADDRESS_COLLISION' | 'E_QUOTA'>> {
  const { brainId, barcode } = place;
  if (await isTaken(tx, place)) return deny('E_ADDRESS_COLLISION', { barcode });
  const room = { kind: 'places', scope: brainId } as const;
  if (!(await insertPlace(tx, place))) return { isNew: false };
  if (await takeRoom(tx, room, { items: 1, bytes: 0 }, PLACE_LIMIT)) {
    await giveRoomBack(tx, room, { items: await forgetOldest(tx, place), bytes: 0 });
    return { isNew: true };
  }
  await tx.$executeRawUnsafe(
    'DELETE FROM brain.brain_places WHERE brain_id = $1 AND path = $2 AND barcode = $3',
    brainId,
    place.path,
    barcode,
  );
  return deny('E_QUOTA', { files: PLACE_LIMIT.items });
}

/** Another text, or other data, has the address. */
async function isTaken(tx: SqlClient, { brainId, barcode, sha256 }: NewPlace): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM brain.brain_places WHERE brain_id = $1 AND barcode = $2 AND sha256 <> $3
     UNION ALL SELECT 1 FROM brain.brain_objects WHERE brain_id = $1 AND barcode = $2 AND sha256 <> $3 LIMIT 1`,
    brainId,
    barcode,
    sha256,
  );
  return rows.length > 0;
}

async function insertPlace(tx: SqlClient, { brainId, path, barcode, sha256, key }: NewPlace): Promise<boolean> {
  const [row] = await tx.$queryRawUnsafe<{ fresh: boolean }[]>(
    `INSERT INTO brain.brain_places (brain_id, path, barcode, sha256, key, at)
     VALUES ($1, $2, $3, $4, $5, clock_timestamp())
     ON CONFLICT (brain_id, path, barcode) DO UPDATE SET at = excluded.at, key = excluded.key
     RETURNING xmax = 0 AS fresh`,
    brainId,
    path,
    barcode,
    sha256,
    key,
  );
  return row?.fresh === true;
}

function forgetOldest(tx: SqlClient, { brainId, path }: NewPlace): Promise<number> {
  return tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_places WHERE brain_id = $1 AND path = $2 AND barcode IN (
       SELECT barcode FROM brain.brain_places WHERE brain_id = $1 AND path = $2
       ORDER BY at DESC, barcode OFFSET ${TEXTS_OF_ONE_FILE})`,
    brainId,
    path,
  );
}

export interface RememberedFile {
  readonly path: string;
  /** When it last was, in ms since the epoch. */
  readonly at: number;
}

/** Files that were remembered under the key, or with the text of that address. */
export async function readPlaces(
  client: SqlClient,
  brainId: string,
  by: { readonly key: string } | { readonly barcode: string },
): Promise<RememberedFile[]> {
  const [column, value] = 'key' in by ? ['key', by.key] : ['barcode', by.barcode];
  const rows = await client.$queryRawUnsafe<RememberedFile[]>(
    `SELECT path, ${epochMs('max(at)')} AS at FROM brain.brain_places WHERE brain_id = $1 AND ${column} = $2
     GROUP BY path ORDER BY path LIMIT ${MAX_PLACES}`,
    brainId,
    value,
  );
  return rows.map(({ path, at }) => ({ path, at: Math.round(at) }));
}

export async function readRemembered(client: SqlClient, brainId: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ path: string }[]>(
    'SELECT DISTINCT path FROM brain.brain_places WHERE brain_id = $1',
    brainId,
  );
  return rows.map(({ path }) => path);
}
