/** What agora asks of the registry of identities. No answer is never a yes. */
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createStampedCache } from '@svc/runtime/registry.ts';
import { createRegistryReader, type RegistryReader } from '@svc/runtime/registry-reader.ts';

type Asked = OperationClient<typeof HABITAT, 'agora'>;

export interface Registry extends RegistryReader, Pick<Asked, 'trust' | 'context'> {
  /**
   * The owner by its id when the agent belongs to it, else null: `team:`, `dept:`, `org:`, `agent:` or `workspace:` and an id
   * or a name. Unknown or ambiguous = null. Throws SERVICE_UNAVAILABLE.
   */
  membership(owner: string, agentId: string, stamp: RegistryStamp | null): Promise<string | null>;
}

const REMEMBERED = 10_000;

export function createRegistry(platform: Pick<Platform, 'bus' | 'clock' | 'config'>): Registry {
  const { habitat, ...reader } = createRegistryReader(platform, 'agora');
  const { trust, context, member } = habitat;
  const members = createStampedCache<string | null, readonly [string, string]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: (source) => source.join('\n'),
    async read([owner, agentId]) {
      const answer = await member({ owner, agentId });
      return { stamp: answer.stamp, value: answer.owner };
    },
  });
  return {
    ...reader,
    trust,
    context,
    membership: async (owner, agentId, stamp) =>
      members.get([owner, agentId], stamp ?? (await habitat.revision()).stamp),
  };
}
