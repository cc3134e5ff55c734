/** A unit of work on the registry: what a `ServiceStore` does in one transaction, with the revision risen in it. */
import type { Decision } from '@svc/contract/decision.ts';
import { ENDED, type RegistryStamp } from '@svc/contract/registry.ts';
import type { EffectiveValue, SettingKey } from '@svc/contract/settings.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Config } from '@svc/runtime/config.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall, ChangeOptions, ServiceStore, Unit } from '@svc/runtime/store.ts';
import type { LastStatement } from '@svc/runtime/transaction.ts';
import type { Audit } from '../audit/audit.ts';
import type { Acting } from '../domain/actor.ts';
import type { ChainedEntry } from '../domain/audit-chain.ts';
import { assertStamped, type Revision, type StampRow, stampOf } from '../revision.ts';
import type { Appended } from './audit-rows.ts';
import { readSetting } from './setting-rows.ts';

/** On whose behalf the registry changes. A `ToolContext` fits. */
export interface HabitatCall extends ChangeCall {
  readonly caller: ChangeCall['caller'] & Acting;
}

export interface HabitatUnit extends Unit {
  readonly caller: Acting;
  readonly ids: Ids;
  readonly config: Config;
  /** The value in effect, read in the transaction. */
  setting<Key extends SettingKey>(key: Key): Promise<EffectiveValue<Key>>;
  /** This change concerns who may what, so whatever others remember of the registry is out of date. */
  touch(part?: StampPart): void;
  /** Tokens and identities that end with this change: sockets hear of it at once. */
  end(ended: { readonly tokenIds?: readonly string[]; readonly agentIds?: readonly string[] }): void;
  /** Appends to the chains of the audit; entries whose ids are there already are left out. */
  append(entries: readonly Appended[]): Promise<ChainedEntry[]>;
}

/** What of a stamp rises beside its revision. */
type StampPart = Exclude<keyof RegistryStamp, 'rev'>;

export type Change = <Value, Code extends string = never>(
  call: HabitatCall,
  work: (unit: HabitatUnit) => Promise<Decision<Value, Code>>,
  options?: Pick<ChangeOptions, 'inTurnOf'>,
) => Promise<Once<Value, Code>>;

interface Effects {
  touched: boolean;
  readonly parts: Set<StampPart>;
  stamp: RegistryStamp | null;
  readonly tokenIds: string[];
  readonly agentIds: string[];
  readonly appended: ChainedEntry[];
}

export interface ChangeParts {
  readonly store: Pick<ServiceStore, 'change'>;
  readonly revision: Revision;
  readonly audit: Pick<Audit, 'append' | 'appended'>;
  readonly platform: Pick<Platform, 'bus' | 'config' | 'ids'>;
}

export function createChange(parts: ChangeParts): Change {
  const { store, revision, audit, platform } = parts;
  const { bus } = platform;
  return async (call, work, options = {}) => {
    let effects = noEffects();
    const outcome = await store
      .change(
        call,
        (unit) => {
          effects = noEffects();
          return work(unitOf(unit, call.caller, effects, parts));
        },
        { ...options, last: () => (effects.touched ? riseOfRevision(effects) : null) },
      )
      .catch((error: unknown) => {
        // A COMMIT that nobody answered may have been made all the same.
        if (effects.touched) revision.doubted();
        throw error;
      });
    if (!outcome.decision.ok || outcome.replayed) return outcome;
    const { stamp, tokenIds, agentIds, appended } = effects;
    if (stamp !== null) revision.committed(stamp);
    audit.appended(appended);
    if (tokenIds.length + agentIds.length > 0 && bus.connected) {
      bus.publish(ENDED, JSON.stringify({ rev: stamp?.rev ?? 0, tokenIds, agentIds }));
    }
    return outcome;
  };
}

function noEffects(): Effects {
  return { touched: false, parts: new Set(), stamp: null, tokenIds: [], agentIds: [], appended: [] };
}

function unitOf(unit: Unit, caller: Acting, effects: Effects, { audit, platform }: ChangeParts): HabitatUnit {
  const { ids, config } = platform;
  return {
    ...unit,
    caller,
    ids,
    config,
    setting: (key) => readSetting(unit.tx, config.fixed, key),
    touch(part) {
      effects.touched = true;
      if (part !== undefined) effects.parts.add(part);
    },
    end({ tokenIds = [], agentIds = [] }) {
      effects.tokenIds.push(...tokenIds);
      effects.agentIds.push(...agentIds);
    },
    async append(entries) {
      const appended = await audit.append(unit.tx, entries);
      effects.appended.push(...appended);
      return appended;
    },
  };
}

/** From here to the commit all others that touch the registry wait, whatever they touch. */
function riseOfRevision(effects: Effects): LastStatement {
  return {
    sql: `UPDATE habitat.registry_revision SET rev = rev + 1, policies = CASE WHEN $1 THEN rev + 1 ELSE policies END,
       settings = CASE WHEN $2 THEN rev + 1 ELSE settings END RETURNING rev, policies, settings`,
    values: [effects.parts.has('policies'), effects.parts.has('settings')],
    committed([row]) {
      assertStamped(row);
      effects.stamp = stampOf(row as StampRow);
    },
  };
}
