/** Ratings and reported trades: each one transaction, with its record, events and audit entries. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { guardOf } from '../domain/identity.ts';
import {
  afterTrade,
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
  type TradeOutcome,
} from '../domain/trust.ts';
import { holdsRole } from '../roles.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { readIdentity } from './identity-rows.ts';
import {
  insertRecords,
  insertTrades,
  isQuarantined,
  lockEntities,
  readRater,
  readStanding,
  readStandings,
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
  const home = wish.type === QUARANTINE || wish.type === RELEASE ? await requireWarden(unit, entityId) : null;
  const { standing, now } = await readStanding(tx, entityId);
  const rater = operator ? operatorAs(name) : await readRater(tx, { name, bound: token?.bound ?? null }, entityId);
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
  tellOfQuarantine(unit, value.turned, record, home);
  const quarantined = await isQuarantined(tx, entityId);
  return allow({ id: record.id, standing: value.standing, quarantined, score, delta: value.delta });
}

/** No limit holds for it, and it weighs fully. */
function operatorAs(name: string): Rater {
  const nothing = { isSelf: false, isKin: false, ratingsLastMinute: 0, ratingsOfEntityLastDay: 0, hasCounted: false };
  return { name, operator: true, score: millionthsOf(1), sharesWorkspace: true, hasStanding: true, ...nothing };
}

/** Answers the entity's home. */
async function requireWarden({ tx, caller }: HabitatUnit, entityId: string): Promise<string | null> {
  const home = guardOf((await readIdentity(tx, entityId)).value);
  const entitled = caller.operator || (home !== null && (await holdsRole(tx, caller, home, 'admin')));
  if (!entitled) throw new CallError('FORBIDDEN');
  return home;
}

function tellOfRating(unit: HabitatUnit, { entityId, type, delta, by }: TrustRecord, score: number): void {
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

export interface Trade {
  readonly tradeId: string;
  readonly seller: string;
  readonly buyer?: string | undefined;
  readonly outcome: TradeOutcome;
}

export interface TradeRecorded {
  readonly recorded: boolean;
  /** Millionths. */
  readonly score: number;
}

/** Who trades are recorded by: nobody can have that name. */
const SYSTEM = 'system';

/** Each moves its seller once, from where those before it have left that one. */
export async function recordTrades(
  unit: HabitatUnit,
  trades: readonly Trade[],
): Promise<Decision<TradeRecorded, never>[]> {
  const { tx } = unit;
  const sellers = [...new Set(trades.map(({ seller }) => seller))];
  await lockEntities(tx, sellers);
  const standings = new Map(await readStandings(tx, sellers));
  const unheard = await insertTrades(
    tx,
    trades.filter(({ seller, buyer }) => seller !== buyer),
  );
  const records: TrustRecord[] = [];
  const moved = new Map<string, Standing>();
  const decisions = trades.map(({ tradeId, seller, buyer, outcome }) => {
    const now = standings.get(seller);
    if (now === undefined) throw new Error('the standings of all sellers were read');
    const recorded = seller !== buyer && unheard.delete(tradeId);
    if (!recorded) return allow({ recorded, score: effectiveScore(now.standing, now.now) });
    const { standing, delta } = afterTrade(now.standing, outcome, now.now);
    const score = effectiveScore(standing, now.now);
    if (delta === 0) return allow({ recorded, score });
    const record = recordOf(unit, { entityId: seller, delta, note: tradeId });
    records.push(record);
    moved.set(seller, standing);
    standings.set(seller, { ...now, standing });
    tellOfRating(unit, record, score);
    return allow({ recorded, score });
  });
  await insertRecords(tx, records);
  await writeStandings(tx, moved);
  return decisions;
}

function recordOf({ ids }: HabitatUnit, what: Pick<TrustRecord, 'entityId' | 'delta' | 'note'>): TrustRecord {
  return { id: ids.next('trr'), type: 'trade', by: SYSTEM, family: null, counted: true, ...what };
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
