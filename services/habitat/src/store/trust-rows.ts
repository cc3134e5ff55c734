/** Trust as rows. Reading creates none. */
import type { SqlClient } from '@svc/runtime/database.ts';
import {
  effectiveScore,
  judgeTrust,
  type Rater,
  type Standing,
  shownScore,
  TRUST,
  type TrustVerdict,
  UNRATED,
} from '../domain/trust.ts';
import type { Actor } from '../domain/actor.ts';
import { isKin } from '../domain/family.ts';
import { epochMs, isLately } from '@svc/runtime/sql-time.ts';
import { type AgentEnd, readEnded } from './agent-rows.ts';
import { readAllPlaced, readBothPlaced } from './family-rows.ts';
import { IN_QUARANTINE } from './identity-rows.ts';
import { lockNames } from './name-lock.ts';

/** Who trades are recorded by: nobody can have that name. */
export const SYSTEM = 'system';
const OPINION = `"by" <> '${SYSTEM}'`;
/** Of a role that somebody outside the family has given. */
export const GIVEN_OUTSIDE = `source <> 'family'`;

/** Rows keep milliseconds, so a time that is to be compared with them has no more either. */
const NOW = `${epochMs("date_trunc('milliseconds', clock_timestamp())")} AS now`;
const standingOf = (
  id: string,
) => `${IN_QUARANTINE(id)} AS quarantined, t.entity_id IS NOT NULL AS known, t.score, t.karma, ${epochMs('t.last_at')} AS "lastAt",
  ${epochMs('t.quarantined_at')} AS "quarantinedAt", t.quarantined_by AS "quarantinedBy", t.quarantined_in AS "quarantinedIn"`;

interface StandingRow {
  readonly now: number;
  readonly known: boolean;
  readonly score: number | null;
  readonly karma: number | null;
  readonly lastAt: number | null;
  readonly quarantinedAt: number | null;
  readonly quarantinedBy: string | null;
  readonly quarantinedIn: string | null;
  readonly quarantined: boolean;
}

/** Both hold a role in one workspace, in `bound` if there is one. Arguments are parts of the statement. */
const shareWorkspace = (one: string, other: string, bound: string) => `EXISTS (SELECT 1 FROM habitat.roles mine
    JOIN habitat.roles theirs ON theirs.workspace_id = mine.workspace_id
    WHERE mine.user_id = ${one} AND theirs.user_id = ${other}
      AND (${bound}::text IS NULL OR mine.workspace_id = ${bound}))`;

export interface StandingNow {
  readonly standing: Standing;
  readonly known: boolean;
  /** The entity, or one it descends from. */
  readonly quarantined: boolean;
  /** Clock of the database, ms since the epoch. */
  readonly now: number;
}

export async function readStanding(client: SqlClient, entityId: string): Promise<StandingNow> {
  const [row] = await client.$queryRawUnsafe<StandingRow[]>(
    `SELECT ${NOW}, ${standingOf('$1')} FROM (SELECT) one LEFT JOIN habitat.trust t ON t.entity_id = $1`,
    entityId,
  );
  return standingNow(row);
}

/** Of many at once, by entity. */
export async function readStandings(
  client: SqlClient,
  entityIds: readonly string[],
): Promise<ReadonlyMap<string, StandingNow>> {
  const rows = await client.$queryRawUnsafe<(StandingRow & { readonly entityId: string })[]>(
    `SELECT entity AS "entityId", ${NOW}, ${standingOf('entity')}
     FROM (SELECT DISTINCT unnest($1::text[]) AS entity) asked LEFT JOIN habitat.trust t ON t.entity_id = entity`,
    entityIds,
  );
  return new Map(rows.map((row) => [row.entityId, standingNow(row)]));
}

function standingNow(row: StandingRow | undefined): StandingNow {
  if (row === undefined) throw new Error('a read of one standing found no row');
  const { now, known, quarantined, score, karma, lastAt, quarantinedAt, quarantinedBy, quarantinedIn } = row;
  if (score === null || karma === null) return { now, known, quarantined, standing: UNRATED };
  return { now, known, quarantined, standing: { score, karma, lastAt, quarantinedAt, quarantinedBy, quarantinedIn } };
}

export async function isQuarantined(client: SqlClient, entityId: string): Promise<boolean> {
  const [row] = await client.$queryRawUnsafe<{ quarantined: boolean }[]>(
    `SELECT ${IN_QUARANTINE('$1::text')} AS quarantined`,
    entityId,
  );
  return row?.quarantined === true;
}

/** Whether the actor shares a workspace with the entity, is of its family, or is an operator: others learn nothing of it. */
export async function knowsOf(client: SqlClient, actor: Actor, entityId: string): Promise<boolean> {
  if (await meets(client, actor, entityId)) return true;
  const { identity } = actor;
  return identity !== null && readKinship(client, identity, entityId);
}

/** Whether they are one, or of one family, or one is above the other. */
async function readKinship(client: SqlClient, one: string, other: string): Promise<boolean> {
  return isKin(...(await readBothPlaced(client, one, other)));
}

export interface Pair {
  readonly one: string;
  readonly other: string;
}

interface PartyNow {
  readonly id: string;
  readonly family: string;
  readonly standing: StandingNow;
  /** How it ended; null = it is an identity, or never was an agent. */
  readonly ended: AgentEnd | null;
}

export interface PairNow {
  readonly kin: boolean;
  readonly parties: readonly PartyNow[];
}

/** Whether those of each pair are kin, and how both stand, if they still do. */
export async function readPairs(client: SqlClient, pairs: readonly Pair[]): Promise<PairNow[]> {
  const ids = [...new Set(pairs.flatMap(({ one, other }) => [one, other]))];
  const [placed, standings, ended] = await Promise.all([
    readAllPlaced(client, ids),
    readStandings(client, ids),
    readEnded(client, ids),
  ]);
  const party = (id: string): PartyNow => {
    const standing = standings.get(id);
    if (standing === undefined) throw new Error('the standings of all pairs were read');
    return { id, family: placed(id).family, standing, ended: ended.get(id) ?? null };
  };
  return pairs.map(({ one, other }) => ({
    kin: isKin(placed(one), placed(other)),
    parties: [party(one), party(other)],
  }));
}

/** Whether the actor shares a workspace with the entity, is it, or is an operator. */
export async function meets(
  client: SqlClient,
  { identity, operator, token }: Actor,
  entityId: string,
): Promise<boolean> {
  if (operator || identity === entityId) return true;
  if (identity === null) return false;
  const [row] = await client.$queryRawUnsafe<{ shared: boolean }[]>(
    `SELECT ${shareWorkspace('$1', '$2', '$3')} AS shared`,
    identity,
    entityId,
    token?.bound ?? null,
  );
  return row?.shared === true;
}

/**
 * Whether an entity may do something as far as trust goes; scores in millionths. To who does not know of it, it is one that
 * nobody has rated.
 */
export async function readVerdict(
  client: SqlClient,
  actor: Actor,
  entityId: string,
  action: string,
): Promise<TrustVerdict & { readonly required: number }> {
  const [row] = await client.$queryRawUnsafe<(StandingRow & { required: number | null })[]>(
    `SELECT ${NOW}, ${standingOf('$1')}, (SELECT min_trust FROM habitat.trust_required WHERE permission = $2) AS required
     FROM (SELECT) one LEFT JOIN habitat.trust t ON t.entity_id = $1`,
    entityId,
    action,
  );
  const found = standingNow(row);
  const required = row?.required ?? TRUST.required;
  const known = (await knowsOf(client, actor, entityId)) ? found : { standing: UNRATED, quarantined: false };
  return { ...judgeTrust(known, required, found.now), required };
}

/** What each action requires for which a score has been set, as callers see scores. */
export async function readRequired(client: SqlClient): Promise<Record<string, number>> {
  const rows = await client.$queryRawUnsafe<{ permission: string; minTrust: number }[]>(
    'SELECT permission, min_trust AS "minTrust" FROM habitat.trust_required ORDER BY permission',
  );
  return Object.fromEntries(rows.map(({ permission, minTrust }) => [permission, shownScore(minTrust)]));
}

/** `minTrust` in millionths. */
export async function writeRequired(tx: SqlClient, permission: string, minTrust: number, setBy: string): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.trust_required (permission, min_trust, set_by, set_at)
     VALUES ($1, $2, $3, clock_timestamp())
     ON CONFLICT (permission) DO UPDATE SET min_trust = excluded.min_trust, set_by = excluded.set_by, set_at = excluded.set_at`,
    permission,
    minTrust,
    setBy,
  );
}

/**
 * Ratings of an entity, and ratings by a rater, come one after the other until the transaction ends: the score of one
 * decides the weight of the other.
 */
export function lockEntities(tx: SqlClient, entityIds: readonly string[]): Promise<void> {
  return lockNames(
    tx,
    entityIds.map((id) => `trust:${id}`),
  );
}

type RaterRow = StandingRow &
  Omit<Rater, 'name' | 'operator' | 'ward' | 'score' | 'isSelf' | 'isKin'> & { readonly isRelative: boolean };

/** The caller as a rater of the entity. `bound`: the only workspace in which it acts, or null. */
export async function readRater(
  tx: SqlClient,
  { name, bound }: { readonly name: string; readonly bound: string | null },
  entityId: string,
): Promise<Omit<Rater, 'ward'> & { readonly family: string }> {
  const [placed, entity] = await readBothPlaced(tx, name, entityId);
  const [row] = await tx.$queryRawUnsafe<RaterRow[]>(
    `SELECT ${NOW}, ${standingOf('$1')},
       EXISTS (SELECT 1 FROM habitat.agents
         WHERE (agent_id = $2 AND parent = $1) OR (agent_id = $1 AND parent = $2)) AS "isRelative",
       ${shareWorkspace('$1', '$2', '$3')} AS "sharesWorkspace",
       EXISTS (SELECT 1 FROM habitat.roles WHERE user_id = $1 AND ${GIVEN_OUTSIDE}) AS "hasStanding",
       (SELECT count(*) FROM habitat.trust_records
         WHERE family = $4 AND ${OPINION} AND ${isLately('at', "interval '1 minute'")})::int AS "ratingsLastMinute",
       (SELECT count(*) FROM habitat.trust_records
         WHERE entity_id = $2 AND family = $4 AND ${OPINION} AND at > clock_timestamp() - interval '24 hours')::int
         AS "ratingsOfEntityLastDay",
       EXISTS (SELECT 1 FROM habitat.trust_records WHERE entity_id = $2 AND family = $4 AND counted
         AND ${OPINION} AND at > clock_timestamp() - interval '24 hours') AS "hasCounted"
     FROM (SELECT) one LEFT JOIN habitat.trust t ON t.entity_id = $1`,
    name,
    entityId,
    bound,
    placed.family,
  );
  if (row === undefined) throw new Error('a read of one rater found no row');
  const { isRelative, sharesWorkspace, hasStanding, ratingsLastMinute, ratingsOfEntityLastDay, hasCounted } = row;
  const { standing, now } = standingNow(row);
  const is = { isSelf: name === entityId, isKin: isRelative || isKin(placed, entity), sharesWorkspace, hasStanding };
  const counted = { ratingsLastMinute, ratingsOfEntityLastDay, hasCounted };
  return { name, operator: false, family: placed.family, score: effectiveScore(standing, now), ...is, ...counted };
}

/** By entity; the caller holds their locks. */
export async function writeStandings(tx: SqlClient, standings: ReadonlyMap<string, Standing>): Promise<void> {
  if (standings.size === 0) return;
  const all = [...standings.values()];
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.trust (entity_id, score, karma, last_at, quarantined_at, quarantined_by, quarantined_in)
     SELECT entity, score, karma, to_timestamp(last_at / 1000), to_timestamp(quarantined_at / 1000), quarantined_by,
       quarantined_in
     FROM unnest($1::text[], $2::int[], $3::int[], $4::float8[], $5::float8[], $6::text[], $7::text[])
       AS r(entity, score, karma, last_at, quarantined_at, quarantined_by, quarantined_in)
     ON CONFLICT (entity_id) DO UPDATE SET score = excluded.score, karma = excluded.karma, last_at = excluded.last_at,
       quarantined_at = excluded.quarantined_at, quarantined_by = excluded.quarantined_by,
       quarantined_in = excluded.quarantined_in`,
    [...standings.keys()],
    all.map(({ score }) => score),
    all.map(({ karma }) => karma),
    all.map(({ lastAt }) => lastAt),
    all.map(({ quarantinedAt }) => quarantinedAt),
    all.map(({ quarantinedBy }) => quarantinedBy),
    all.map(({ quarantinedIn }) => quarantinedIn),
  );
}

export interface TrustRecord {
  readonly id: string;
  readonly entityId: string;
  readonly type: string;
  readonly delta: number;
  readonly note: string | null;
  readonly by: string;
  /** Of the rater, or of the buyer of a trade; null = of no identity. */
  readonly family: string | null;
  readonly counted: boolean;
}

export async function insertRecords(tx: SqlClient, records: readonly TrustRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.$executeRawUnsafe(
    `INSERT INTO habitat.trust_records (id, entity_id, type, delta, note, "by", at, family, counted)
     SELECT id, entity, type, delta, note, rater, clock_timestamp(), family, counted
     FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::boolean[])
       AS r(id, entity, type, delta, note, rater, family, counted)`,
    records.map(({ id }) => id),
    records.map(({ entityId }) => entityId),
    records.map(({ type }) => type),
    records.map(({ delta }) => delta),
    records.map(({ note }) => note),
    records.map(({ by }) => by),
    records.map(({ family }) => family),
    records.map(({ counted }) => counted),
  );
}

/** `effectiveScore` in SQL, for lists that are ordered by it. */
const EFFECTIVE = `CASE WHEN t.score <= ${TRUST.start} THEN t.score ELSE greatest(${TRUST.start}, t.score - ${TRUST.decay}
  * greatest(0, floor(extract(epoch FROM clock_timestamp() - t.last_at) * 1000 / ${TRUST.decayEveryMs})))::int END`;

/** Who holds a role where $2 holds one, in $3 if that is given. */
const OF_NEIGHBOURS = `WHERE t.entity_id IN (SELECT theirs.user_id FROM habitat.roles mine
  JOIN habitat.roles theirs ON theirs.workspace_id = mine.workspace_id
  WHERE mine.user_id = $2 AND ($3::text IS NULL OR mine.workspace_id = $3))`;

interface LeaderboardQuery {
  readonly everyone: boolean;
  readonly identity: string | null;
  readonly bound: string | null;
  readonly limit: number;
}

/** Ranked first: whether somebody is in quarantine is asked of those that are shown, and of who stands before them. */
export async function readLeaderboard(
  client: SqlClient,
  { everyone, identity, bound, limit }: LeaderboardQuery,
): Promise<{ id: string; score: number; karma: number }[]> {
  return client.$queryRawUnsafe(
    `SELECT id, score, karma FROM (
       SELECT t.entity_id AS id, ${EFFECTIVE} AS score, t.karma, t.entity_id COLLATE "C" AS place
       FROM habitat.trust t ${everyone ? '' : OF_NEIGHBOURS} ORDER BY score DESC, t.karma DESC, place OFFSET 0) ranked
     WHERE NOT ${IN_QUARANTINE('id')} ORDER BY score DESC, karma DESC, place LIMIT $1`,
    limit,
    ...(everyone ? [] : [identity, bound]),
  );
}
