import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { createAddressStore } from '../addresses/address-store.ts';
import { createLineageStore } from '../lineage/lineage-store.ts';
import { createMemoryStore } from '../memory/memory-store.ts';
import { createRecordStore } from '../records/record-store.ts';
import { createEvolutionStore } from '../evolution/evolution-store.ts';
import { createRelationStore } from '../relations/relation-store.ts';
import { createTmpStore } from '../tmp/tmp-store.ts';

/** Of the families that keep rows of their own. */
export function familyStores(store: ServiceStore, { ids, clock }: Pick<Platform, 'ids' | 'clock'>) {
  return {
    tmp: createTmpStore(store, ids),
    memory: createMemoryStore(store, clock),
    addresses: createAddressStore(store),
    lineage: createLineageStore(store, ids),
    records: createRecordStore(store, ids),
    relations: createRelationStore(store, ids),
    evolutions: createEvolutionStore(store, ids),
  };
}
