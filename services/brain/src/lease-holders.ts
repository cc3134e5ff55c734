/** Who holds a lease as a member of the brain's home holds it for as long as that is true. */
import { createStampedCache, type RegistryClient } from '@svc/runtime/registry.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { boundLease, readMembersLeases } from './store/lease-store.ts';

const REMEMBERED = 1000;

/** Looks once; the registry is asked for the holders of long leases, and only when something there has changed. */
export function createHolderCheck(
  { client }: Pick<ServiceStore, 'client'>,
  registry: Pick<RegistryClient<'brain'>, 'roles' | 'revision'>,
): () => Promise<void> {
  const members = createStampedCache<boolean, readonly [string, string]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: (source) => source.join(' '),
    async read([userId, workspaceId]) {
      const { stamp, roles } = await registry.roles({ userId, workspaceId });
      return { stamp, value: roles.length > 0 };
    },
  });
  return async () => {
    const leases = await readMembersLeases(client);
    if (leases.length === 0) return;
    const { stamp } = await registry.revision();
    for (const lease of leases) {
      if (!(await members.get([lease.agentId, lease.workspace], stamp))) await boundLease(client, lease);
    }
  };
}
