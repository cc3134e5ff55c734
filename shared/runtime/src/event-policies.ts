/** What the boundaries of the registry say of events: together with `visiblePayload` the one judge of who hears what. */
import type { EventRecord } from '@svc/contract/events.ts';
import { keysOfResource, type Policy, policyOfResource } from '@svc/contract/policy.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { PolicyCache } from './policy-cache.ts';

/** Of each event, in their order, the policies that are attached to its resources now. Throws SERVICE_UNAVAILABLE. */
export async function policiesOfEvents(
  events: readonly { readonly event: EventRecord }[],
  policiesOf: PolicyCache,
  stamp: RegistryStamp,
): Promise<readonly (readonly Policy[])[]> {
  const resources = events.map(({ event }) => resourcesOf(event));
  const attached = await policiesOf(new Set(resources.flatMap((own) => own.flatMap(keysOfResource))), stamp);
  if (attached.size === 0) return events.map(() => []);
  return resources.map((own) => own.flatMap((resource) => policyOfResource(resource, attached) ?? []));
}

function resourcesOf({ payload }: EventRecord): readonly string[] {
  return 'resources' in payload ? payload.resources : [];
}
