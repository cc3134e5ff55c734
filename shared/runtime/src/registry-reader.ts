/** What every service asks of the registry of identities: roles and settings. What it knows from before counts only under an equal stamp. */
import { CallError } from '@svc/contract/codes.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { EffectiveValue, SettingKey } from '@svc/contract/settings.ts';
import type { Platform } from './platform.ts';
import { createRegistryClient, createStampedCache, type RegistryClient } from './registry.ts';
import { createSettings, type Settings } from './settings.ts';

export type Roles = Readonly<Record<string, readonly string[]>>;

export interface RegistryReader {
  /** Roles of an identity by workspace. Throws SERVICE_UNAVAILABLE. */
  roles(agentId: string, stamp: RegistryStamp | null): Promise<Roles>;
  /** The one that does not throw: without an answer the value is what its declaration says of that. */
  setting<Key extends SettingKey>(key: Key, stamp: RegistryStamp | null): Promise<EffectiveValue<Key>>;
  /** A setting and where its value comes from. Throws SERVICE_UNAVAILABLE. */
  inspect(key: SettingKey, stamp: RegistryStamp | null): ReturnType<Settings['inspect']>;
}

const REMEMBERED = 10_000;

/** `habitat` = whatever else the service asks it. */
export function createRegistryReader<const Asker extends string>(
  platform: Pick<Platform, 'bus' | 'clock' | 'config'>,
  asker: Asker,
): RegistryReader & { readonly habitat: RegistryClient<Asker> } {
  const habitat = createRegistryClient(platform, asker);
  const { context, revision } = createRegistryClient<string>(platform, asker);
  const settings = createSettings({ config: platform.config, registry: habitat });
  const held = createStampedCache<Roles>({
    hangsOn: 'rev',
    max: REMEMBERED,
    async read(agentId) {
      const { stamp, roles } = await context({ agentId });
      return { stamp, value: roles };
    },
  });
  const stampOf = async (stamp: RegistryStamp | null): Promise<RegistryStamp> => stamp ?? (await revision()).stamp;
  return {
    habitat,
    setting: async (key, stamp) => settings.read(key, await stampOf(stamp).catch(nullWhenSilent)),
    roles: async (agentId, stamp) => held.get(agentId, await stampOf(stamp)),
    inspect: async (key, stamp) => settings.inspect(key, key, await stampOf(stamp)),
  };
}

function nullWhenSilent(error: unknown): null {
  if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return null;
  throw error;
}
