/** What the ledger asks of the registry of identities. What it knows from before counts only under an equal stamp. */
import { CallError } from '@svc/contract/codes.ts';
import type { HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { EffectiveValue, SettingKey } from '@svc/contract/settings.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createRegistryClient, createStampedCache } from '@svc/runtime/registry.ts';
import { createSettings } from '@svc/runtime/settings.ts';

export interface RolesIn {
  /** The workspace exists. */
  readonly known: boolean;
  /** Nobody has opened it for itself: an operator made it, or made somebody admin there. */
  readonly confirmed: boolean;
  readonly roles: readonly string[];
}

export type Standing = Pick<HabitatAnswer<'account'>, 'kind' | 'maySpend' | 'mayRead'>;

/** Each throws SERVICE_UNAVAILABLE when the registry does not answer. `stamp` null = as of now. */
export interface Registry {
  roles(stamp: RegistryStamp | null, userId: string, workspaceId: string): Promise<RolesIn>;
  /** What an id stands for, and what `by` may do with its money. */
  standing(stamp: RegistryStamp | null, account: string, by?: string): Promise<Standing>;
  /** Workspaces in which the identity holds a role, sorted. */
  workspaces(stamp: RegistryStamp | null, userId: string): Promise<readonly string[]>;
  /** The one that does not throw: without an answer the value is the last known one. */
  setting<Key extends SettingKey>(stamp: RegistryStamp | null, key: Key): Promise<EffectiveValue<Key>>;
}

const REMEMBERED = 10_000;

export function createRegistry(platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'config'>): Registry {
  const habitat = createRegistryClient(platform, 'escrow');
  const settings = createSettings({ config: platform.config, registry: habitat });
  const roles = createStampedCache<RolesIn, readonly [string, string]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: (source) => source.join(' '),
    async read([userId, workspaceId]) {
      const question = { userId, workspaceId, confirmed: true } as const;
      const { stamp, known, confirmed = false, roles: held } = await habitat.roles(question);
      return { stamp, value: { known, confirmed, roles: held } };
    },
  });
  const standings = createStampedCache<Standing, readonly [string, string | undefined]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: ([account, by]) => `${account} ${by ?? ''}`,
    async read([account, by]) {
      const { stamp, ...value } = await habitat.account({ account, ...(by === undefined ? {} : { by }) });
      return { stamp, value };
    },
  });
  const workspaces = createStampedCache<readonly string[]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    async read(agentId) {
      const { stamp, roles: held } = await habitat.context({ agentId });
      return { stamp, value: Object.keys(held).sort() };
    },
  });
  const stampOf = async (stamp: RegistryStamp | null): Promise<RegistryStamp> =>
    stamp ?? (await habitat.revision()).stamp;
  return {
    roles: async (stamp, userId, workspaceId) => roles.get([userId, workspaceId], await stampOf(stamp)),
    standing: async (stamp, account, by) => standings.get([account, by], await stampOf(stamp)),
    workspaces: async (stamp, userId) => workspaces.get(userId, await stampOf(stamp)),
    setting: async (stamp, key) => settings.read(key, await stampOf(stamp).catch(nullWhenSilent)),
  };
}

function nullWhenSilent(error: unknown): null {
  if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return null;
  throw error;
}

export const UNKNOWN: RolesIn = { known: false, confirmed: false, roles: [] };

/** A registry that does not answer knows no workspace. */
export async function rolesOrUnknown(
  registry: Registry,
  stamp: RegistryStamp | null,
  userId: string,
  workspaceId: string,
): Promise<RolesIn> {
  try {
    return await registry.roles(stamp, userId, workspaceId);
  } catch (error) {
    if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return UNKNOWN;
    throw error;
  }
}
