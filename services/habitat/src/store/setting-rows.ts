/** Settings as rows. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import { CallError } from '@svc/contract/codes.ts';
import {
  declaredKey,
  type EffectiveValue,
  inEffect,
  MAX_SETTINGS,
  MAX_VALUE_BYTES,
  type SettingKey,
  settingValue,
} from '@svc/contract/settings.ts';
import { sortedJson } from '@svc/contract/canonical.ts';
import type { FixedSettings } from '@svc/runtime/config.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { assertStamped, type StampRow, stampOf } from '../revision.ts';
import type { HabitatUnit } from './unit.ts';
import type { Stamped } from './identity-rows.ts';
import { lockNames } from './name-lock.ts';

type StoredSettings = HabitatAnswer<'settings'>['stored'];

export async function readSettings(client: SqlClient): Promise<Stamped<StoredSettings>> {
  const [row] = await client.$queryRawUnsafe<(StampRow & { stored: StoredSettings })[]>(
    `SELECT rev, policies, settings, (SELECT coalesce(json_object_agg(key, value), '{}') FROM habitat.settings) AS stored
     FROM habitat.registry_revision`,
  );
  assertStamped(row);
  return { stamp: stampOf(row), value: row.stored };
}

/** The value in effect, as it is in the caller's transaction. */
export async function readSetting<Key extends SettingKey>(
  client: SqlClient,
  fixed: FixedSettings,
  key: Key,
): Promise<EffectiveValue<Key>> {
  const stored = fixed[key] === undefined ? await readStored(client, key) : undefined;
  return inEffect(key, { fixed: fixed[key], stored }).value as EffectiveValue<Key>;
}

async function readStored(client: SqlClient, key: string): Promise<unknown> {
  const [row] = await client.$queryRawUnsafe<{ value: unknown }[]>(
    'SELECT value FROM habitat.settings WHERE key = $1',
    key,
  );
  return row?.value;
}

interface SettingWish {
  readonly key: string;
  /** Null unsets it. */
  readonly value: unknown;
  readonly by: string;
}

type ChangedSetting = Omit<HabitatAnswer<'changeSetting'>, 'stamp' | 'replayed'>;

const SETTINGS_LOCK = 'settings';

/** Throws VAF_INPUT_INVALID for what is not declared or does not fit. */
export async function changeSetting(
  unit: HabitatUnit,
  { key, value, by }: SettingWish,
): Promise<Decision<ChangedSetting, never>> {
  const declared = declaredKey(key);
  if (declared === null) throw new CallError('VAF_INPUT_INVALID', `${key} is not a setting.`);
  const wanted = value === null ? null : fitting(key, settingValue(declared, value));
  await lockNames(unit.tx, [SETTINGS_LOCK]);
  const fixedValue = (unit.config.fixed as Readonly<Record<string, unknown>>)[key];
  const stored = await readStored(unit.tx, key);
  const before = inEffect(declared, { fixed: fixedValue, stored });
  const after = inEffect(declared, { fixed: fixedValue, stored: wanted });
  if (!isSame(stored ?? null, wanted)) await write(unit, { key, value: wanted, by }, stored ?? null);
  const changed = !isSame(before.value, after.value);
  if (changed) tellAll(unit, declared, after.value, by);
  return allow({
    changed,
    value: after.value as ChangedSetting['value'],
    source: after.source,
    shadowedBy: after.source === 'environment' && !isSame(after.value, wanted) ? ('environment' as const) : null,
  });
}

/** Of a setting that concerns everybody, whichever tool changed it. */
function tellAll(unit: HabitatUnit, key: string, value: unknown, by: string): void {
  if (key !== 'market.skillsEnabled') return;
  unit.emit({ name: 'market:gate-changed', payload: { enabled: value === true, by } });
}

function fitting(key: string, read: ReturnType<typeof settingValue>): unknown {
  if (!read.ok) throw new CallError('VAF_INPUT_INVALID', `${key}: ${read.problem}`);
  if (Buffer.byteLength(JSON.stringify(read.value)) > MAX_VALUE_BYTES) {
    throw new CallError('VAF_INPUT_INVALID', `${key}: must be at most ${MAX_VALUE_BYTES} bytes as JSON`);
  }
  return read.value;
}

function isSame(one: unknown, other: unknown): boolean {
  return sortedJson(one) === sortedJson(other);
}

async function write(unit: HabitatUnit, { key, value, by }: SettingWish, previous: unknown): Promise<void> {
  if (value === null) await unit.tx.$executeRawUnsafe('DELETE FROM habitat.settings WHERE key = $1', key);
  else await insert(unit.tx, { key, value, by });
  unit.touch('settings');
  unit.emit({ name: 'config:changed', payload: { key, by } });
  unit.audit({ event: 'config:changed', workspace: null, data: { setting: key, value, previous, by } });
}

async function insert(tx: SqlClient, { key, value, by }: SettingWish): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.settings (key, value, changed_at, changed_by) VALUES ($1, $2::jsonb, clock_timestamp(), $3)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at,
       changed_by = excluded.changed_by`,
    key,
    JSON.stringify(value),
    by,
  );
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>('SELECT count(*)::int AS count FROM habitat.settings');
  if ((row?.count ?? 0) > MAX_SETTINGS) {
    throw new CallError('VAF_INPUT_INVALID', `At most ${MAX_SETTINGS} settings are kept; unset one first.`);
  }
}
