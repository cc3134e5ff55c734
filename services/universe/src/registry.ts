/** What the universe asks of the registry of identities. */
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryReader, type RegistryReader } from '@svc/runtime/registry-reader.ts';

export interface Registry
  extends RegistryReader,
    Pick<OperationClient<typeof HABITAT, 'universe'>, 'sudo' | 'context'> {}

export function createRegistry(platform: Pick<Platform, 'bus' | 'clock' | 'config'>): Registry {
  const { habitat, ...reader } = createRegistryReader(platform, 'universe');
  return { ...reader, sudo: habitat.sudo, context: habitat.context };
}
