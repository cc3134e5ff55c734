/** What the market asks of the registry of identities. */
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryReader, type RegistryReader } from '@svc/runtime/registry-reader.ts';

type Asked = OperationClient<typeof HABITAT, 'market'>;

export interface Registry extends RegistryReader, Pick<Asked, 'parties' | 'scores' | 'changeSetting'> {}

export function createRegistry(platform: Pick<Platform, 'bus' | 'clock' | 'config'>): Registry {
  const { habitat, ...reader } = createRegistryReader(platform, 'market');
  const { parties, scores, changeSetting } = habitat;
  return { ...reader, parties, scores, changeSetting };
}
