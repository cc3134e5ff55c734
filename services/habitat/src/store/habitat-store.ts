/** The registry's own way of changing: what a `ServiceStore` does, with the revision risen in the same transaction. */
import type { Decision } from '@svc/contract/decision.ts';
import { ENDED, type RegistryStamp } from '@svc/contract/registry.ts';
import type { EffectiveValue, SettingKey } from '@svc/contract/settings.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { FixedSettings } from '@svc/runtime/config.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall, ChangeOptions, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { type Revision, type StampRow, stampOf } from '../revision.ts';
import { readSetting } from './setting-rows.ts';

export interface HabitatUnit extends Unit {
  /** The value in effect, read in the transaction. */
  setting<Key extends SettingKey>(key: Key): Promise<EffectiveValue<Key>>;
  /** This change concerns who may what, so whatever others remember of the registry is out of date. */
  touch(part?: StampPart): void;
  /** Tokens and identities that end with this change: sockets hear of it at once. */
  end(ended: { readonly tokenIds?: readonly string[]; readonly agentIds?: readonly string[] }): void;
}

/** What of a stamp rises beside its revision. */
type StampPart = Exclude<keyof RegistryStamp, 'rev'>;

export interface HabitatStore extends Omit<ServiceStore, 'change'> {
  change<Value, Code extends string = never>(
    call: ChangeCall,
    work: (unit: HabitatUnit) => Promise<Decision<Value, Code>>,
    options?: ChangeOptions,
  ): Promise<Once<Value, Code>>;
}

interface Effects {
  touched: boolean;
  readonly parts: Set<StampPart>;
  stamp: RegistryStamp | null;
  readonly tokenIds: string[];
  readonly agentIds: string[];
}

export function createHabitatStore(
  store: ServiceStore,
  revision: Revision,
  { bus, config }: Pick<Platform, 'bus' | 'config'>,
): HabitatStore {
  return {
    ...store,
    async change(call, work, options) {
      let effects = noEffects();
      const outcome = await store.change(
        call,
        async (unit) => {
          effects = noEffects();
          const decision = await work(unitOf(unit, effects, config.fixed));
          if (decision.ok && effects.touched) effects.stamp = await riseRevision(unit.tx, effects.parts);
          return decision;
        },
        options,
      );
      if (!outcome.decision.ok || outcome.replayed) return outcome;
      const { stamp, tokenIds, agentIds } = effects;
      if (stamp !== null) revision.committed(stamp);
      if (tokenIds.length + agentIds.length > 0 && bus.connected) {
        bus.publish(ENDED, JSON.stringify({ rev: stamp?.rev ?? 0, tokenIds, agentIds }));
      }
      return outcome;
    },
  };
}

function noEffects(): Effects {
  return { touched: false, parts: new Set(), stamp: null, tokenIds: [], agentIds: [] };
}

function unitOf(unit: Unit, effects: Effects, fixed: FixedSettings): HabitatUnit {
  return {
    ...unit,
    setting: (key) => readSetting(unit.tx, fixed, key),
    touch(part) {
      effects.touched = true;
      if (part !== undefined) effects.parts.add(part);
    },
    end({ tokenIds = [], agentIds = [] }) {
      effects.tokenIds.push(...tokenIds);
      effects.agentIds.push(...agentIds);
    },
  };
}

/** The last statement of a change: from here to the commit others that touch the registry wait. */
async function riseRevision(tx: SqlClient, parts: ReadonlySet<StampPart>): Promise<RegistryStamp> {
  const [row] = await tx.$queryRawUnsafe<StampRow[]>(
    `UPDATE habitat.registry_revision SET rev = rev + 1, policies = CASE WHEN $1 THEN rev + 1 ELSE policies END,
       settings = CASE WHEN $2 THEN rev + 1 ELSE settings END RETURNING rev, policies, settings`,
    parts.has('policies'),
    parts.has('settings'),
  );
  if (row === undefined) throw new Error('the row of the registry revision is missing');
  return stampOf(row);
}
