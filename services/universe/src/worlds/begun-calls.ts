/** A keyed call has an outcome or something that it has begun, and never both without the other's knowledge. */
import type { Decision } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';

const lockKeys = nameLock('universe.begun');

export function openKeyOf({ idempotency }: Pick<ChangeCall, 'idempotency'>): string | null {
  return idempotency === null ? null : idempotencyId(idempotency);
}

class Begun extends Error {}

/** The outcome of a call that begins nothing; null = a twin under its key has begun, and that goes on. */
export async function concluded<Value, Code extends string>(
  { change }: Pick<UniverseStore, 'change'>,
  call: ChangeCall,
  hasBegun: (tx: SqlClient, openKey: string) => Promise<boolean>,
  decision: Decision<Value, Code>,
): Promise<Once<Value, Code> | null> {
  const openKey = openKeyOf(call);
  try {
    return await change<Value, Code>(call, async ({ tx }) => {
      if (openKey === null) return decision;
      await lockKeys(tx, [openKey]);
      if (await hasBegun(tx, openKey)) throw new Begun();
      return decision;
    });
  } catch (error) {
    if (error instanceof Begun) return null;
    throw error;
  }
}

/** In the transaction that begins something: the outcome that a twin has had meanwhile; null = it may be begun. */
export async function outcomeOfTwin<Value, Code extends string>(
  { idempotency }: Pick<UniverseStore, 'idempotency'>,
  call: ChangeCall,
  tx: SqlClient,
): Promise<Decision<Value, Code> | null> {
  const openKey = openKeyOf(call);
  if (openKey === null) return null;
  await lockKeys(tx, [openKey]);
  return idempotency.find<Value, Code>(tx, call.idempotency);
}
