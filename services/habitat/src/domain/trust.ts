/** Trust: a score that ratings move and that fades towards the start. Scores and differences are integer millionths. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const ONE = 1_000_000;

export const TRUST = {
  start: 500_000,
  positive: 50_000,
  negative: 100_000,
  /** What a good score loses in each full period without news. */
  decay: 10_000,
  decayEveryMs: 30 * 86_400_000,
  /** What an action requires that nobody has set a score for. */
  required: 300_000,
  trade: 20_000,
  /** Credits. Only trades for at least as much raise their seller as often as there are some. */
  wholeTrade: 100,
  ratingsAMinute: 20,
  ratingsOfOneADay: 5,
} as const;

export const QUARANTINE = 'quarantine';
export const RELEASE = 'release';
const NEGATIVE_TYPES: ReadonlySet<string> = new Set(['violation', 'failure', 'spam', 'refuted', QUARANTINE]);

/** Times in ms since the epoch. `lastAt` null = never rated. */
export interface Standing {
  readonly score: number;
  readonly karma: number;
  readonly lastAt: number | null;
  readonly quarantinedAt: number | null;
  readonly quarantinedBy: string | null;
  /** Workspace whose admins had a say over it then; null = none, or nobody kept it. */
  readonly quarantinedIn: string | null;
}

const NOT_QUARANTINED = { quarantinedAt: null, quarantinedBy: null, quarantinedIn: null } as const;

export const UNRATED: Standing = { score: TRUST.start, karma: 0, lastAt: null, ...NOT_QUARANTINED };

/** Millionths <-> the number that callers see. */
export function shownScore(millionths: number): number {
  return millionths / ONE;
}

export function millionthsOf(shown: number): number {
  return Math.round(shown * ONE);
}

/** A score above the start fades down to it; one at or below the start stays. */
export function effectiveScore({ score, lastAt }: Pick<Standing, 'score' | 'lastAt'>, now: number): number {
  if (score <= TRUST.start || lastAt === null) return score;
  const periods = Math.max(0, Math.floor((now - lastAt) / TRUST.decayEveryMs));
  return Math.max(TRUST.start, score - periods * TRUST.decay);
}

export interface TrustVerdict {
  readonly allowed: boolean;
  readonly because: 'score' | 'quarantined';
  readonly score: number;
}

/** `quarantined`: the entity, or one it descends from. `required` in millionths. */
export function judgeTrust(
  { standing, quarantined }: { readonly standing: Standing; readonly quarantined: boolean },
  required: number,
  now: number,
): TrustVerdict {
  const score = effectiveScore(standing, now);
  if (quarantined) return { allowed: false, because: 'quarantined', score };
  return { allowed: score >= required, because: 'score', score };
}

/** What matters of the one who rates; an operator stands above the limits. Numbers are those of the rater's whole family. */
export interface Rater {
  readonly name: string;
  readonly operator: boolean;
  /** Workspace whose admins have a say over the entity; null = none. */
  readonly ward: string | null;
  /** Effective score of the rater. */
  readonly score: number;
  readonly isSelf: boolean;
  /** The entity is of the rater's family, or one of them is above the other. */
  readonly isKin: boolean;
  readonly sharesWorkspace: boolean;
  /** Somebody outside its family has given it a role. */
  readonly hasStanding: boolean;
  readonly ratingsLastMinute: number;
  readonly ratingsOfEntityLastDay: number;
  /** A rating of the entity has moved its score within a day. */
  readonly hasCounted: boolean;
}

export interface Rating {
  readonly type: string;
  readonly positive?: boolean | undefined;
  /** Millionths instead of the usual step. */
  readonly value?: number | undefined;
}

export interface Rated {
  readonly standing: Standing;
  readonly delta: number;
  /** It moved score and karma, by however little. */
  readonly counts: boolean;
  /** Whether the quarantine changed. */
  readonly turned: 'quarantined' | 'released' | null;
}

export type RatingDenial = 'E_SELF_TRUST' | 'E_NOT_RELATED' | 'E_RATE_LIMIT';

export function decideRating(
  standing: Standing,
  rating: Rating,
  rater: Rater,
  now: number,
): Decision<Rated, RatingDenial> {
  const denial = rater.operator ? null : denialOf(rating, rater);
  if (denial !== null) return deny(denial);
  if (rating.type === RELEASE) return allow(released(standing));
  const counts = countsFrom(rater);
  const delta = counts ? deltaOf(rating, rater) : 0;
  const moved = counts ? moveBy(standing, rating, delta, now) : standing;
  if (rating.type !== QUARANTINE || standing.quarantinedAt !== null) {
    return allow({ standing: moved, delta, counts, turned: null });
  }
  const quarantined = { ...moved, lastAt: moved.lastAt ?? now, quarantinedAt: now, ...setBy(rater) };
  return allow({ standing: quarantined, delta, counts, turned: 'quarantined' });
}

function setBy({ name, ward }: Rater): Pick<Standing, 'quarantinedBy' | 'quarantinedIn'> {
  return { quarantinedBy: name, quarantinedIn: ward };
}

/**
 * The workspace whose admins may put an entity into quarantine, or out of it; null = operators alone. Whoever had the say
 * when it was put in keeps it: it is not lifted by moving elsewhere. `guard`: whose admins have a say over the entity now.
 */
export function wardOf(
  { quarantinedAt, quarantinedIn }: Standing,
  { type }: Rating,
  guard: string | null,
): string | null {
  return type === RELEASE && quarantinedAt !== null ? (quarantinedIn ?? guard) : guard;
}

/** Quarantine and release are for admins to give, whoever it is and however often; they are not an opinion. */
function denialOf({ type }: Rating, rater: Rater): RatingDenial | null {
  const isOpinion = type !== QUARANTINE && type !== RELEASE;
  if (rater.isSelf || (isOpinion && rater.isKin)) return 'E_SELF_TRUST';
  if (isOpinion && !rater.sharesWorkspace) return 'E_NOT_RELATED';
  if (rater.ratingsLastMinute >= TRUST.ratingsAMinute) return 'E_RATE_LIMIT';
  return isOpinion && rater.ratingsOfEntityLastDay >= TRUST.ratingsOfOneADay ? 'E_RATE_LIMIT' : null;
}

/** A family has one voice about an entity each day, and who has no standing outside of it has none. */
function countsFrom({ operator, isKin, hasStanding, hasCounted }: Rater): boolean {
  return operator || (!isKin && hasStanding && !hasCounted);
}

function moveBy(standing: Standing, rating: Rating, delta: number, now: number): Standing {
  return { ...move(standing, delta, now), karma: standing.karma + (isPositive(rating) ? 1 : -1) };
}

function isPositive({ type, positive }: Rating): boolean {
  return positive ?? !NEGATIVE_TYPES.has(type);
}

function deltaOf(rating: Rating, { operator, score }: Rater): number {
  const positive = isPositive(rating);
  const step = rating.value ?? (positive ? TRUST.positive : TRUST.negative);
  const weighed = operator ? step : Math.round((step * score) / ONE);
  return positive ? weighed : -weighed;
}

function move(standing: Standing, delta: number, now: number): Standing {
  const score = Math.min(ONE, Math.max(0, effectiveScore(standing, now) + delta));
  return { ...standing, score, lastAt: now };
}

function released(standing: Standing): Rated {
  const turned = standing.quarantinedAt === null ? null : 'released';
  return { standing: { ...standing, ...NOT_QUARANTINED }, delta: 0, counts: false, turned };
}

export type TradeOutcome = 'confirmed' | 'refuted' | 'expired' | 'cancelled';

export interface ClosedTrade {
  readonly outcome: TradeOutcome;
  /** Credits that it was for; undefined = that was not told. */
  readonly amount?: number | undefined;
}

/** What matters of the buyer of a trade. */
export interface Buyer extends Pick<Rater, 'isKin' | 'hasStanding'> {
  /** A trade of its family has moved the seller in the same direction within a day. */
  readonly hasCounted: boolean;
}

/** What a closed trade does to its seller. `buyer` null = it was not told who bought. */
export function afterTrade(
  standing: Standing,
  trade: ClosedTrade,
  buyer: Buyer | null,
  now: number,
): { readonly standing: Standing; readonly delta: number } {
  const direction = directionOf(trade.outcome);
  if (direction === 0 || !isHeard(trade, buyer)) return { standing, delta: 0 };
  const delta = direction * TRUST.trade;
  return { standing: move(standing, delta, now), delta };
}

/** In which direction it may move its seller. */
export function directionOf(outcome: TradeOutcome): -1 | 0 | 1 {
  if (outcome === 'confirmed') return 1;
  return outcome === 'refuted' ? -1 : 0;
}

/**
 * To refute costs nothing, and neither does to be content with what was free: so the trades of a family speak once a day, and
 * what was for nothing raises nobody.
 */
function isHeard({ outcome, amount = TRUST.wholeTrade }: ClosedTrade, buyer: Buyer | null): boolean {
  if (outcome === 'confirmed' && amount === 0) return false;
  if (buyer === null) return true;
  if (buyer.isKin || !buyer.hasStanding) return false;
  return !buyer.hasCounted || (outcome === 'confirmed' && amount >= TRUST.wholeTrade);
}
