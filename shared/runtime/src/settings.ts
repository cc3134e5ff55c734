/** What is set now: read from the registry of identities under the stamp of a call, never from a memory of its own age. */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import {
  declaredKey,
  type DeclaredKey,
  type EffectiveValue,
  inEffect,
  type InEffect,
  type SettingGroup,
  type SettingKey,
  SETTINGS,
  type SettingValue,
} from '@svc/contract/settings.ts';
import type { Config } from './config.ts';
import { createStampedCache, type RegistryClient } from './registry.ts';

export interface Settings {
  /** The value in effect. `stamp` null = the registry does not answer: then what the declaration says of that. */
  read<Key extends SettingKey>(key: Key, stamp: RegistryStamp | null): Promise<EffectiveValue<Key>>;
  /** All that are set of a group, by their last segment. */
  readGroup<Group extends SettingGroup>(
    group: Group,
    stamp: RegistryStamp | null,
  ): Promise<ReadonlyMap<string, GroupValue<Group>>>;
  /** A value and where it comes from. Throws SERVICE_UNAVAILABLE when the registry does not answer. */
  inspect(key: string, declared: DeclaredKey, stamp: RegistryStamp): Promise<InEffect>;
  /** Every setting of the table and every one of a group that is set. Throws SERVICE_UNAVAILABLE. */
  inspectAll(stamp: RegistryStamp): Promise<ReadonlyMap<string, InEffect>>;
}

interface SettingsParts {
  readonly config: Pick<Config, 'fixed'>;
  readonly registry: Pick<RegistryClient, 'ask'>;
}

/** What is set, by key. A value that the registry's environment fixes counts like one of the own environment. */
interface Snapshot {
  readonly stored: Readonly<Record<string, unknown>>;
  readonly fixed: Readonly<Record<string, unknown>>;
}

const ALL = 'all';

export function createSettings(parts: SettingsParts): Settings {
  const { current, lastOf } = createSnapshots(parts);

  /** A registry that is away must not stop whoever can go on with what it knew. */
  async function known(declared: DeclaredKey, stamp: RegistryStamp | null): Promise<Snapshot> {
    if (stamp === null) return lastOf(declared);
    return current(stamp).catch(() => lastOf(declared));
  }

  return {
    async read(key, stamp) {
      return valueIn(await known(key, stamp), key, key).value as EffectiveValue<typeof key>;
    },
    async readGroup(group, stamp) {
      return groupIn(await known(`${group}.*`, stamp), group);
    },
    async inspect(key, declared, stamp) {
      return valueIn(await current(stamp), key, declared);
    },
    async inspectAll(stamp) {
      return allIn(await current(stamp));
    },
  };
}

/** The values that are set, read again when a stamp tells that one of them was changed. */
function createSnapshots({ config, registry }: SettingsParts) {
  let last: Snapshot = { stored: {}, fixed: config.fixed };
  const snapshots = createStampedCache<Snapshot>({
    hangsOn: 'settings',
    max: 1,
    async read() {
      const { stamp, stored, fixed } = await registry.ask('settings', {});
      return { stamp, value: { stored, fixed: { ...fixed, ...config.fixed } } };
    },
  });
  return {
    /** Throws SERVICE_UNAVAILABLE. */
    async current(stamp: RegistryStamp): Promise<Snapshot> {
      last = await snapshots.get(ALL, stamp);
      return last;
    },
    lastOf: (declared: DeclaredKey): Snapshot =>
      SETTINGS[declared].whenUnknown === 'last-known' ? last : { ...last, stored: {} },
  };
}

type GroupValue<Group extends SettingGroup> = SettingValue<`${Group}.*` & DeclaredKey>;

function groupIn<Group extends SettingGroup>(snapshot: Snapshot, group: Group): Map<string, GroupValue<Group>> {
  const declared = `${group}.*` as const;
  const found = new Map<string, GroupValue<Group>>();
  for (const key of keysOf(snapshot)) {
    if (declaredKey(key) !== declared) continue;
    const { value } = valueIn(snapshot, key, declared);
    if (value !== null) found.set(key.slice(group.length + 1), value as GroupValue<Group>);
  }
  return found;
}

function allIn(snapshot: Snapshot): Map<string, InEffect> {
  const all = new Map<string, InEffect>();
  for (const key of [...new Set([...Object.keys(SETTINGS), ...keysOf(snapshot)])].sort()) {
    const declared = declaredKey(key);
    if (declared !== null) all.set(key, valueIn(snapshot, key, declared));
  }
  return all;
}

function keysOf({ stored, fixed }: Snapshot): string[] {
  return [...new Set([...Object.keys(stored), ...Object.keys(fixed)])].sort();
}

function valueIn({ stored, fixed }: Snapshot, key: string, declared: DeclaredKey): InEffect {
  return inEffect(declared, { fixed: own(fixed, key), stored: own(stored, key) });
}

function own(values: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
