/** What the market asks of the registry of identities. What it knows from before counts only under an equal stamp. */
import { CallError } from '@svc/contract/codes.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { EffectiveValue, SettingKey } from '@svc/contract/settings.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryClient, createStampedCache } from '@svc/runtime/registry.ts';
import { createSettings, type Settings } from '@svc/runtime/settings.ts';

type Asked = OperationClient<typeof HABITAT, 'market'>;
export type Roles = Readonly<Record<string, readonly string[]>>;

export interface Registry extends Pick<Asked, 'trust' | 'scores' | 'kin' | 'changeSetting'> {
  /** Roles of an identity by workspace. Throws SERVICE_UNAVAILABLE. */
  roles(agentId: string, stamp: RegistryStamp | null): Promise<Roles>;
  /** The one that does not throw: without an answer the value is what its declaration says of that. */
  setting<Key extends SettingKey>(key: Key, stamp: RegistryStamp | null): Promise<EffectiveValue<Key>>;
  /** A setting and where its value comes from. Throws SERVICE_UNAVAILABLE. */
  inspect(key: SettingKey, stamp: RegistryStamp | null): ReturnType<Settings['inspect']>;
}

const REMEMBERED = 10_000;

export function createRegistry(platform: Pick<Platform, 'bus' | 'clock' | 'config'>): Registry {
  const habitat = createRegistryClient(platform, 'market');
  const settings = createSettings({ config: platform.config, registry: habitat });
  const held = createStampedCache<Roles>({
    hangsOn: 'rev',
    max: REMEMBERED,
    async read(agentId) {
      const { stamp, roles } = await habitat.context({ agentId });
      return { stamp, value: roles };
    },
  });
  const stampOf = async (stamp: RegistryStamp | null): Promise<RegistryStamp> =>
    stamp ?? (await habitat.revision()).stamp;
  return {
    trust: habitat.trust,
    scores: habitat.scores,
    kin: habitat.kin,
    changeSetting: habitat.changeSetting,
    setting: async (key, stamp) => settings.read(key, await stampOf(stamp).catch(nullWhenSilent)),
    roles: async (agentId, stamp) => held.get(agentId, await stampOf(stamp)),
    inspect: async (key, stamp) => settings.inspect(key, key, await stampOf(stamp)),
  };
}

function nullWhenSilent(error: unknown): null {
  if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return null;
  throw error;
}
