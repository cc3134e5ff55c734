/** Data under its address, and the names under which it was stored. Both belong to a brain, whatever it is called. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { readUsage, takeRoom } from '../store/usage.ts';
import { readPlaces, readRemembered } from './place-rows.ts';
import { type Addressed, decideRead, decideStore, type Digest, sha256, type StoredObject } from './domain/address.ts';

/** Bytes as UTF-8, of one object and of all that a brain holds. */
export const OBJECT_LIMITS = { bytes: 256 * 1024, all: { items: 10_000, bytes: 64 * 1024 ** 2 } } as const;
const GEO_KEY_LIMIT = { items: 10_000, bytes: 0 } as const;

/** A brain whose objects are meant. */
export interface ObjectPlace {
  readonly brain: string;
  readonly brainId: string;
}

interface StoreWish {
  readonly place: ObjectPlace;
  readonly addressed: Addressed;
  /** Under which name; null = none. */
  readonly key: string | null;
  readonly by: string;
}

export interface Stored {
  readonly existed: boolean;
  /** What the name stood for before. */
  readonly previous: string | null;
}

type StoreRefusal = 'E_ADDRESS_COLLISION' | 'E_QUOTA';

export interface Found {
  readonly brainId: string;
  readonly data: unknown;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

export interface GeoKey {
  readonly key: string;
  readonly barcode: string;
  readonly at: number;
}

export type AddressStore = ReturnType<typeof createAddressStore>;

/** `digest` other than SHA-256 makes addresses that nobody else has. */
export function createAddressStore(
  { client, change }: Pick<ServiceStore, 'client' | 'change'>,
  digest: Digest = sha256,
) {
  return {
    digest,
    store: (call: ChangeCall, wish: StoreWish): Promise<Once<Stored, StoreRefusal>> =>
      change(call, (unit) => store(unit, wish)),
    /** What lies under the address in the first of these brains that has it; null = in none. */
    async find(brainIds: readonly string[], barcode: string): Promise<Decision<Found, 'E_ADDRESS_CORRUPT'> | null> {
      const row = await readObject(client, brainIds, barcode);
      if (row === null) return null;
      const { brainId, storedAt } = row;
      const data = decideRead(barcode, row, digest);
      return data.ok ? allow({ brainId, data: data.value, storedAt: Math.round(storedAt) }) : data;
    },
    async use(brainId: string) {
      const { items: objects, bytes } = await readUsage(client, { kind: 'objects', scope: brainId });
      return { objects, bytes };
    },
    /** By their names; brains without any are missing. */
    uses: (brains: readonly string[]) => readUses(client, brains),
    /** Reads all of it, and names what is not what was stored. */
    verify: (brainId: string) => verify(client, brainId, digest),
    /** Files that were remembered so. */
    places: (brainId: string, by: { readonly key: string } | { readonly barcode: string }) =>
      readPlaces(client, brainId, by),
    /** All files that were. */
    remembered: (brainId: string) => readRemembered(client, brainId),
    keysOf: (brainId: string, barcode: string) => readKeysOf(client, brainId, barcode),
    keys: (brainId: string, position: { limit: number; after: string | null }) => readKeys(client, brainId, position),
  };
}

async function store(
  { tx, emit }: Pick<Unit, 'tx' | 'emit'>,
  wish: StoreWish,
): Promise<Decision<Stored, StoreRefusal>> {
  const { place, addressed, key } = wish;
  const isNew = await insertObject(tx, place.brainId, addressed);
  if (!isNew) {
    const decided = decideStore(await readHead(tx, place.brainId, addressed.barcode), addressed);
    if (!decided.ok) return decided;
  }
  const previous = key === null ? null : await moveKey(tx, place.brainId, key, addressed.barcode);
  const room = { items: 1, bytes: addressed.bytes };
  if (isNew && !(await takeRoom(tx, { kind: 'objects', scope: place.brainId }, room, OBJECT_LIMITS.all)))
    return deny('E_QUOTA', { ...OBJECT_LIMITS.all });
  if (previous === 'new' && !(await takeRoom(tx, { kind: 'geo-keys', scope: place.brainId }, ONE, GEO_KEY_LIMIT)))
    return deny('E_QUOTA', { keys: GEO_KEY_LIMIT.items });
  if (isNew || (key !== null && previous !== addressed.barcode)) emit(told(wish));
  return allow({ existed: !isNew, previous: previous === 'new' ? null : previous });
}

function told({ place: { brain }, addressed: { barcode }, key, by }: StoreWish): NewEvent {
  return { name: 'address:stored', payload: { brain, barcode, key, by, resources: [`brain:${brain}`] } };
}

const ONE = { items: 1, bytes: 0 };

/** False when something lies there. */
async function insertObject(tx: SqlClient, brainId: string, { barcode, sha256, form, text }: Addressed) {
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_objects (brain_id, barcode, sha256, form, content, stored_at)
     VALUES ($1, $2, $3, $4, $5::bytea, clock_timestamp()) ON CONFLICT DO NOTHING`,
    brainId,
    barcode,
    sha256,
    form,
    Buffer.from(text),
  );
  return inserted === 1;
}

async function readHead(tx: SqlClient, brainId: string, barcode: string) {
  const [row] = await tx.$queryRawUnsafe<Pick<StoredObject, 'sha256' | 'form'>[]>(
    'SELECT sha256, form FROM brain.brain_objects WHERE brain_id = $1 AND barcode = $2',
    brainId,
    barcode,
  );
  return row ?? null;
}

/** What the name stood for; `new` when it stood for nothing. */
async function moveKey(tx: SqlClient, brainId: string, key: string, barcode: string): Promise<string> {
  for (;;) {
    const [row] = await tx.$queryRawUnsafe<{ barcode: string }[]>(
      'SELECT barcode FROM brain.brain_geo_keys WHERE brain_id = $1 AND key = $2 FOR UPDATE',
      brainId,
      key,
    );
    const values = [brainId, key, barcode];
    if (row !== undefined) {
      await tx.$executeRawUnsafe(
        'UPDATE brain.brain_geo_keys SET barcode = $3, at = clock_timestamp() WHERE brain_id = $1 AND key = $2',
        ...values,
      );
      return row.barcode;
    }
    const inserted = await tx.$executeRawUnsafe(
      `INSERT INTO brain.brain_geo_keys (brain_id, key, barcode, at) VALUES ($1, $2, $3, clock_timestamp())
       ON CONFLICT DO NOTHING`,
      ...values,
    );
    if (inserted === 1) return 'new';
  }
}

interface ObjectRow extends StoredObject {
  readonly brainId: string;
  readonly storedAt: number;
}

async function readObject(client: SqlClient, brainIds: readonly string[], barcode: string): Promise<ObjectRow | null> {
  const [row] = await client.$queryRawUnsafe<(Omit<ObjectRow, 'text'> & { content: Uint8Array })[]>(
    `SELECT brain_id AS "brainId", sha256, form, content,
       (extract(epoch from stored_at) * 1000)::double precision AS "storedAt"
     FROM brain.brain_objects WHERE brain_id = ANY($1::text[]) AND barcode = $2
     ORDER BY array_position($1::text[], brain_id) LIMIT 1`,
    brainIds,
    barcode,
  );
  if (row === undefined) return null;
  const { content, ...rest } = row;
  return { ...rest, text: Buffer.from(content).toString('utf8') };
}

/** Objects that are read at once: 8 MiB at the most. */
const VERIFIED_AT_ONCE = 32;
const MAX_CORRUPT_NAMED = 100;

async function verify(
  client: SqlClient,
  brainId: string,
  digest: Digest,
): Promise<Decision<{ objects: number; keys: number }, 'E_ADDRESS_CORRUPT'>> {
  const barcodes: string[] = [];
  let objects = 0;
  for (let after = ''; ; ) {
    const rows = await client.$queryRawUnsafe<
      (Omit<StoredObject, 'text'> & { barcode: string; content: Uint8Array })[]
    >(
      `SELECT barcode, sha256, form, content FROM brain.brain_objects WHERE brain_id = $1 AND barcode > $2
       ORDER BY barcode LIMIT ${VERIFIED_AT_ONCE}`,
      brainId,
      after,
    );
    for (const { barcode, content, ...stored } of rows) {
      const read = decideRead(barcode, { ...stored, text: Buffer.from(content).toString('utf8') }, digest);
      if (!read.ok && barcodes.length < MAX_CORRUPT_NAMED) barcodes.push(barcode);
    }
    objects += rows.length;
    if (rows.length < VERIFIED_AT_ONCE) break;
    after = rows.at(-1)?.barcode ?? '';
  }
  if (barcodes.length > 0) return deny('E_ADDRESS_CORRUPT', { barcodes });
  return allow({ objects, keys: (await readUsage(client, { kind: 'geo-keys', scope: brainId })).items });
}

const TABLES = ['brain_objects', 'brain_geo_keys', 'brain_places'] as const;
const GONE = (column: string): string => `NOT EXISTS (SELECT 1 FROM brain.brain_homes h WHERE h.id = ${column})
  AND NOT EXISTS (SELECT 1 FROM brain.brain_deleted d WHERE d.id = ${column})`;

/** Forgets what belonged to brains that are gone for good; a deleted one that is kept could come back. */
export async function sweepAddresses(client: SqlClient): Promise<void> {
  for (const table of TABLES)
    await client.$executeRawUnsafe(`DELETE FROM brain.${table} t WHERE ${GONE('t.brain_id')}`);
  await client.$executeRawUnsafe(
    `DELETE FROM brain.brain_usage t WHERE kind IN ('objects', 'geo-keys', 'places') AND ${GONE('t.scope')}`,
  );
}

interface AddressUse {
  readonly keys: number;
  readonly objects: number;
  /** Of the objects. */
  readonly bytes: number;
}

async function readUses(client: SqlClient, brains: readonly string[]): Promise<Map<string, AddressUse>> {
  const rows = await client.$queryRawUnsafe<(AddressUse & { brain: string })[]>(
    `SELECT h.brain, coalesce(sum(u.items) FILTER (WHERE u.kind = 'geo-keys'), 0)::int AS keys,
       coalesce(sum(u.items) FILTER (WHERE u.kind = 'objects'), 0)::int AS objects,
       coalesce(sum(u.bytes) FILTER (WHERE u.kind = 'objects'), 0)::double precision AS bytes
     FROM brain.brain_homes h JOIN brain.brain_usage u ON u.scope = h.id
     WHERE h.brain = ANY($1::text[]) AND u.kind IN ('objects', 'geo-keys') GROUP BY h.brain`,
    brains,
  );
  return new Map(rows.map(({ brain, ...use }) => [brain, use]));
}

const KEY_COLUMNS = 'key, barcode, (extract(epoch from at) * 1000)::double precision AS at';
/** Of one object, as many as its answer shows. */
const MAX_KEYS_SHOWN = 1000;

async function readKeysOf(client: SqlClient, brainId: string, barcode: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ key: string }[]>(
    `SELECT key FROM brain.brain_geo_keys WHERE brain_id = $1 AND barcode = $2 ORDER BY key LIMIT ${MAX_KEYS_SHOWN}`,
    brainId,
    barcode,
  );
  return rows.map(({ key }) => key);
}

/** One more than the limit when there are more. */
async function readKeys(client: SqlClient, brainId: string, { limit, after }: { limit: number; after: string | null }) {
  const rows = await client.$queryRawUnsafe<GeoKey[]>(
    `SELECT ${KEY_COLUMNS} FROM brain.brain_geo_keys WHERE brain_id = $1 AND ($2::text IS NULL OR key > $2)
     ORDER BY key LIMIT $3`,
    brainId,
    after,
    limit + 1,
  );
  return rows.map((row) => ({ ...row, at: Math.round(row.at) }));
}
