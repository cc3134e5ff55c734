/** Statements on channels, messages and subscriptions. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { SWEPT_AT_ONCE, sweepRows } from '@svc/runtime/row-sweep.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { Viewer } from '../acting.ts';
import { type Channel, KEPT_DAYS, KEPT_MESSAGES, type Subscriptions } from './domain/channel.ts';

interface MessageRow {
  readonly id: string;
  readonly seq: number;
  readonly from: string;
  readonly content: string;
  readonly at: number;
}

export interface NewMessage {
  readonly channel: Channel;
  readonly id: string;
  readonly from: string;
  readonly family: string;
  readonly content: string;
}

/** Numbers the message with the next one of its channel; who says something there meanwhile waits for the end. */
export async function insertMessage(
  tx: SqlClient,
  { channel: { channel, kind, owner }, id, from, family, content }: NewMessage,
): Promise<{ readonly seq: number; readonly at: number }> {
  const [row] = await tx.$queryRawUnsafe<{ seq: number; at: number }[]>(
    `WITH numbered AS (
       INSERT INTO agora.channels AS c (channel, kind, owner, family, last_seq, last_at)
       VALUES ($1, $2, $3, $4, 1, clock_timestamp())
       ON CONFLICT (channel) DO UPDATE SET last_seq = c.last_seq + 1, last_at = greatest(clock_timestamp(), c.last_at)
       RETURNING last_seq, last_at)
     INSERT INTO agora.messages (channel, seq, message_id, sender, content, at, family)
     SELECT $1, last_seq, $5, $6, $7, last_at, $4 FROM numbered RETURNING seq::float8 AS seq, ${epochMs('at')} AS at`,
    channel,
    kind,
    owner,
    family,
    id,
    from,
    content,
  );
  if (row === undefined) throw new Error('a message without a number');
  return row;
}

/** How many channels the family has begun. */
export async function countChannels(tx: SqlClient, family: string): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ begun: number }[]>(
    'SELECT count(*)::int AS begun FROM agora.channels WHERE family = $1',
    family,
  );
  return row?.begun ?? 0;
}

/** How many messages of the family are kept in an inbox, up to `most`. */
export async function countInInbox(
  tx: SqlClient,
  { channel: { channel }, family }: Pick<NewMessage, 'channel' | 'family'>,
  most: number,
): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ kept: number }[]>(
    `SELECT count(*)::int AS kept FROM (
       SELECT 1 FROM agora.messages m JOIN agora.channels c USING (channel)
       WHERE m.channel = $1 AND m.channel LIKE 'agent:%' AND m.family = $2 AND ${KEPT} LIMIT $3) of_family`,
    channel,
    family,
    most,
  );
  return row?.kept ?? 0;
}

interface Subscriber {
  readonly actor: string;
  readonly label: string | null;
}

export function readSubscribers(tx: SqlClient, channel: string): Promise<Subscriber[]> {
  return tx.$queryRawUnsafe<Subscriber[]>(
    'SELECT actor, label FROM agora.subscriptions WHERE channel = $1 ORDER BY actor',
    channel,
  );
}

/** Parameters: $1 an operator who looks as nobody, $2 who looks, $3 its workspaces. One rule for all that is read. */
const READABLE = `(c.kind = 'open' OR $1::boolean OR (c.kind = 'agent' AND c.owner = $2::text)
  OR (c.kind IN ('agents', 'ws') AND c.owner = ANY($3::text[])))`;
const viewed = ({ everything, agentId, workspaces }: Viewer) => [everything, agentId, workspaces] as const;

/** Those that are still kept, whether the sweep came by or not. */
const KEPT = `m.seq > c.last_seq - ${KEPT_MESSAGES} AND m.at > clock_timestamp() - interval '${KEPT_DAYS} days'`;
/** A page has no more content than this beyond its first message. */
const PAGE_BYTES = 1024 * 1024;

interface MessagePage {
  /** In the order of their numbers; one more than asked for when there are more. */
  readonly messages: readonly MessageRow[];
  readonly lastSeq: number;
}

/** After number `after`, or the last ones when that is null. A channel that is absent or hidden is empty. */
export async function readMessages(
  client: SqlClient,
  viewer: Viewer,
  { channel, after, limit }: { readonly channel: string; readonly after: number | null; readonly limit: number },
): Promise<MessagePage> {
  const order = after === null ? 'DESC' : 'ASC';
  const rows = await client.$queryRawUnsafe<(MessageRow & { lastSeq: number })[]>(
    `SELECT id, seq, "from", content, at, "lastSeq" FROM (
       SELECT m.message_id AS id, m.seq::float8 AS seq, m.sender AS "from", m.content, ${epochMs('m.at')} AS at,
         c.last_seq::float8 AS "lastSeq",
         sum(octet_length(m.content)) OVER (ORDER BY m.seq ${order}) - octet_length(m.content) AS before
       FROM agora.channels c LEFT JOIN LATERAL (
         SELECT * FROM agora.messages m WHERE m.channel = c.channel AND m.seq > coalesce($5::bigint, 0) AND ${KEPT}
         ORDER BY m.seq ${order} LIMIT $6) m ON true
       WHERE c.channel = $4 AND ${READABLE}) page
     WHERE before IS NULL OR before <= ${PAGE_BYTES} ORDER BY seq`,
    ...viewed(viewer),
    channel,
    after,
    limit,
  );
  const messages = rows
    .filter(({ id }) => (id as string | null) !== null)
    .map(({ lastSeq: _lastSeq, ...message }) => message);
  return { messages, lastSeq: rows[0]?.lastSeq ?? 0 };
}

interface ChannelRow {
  readonly channel: string;
  readonly messages: number;
  readonly lastSeq: number;
  readonly lastAt: number;
}

export function readChannels(
  client: SqlClient,
  viewer: Viewer,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<ChannelRow[]> {
  return client.$queryRawUnsafe<ChannelRow[]>(
    `SELECT channel, least(last_seq - first_seq + 1, ${KEPT_MESSAGES})::float8 AS messages, last_seq::float8 AS "lastSeq",
       ${epochMs('last_at')} AS "lastAt"
     FROM agora.channels c
     WHERE ${READABLE} AND last_seq > 0 AND channel COLLATE "C" > $4 ORDER BY channel COLLATE "C" LIMIT $5`,
    ...viewed(viewer),
    after ?? '',
    limit,
  );
}

export interface NewSubscription {
  readonly actor: string;
  readonly channel: Channel;
  readonly label: string | null;
  readonly family: string;
}

/** Holds back who says something there until the end; a channel in which nothing was said yet is there from now on. */
export async function lockChannel(
  tx: SqlClient,
  { channel: { channel, kind, owner }, family }: Pick<NewSubscription, 'channel' | 'family'>,
): Promise<{ readonly lastSeq: number; readonly isNew: boolean }> {
  const [row] = await tx.$queryRawUnsafe<{ lastSeq: number; isNew: boolean }[]>(
    `INSERT INTO agora.channels AS c (channel, kind, owner, family, last_seq, last_at)
     VALUES ($1, $2, $3, $4, 0, clock_timestamp())
     ON CONFLICT (channel) DO UPDATE SET last_seq = c.last_seq
     RETURNING last_seq::float8 AS "lastSeq", xmax::text = '0' AS "isNew"`,
    channel,
    kind,
    owner,
    family,
  );
  if (row === undefined) throw new Error('a channel that cannot be locked');
  return row;
}

export async function upsertSubscription(
  tx: SqlClient,
  { actor, channel: { channel }, label, family }: NewSubscription,
  lastSeq: number,
): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ fromSeq: number }[]>(
    `INSERT INTO agora.subscriptions AS s (actor, channel, label, from_seq, read_seq, family)
     VALUES ($1, $2, $3, $4::bigint + 1, $4, $5)
     ON CONFLICT (actor, channel) DO UPDATE SET label = excluded.label, family = excluded.family RETURNING from_seq::float8 AS "fromSeq"`,
    actor,
    channel,
    label,
    lastSeq,
    family,
  );
  return row?.fromSeq ?? 0;
}

export async function countSubscriptions(
  tx: SqlClient,
  { family, channel: { channel } }: Pick<NewSubscription, 'family' | 'channel'>,
): Promise<Subscriptions> {
  const [row] = await tx.$queryRawUnsafe<Subscriptions[]>(
    `SELECT (SELECT count(*)::int FROM agora.subscriptions WHERE family = $1) AS "ofFamily", count(*)::int AS "ofChannel",
       count(*) FILTER (WHERE family = $1)::int AS "ofFamilyThere" FROM agora.subscriptions WHERE channel = $2`,
    family,
    channel,
  );
  return row ?? { ofFamily: 0, ofChannel: 0, ofFamilyThere: 0 };
}

/** Returns from which number it was subscribed; null = it was not. */
export async function deleteSubscription(tx: SqlClient, actor: string, channel: string): Promise<number | null> {
  const [row] = await tx.$queryRawUnsafe<{ fromSeq: number }[]>(
    'DELETE FROM agora.subscriptions WHERE actor = $1 AND channel = $2 RETURNING from_seq::float8 AS "fromSeq"',
    actor,
    channel,
  );
  return row?.fromSeq ?? null;
}

/** The actor has seen the messages from `first` to `last` of what it subscribed to: of use when it saw all that are before. */
export async function markRead(
  client: SqlClient,
  { actor, channel, first, last }: Record<'actor' | 'channel', string> & Record<'first' | 'last', number>,
): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE agora.subscriptions s SET read_seq = $4 FROM agora.channels c
     WHERE s.actor = $1 AND s.channel = $2 AND c.channel = s.channel AND s.read_seq < $4
       AND NOT EXISTS (
         SELECT 1 FROM agora.messages m WHERE m.channel = s.channel AND m.seq > s.read_seq AND m.seq < $3 AND ${KEPT}
       )`,
    actor,
    channel,
    first,
    last,
  );
}

/** Messages of its subscriptions that it may read and has not. */
export async function countUnread(client: SqlClient, viewer: Viewer): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ unread: number }[]>(
    `SELECT coalesce(sum(greatest(0, last_seq - greatest(read_seq, first_seq - 1))), 0)::float8 AS unread
     FROM agora.subscriptions s JOIN agora.channels c USING (channel) WHERE s.actor = $2 AND ${READABLE}`,
    ...viewed(viewer),
  );
  return row?.unread ?? 0;
}

/**
 * Deletes what is kept no longer, always the oldest of a channel; returns how many. Both kinds are read from the beginning of
 * an index, as many as go.
 */
export async function sweepMessages(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ swept: number }[]>(
    `WITH gone AS (
       DELETE FROM agora.messages WHERE ctid = ANY(ARRAY(
         (SELECT m.ctid FROM agora.channels c CROSS JOIN LATERAL (
            SELECT ctid FROM agora.messages WHERE channel = c.channel AND seq <= c.last_seq - ${KEPT_MESSAGES}
            ORDER BY seq LIMIT ${SWEPT_AT_ONCE}) m
          WHERE c.last_seq - c.first_seq >= ${KEPT_MESSAGES} LIMIT ${SWEPT_AT_ONCE})
         UNION ALL (SELECT ctid FROM agora.messages WHERE at < now() - interval '${KEPT_DAYS} days'
          ORDER BY at, seq LIMIT ${SWEPT_AT_ONCE}))) RETURNING channel, seq
     ), first AS (
       UPDATE agora.channels c SET first_seq = greatest(c.first_seq, g.last + 1)
       FROM (SELECT channel, max(seq) AS last FROM gone GROUP BY channel) g WHERE c.channel = g.channel
     ) SELECT count(*)::int AS swept FROM gone`,
  );
  return row?.swept ?? 0;
}

/** Once a hand-over is as old as this, nobody sends it again. */
export async function sweepHandovers(client: SqlClient): Promise<void> {
  await sweepRows(client, { table: 'agora.handovers', condition: `at < now() - interval '${KEPT_DAYS} days'` });
}
