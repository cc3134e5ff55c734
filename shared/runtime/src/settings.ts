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
  readonly registry: Pick<RegistryClient<string>, 'settings'>;
}

/** What is in effect, each value judged once. */
interface Snapshot {
  readonly values: ReadonlyMap<string, InEffect>;
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
}

type Values = Readonly<Record<string, unknown>>;

const ALL = 'all';
const NO_GROUP: ReadonlyMap<string, unknown> = new Map();

export function createSettings(parts: SettingsParts): Settings {
  const { current, lastOf } = createSnapshots(parts);

  /** A registry that is away must not stop whoever can go on with what it knew. */
  function known(declared: DeclaredKey, stamp: RegistryStamp | null): Snapshot | Promise<Snapshot> {
    if (stamp === null) return lastOf(declared);
    const snapshot = current(stamp);
    return snapshot instanceof Promise ? snapshot.catch(() => lastOf(declared)) : snapshot;
  }

  return {
    async read(key, stamp) {
      return valueIn(await known(key, stamp), key, key).value as EffectiveValue<typeof key>;
    },
    async readGroup(group, stamp) {
      const { groups } = await known(`${group}.*`, stamp);
      return (groups.get(group) ?? NO_GROUP) as ReadonlyMap<string, GroupValue<typeof group>>;
    },
    async inspect(key, declared, stamp) {
      return valueIn(await current(stamp), key, declared);
    },
    async inspectAll(stamp) {
      return (await current(stamp)).values;
    },
  };
}

/** The values that are set, read again when a stamp tells that one of them was changed. */
function createSnapshots({ config, registry }: SettingsParts) {
  let last = snapshotOf({}, config.fixed);
  let withoutStored = last;
  const remember = (snapshot: Snapshot): Snapshot => (last = snapshot);
  const snapshots = createStampedCache<Snapshot>({
    hangsOn: 'settings',
    max: 1,
    async read() {
      const { stamp, stored, fixed } = await registry.settings({});
      // The registry's environment counts for whoever has none of its own.
      const allFixed = { ...fixed, ...config.fixed };
      withoutStored = snapshotOf({}, allFixed);
      return { stamp, value: snapshotOf(stored, allFixed) };
    },
  });
  return {
    /** Rejects with SERVICE_UNAVAILABLE. */
    current(stamp: RegistryStamp): Snapshot | Promise<Snapshot> {
      const snapshot = snapshots.get(ALL, stamp);
      return snapshot instanceof Promise ? snapshot.then(remember) : remember(snapshot);
    },
    lastOf: (declared: DeclaredKey): Snapshot =>
      SETTINGS[declared].whenUnknown === 'last-known' ? last : withoutStored,
  };
}

type GroupValue<Group extends SettingGroup> = SettingValue<`${Group}.*` & DeclaredKey>;

/** Every setting of the table, and those of groups that are set. */
function snapshotOf(stored: Values, fixed: Values): Snapshot {
  const values = new Map<string, InEffect>();
  const groups = new Map<string, Map<string, unknown>>();
  const keys = new Set([...Object.keys(SETTINGS), ...Object.keys(stored), ...Object.keys(fixed)]);
  for (const key of [...keys].sort()) {
    const declared = declaredKey(key);
    if (declared === null) continue;
    const value = inEffect(declared, { fixed: own(fixed, key), stored: own(stored, key) });
    values.set(key, value);
    if (declared === key || value.value === null) continue;
    const dot = key.lastIndexOf('.');
    const group = groups.get(key.slice(0, dot)) ?? new Map<string, unknown>();
    groups.set(key.slice(0, dot), group.set(key.slice(dot + 1), value.value));
  }
  return { values, groups };
}

function valueIn({ values }: Snapshot, key: string, declared: DeclaredKey): InEffect {
  return values.get(key) ?? inEffect(declared, {});
}

function own(values: Values, key: string): unknown {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
