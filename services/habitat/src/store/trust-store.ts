/** Ratings: each one transaction, with its record, events and audit entries. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { guardOf } from '../domain/identity.ts';
import {
  decideRating,
  effectiveScore,
  millionthsOf,
  QUARANTINE,
  type Rated,
  type Rater,
  type Rating,
  type RatingDenial,
  RELEASE,
  type Standing,
  shownScore,
  wardOf,
} from '../domain/trust.ts';
import { holdsRole } from '../roles.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { readIdentity } from './identity-rows.ts';
import {
  insertRecords,
  isQuarantined,
  lockEntities,
  readRater,
  readStanding,
  type TrustRecord,
  writeRequired,
  writeStandings,
} from './trust-rows.ts';

export interface RatingWish extends Rating {
  readonly entityId: string;
  readonly note?: string | undefined;
}

interface RatingDone {
  readonly id: string;
  readonly standing: Standing;
  /** The entity, or one it descends from. */
  readonly quarantined: boolean;
  /** Millionths. */
  readonly score: number;
  readonly delta: number;
}

/** Throws FORBIDDEN to who may not put the entity into quarantine, nor out of it. */
export async function rate(unit: HabitatUnit, wish: RatingWish): Promise<Decision<RatingDone, RatingDenial>> {
  const { tx, caller, ids } = unit;
  const { entityId } = wish;
  const { name, operator, token } = actorOf(caller);
  const family = operator ? null : (await readPlaced(tx, name)).family;
  await lockEntities(tx, family === null ? [entityId] : [entityId, name, family]);
  const { standing, now } = await readStanding(tx, entityId);
  const ward = wish.type === QUARANTINE || wish.type === RELEASE ? await requireWarden(unit, wish, standing) : null;
  const read = operator ? operatorAs(name) : await readRater(tx, { name, bound: token?.bound ?? null }, entityId);
  const rater = { ...read, ward };
  const decision = decideRating(standing, wish, rater, now);
  if (!decision.ok) return decision;
  const { value } = decision;
  const record = {
    id: ids.next('trr'),
    entityId,
    type: wish.type,
    delta: value.delta,
    note: wish.note ?? null,
    by: name,
    family,
    counted: value.counts,
  };
  await insertRecords(tx, [record]);
  if (value.standing.lastAt !== null) await writeStandings(tx, new Map([[entityId, value.standing]]));
  const score = effectiveScore(value.standing, now);
  if (wish.type !== RELEASE) tellOfRating(unit, record, score);
  tellOfQuarantine(unit, value.turned, record, ward);
  const quarantined = await isQuarantined(tx, entityId);
  return allow({ id: record.id, standing: value.standing, quarantined, score, delta: value.delta });
}

/** No limit holds for it, and it weighs fully. */
function operatorAs(name: string): Omit<Rater, 'ward'> {
  const nothing = { isSelf: false, isKin: false, ratingsLastMinute: 0, ratingsOfEntityLastDay: 0, hasCounted: false };
  return { name, operator: true, score: millionthsOf(1), sharesWorkspace: true, hasStanding: true, ...nothing };
}

/** Answers whose admins may. */
async function requireWarden(
  { tx, caller }: HabitatUnit,
  wish: RatingWish,
  standing: Standing,
): Promise<string | null> {
  const ward = wardOf(standing, wish, guardOf((await readIdentity(tx, wish.entityId)).value));
  const entitled = caller.operator || (ward !== null && (await holdsRole(tx, caller, ward, 'admin')));
  if (!entitled)
    throw new CallError(
      'FORBIDDEN',
      'Quarantine is put on and ended by admins of the home of the entity, and operators.',
    );
  return ward;
}

export function tellOfRating(unit: HabitatUnit, { entityId, type, delta, by }: TrustRecord, score: number): void {
  unit.emit({
    name: 'trust:recorded',
    payload: { entityId, type, delta: shownScore(delta), score: shownScore(score), by, parties: [entityId, by] },
  });
}

function tellOfQuarantine(
  unit: HabitatUnit,
  turned: Rated['turned'],
  { id, entityId, by }: TrustRecord,
  workspace: string | null,
): void {
  if (turned === null) return;
  unit.touch();
  const name = turned === 'quarantined' ? 'trust:quarantined' : 'trust:released';
  unit.emit({ name, payload: { entityId, by, parties: [entityId, by] } });
  unit.audit({ event: name, workspace, data: { entityId, record: id, by } });
}

/** From this score on the action is open to whoever has it; `minTrust` in millionths. The score as callers see it. */
export async function setRequired(
  unit: HabitatUnit,
  { permission, minTrust }: { readonly permission: string; readonly minTrust: number },
): Promise<Decision<{ permission: string; minTrust: number }, never>> {
  const { name: by } = actorOf(unit.caller);
  const data = { permission, minTrust: shownScore(minTrust) };
  await writeRequired(unit.tx, permission, minTrust, by);
  unit.emit({ name: 'trust:required', payload: { ...data, by } });
  unit.audit({ event: 'trust:required', workspace: null, data: { ...data, by } });
  return allow(data);
}
