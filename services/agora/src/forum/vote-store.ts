/** Votes of the forum: a topic, the thread that it belongs to, and the record of it that the ledger of money keeps. */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { hasRested } from '@svc/runtime/sql-time.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { Scope } from '../ledger/domain/ledger.ts';
import { type AgoraStore, type AgoraUnit, told } from '../ledger/store/events.ts';
import type { LedgerStore } from '../ledger/store/ledger-store.ts';
import type { OpeningRefusal, TopicWish } from '../ledger/store/opening.ts';
import type { TopicRow } from '../ledger/store/topic-rows.ts';
import type { Tally } from '../ledger/store/views.ts';
import type { Money } from '../ports.ts';
import { holdOf, lifeOf } from './domain/vote-name.ts';

const lockNames = nameLock('agora');
const AT_ONCE = 100;

export interface VoteRow {
  readonly topic: string;
  readonly thread: string | null;
  readonly proposal: string;
  readonly owed: 'place' | 'void' | 'nothing' | null;
  readonly ordinal: string;
}
/** As text: a bare `ordinal` behind ORDER BY would sort it as one. */
const COLUMNS = 'topic, thread, proposal, owed, ordinal::text AS ordinal';

interface VoteWish extends TopicWish {
  readonly proposal: string;
}

interface Parts {
  readonly store: AgoraStore;
  readonly ledgers: LedgerStore;
  readonly money: Money;
  readonly log: Pick<Platform['log'], 'warn' | 'error'>;
}

export type VoteStore = ReturnType<typeof createVoteStore>;

export function createVoteStore(parts: Parts) {
  const { store, ledgers, money, log } = parts;
  const { client } = store;
  const settle = (topic: string) => settleRecord(parts, topic);
  return {
    async open<Code extends RefusalCode>(
      call: ChangeCall,
      wish: Decision<VoteWish, Code>,
    ): Promise<Once<Tally, Code | OpeningRefusal | 'E_THREAD_LINKED'>> {
      const outcome = await store.change<Tally, Code | OpeningRefusal | 'E_THREAD_LINKED'>(call, async (unit) =>
        wish.ok ? openVote(unit, ledgers, wish.value) : wish,
      );
      if (outcome.decision.ok) await settle(outcome.decision.value.topic);
      return outcome;
    },
    /** Places or voids the record of a vote, as far as the ledger of money answers; what it does not is done by the sweep. */
    settle,
    /** Of a thread, the newest first. */
    ofThread: (thread: string): Promise<VoteRow[]> => client.$queryRawUnsafe<VoteRow[]>(OF_THREAD, thread),
    /** Those with a thread, the newest first. */
    linked: (after: string | null, limit: number): Promise<VoteRow[]> =>
      client.$queryRawUnsafe<VoteRow[]>(
        `SELECT ${COLUMNS} FROM agora.forum_votes
         WHERE thread IS NOT NULL AND ($1::bigint IS NULL OR ordinal < $1::bigint)
         ORDER BY forum_votes.ordinal DESC LIMIT $2`,
        after,
        limit,
      ),
    /** Whether the ledger of money holds the record of the vote; null = it does not say. */
    isHeld: (topic: string) => isHeld(money, topic),
    /** How many votes there are of each scope. */
    counts: (): Promise<VoteCount[]> => client.$queryRawUnsafe<VoteCount[]>(COUNTS),
    /** How many threads have votes of these scopes; null = those that everybody sees. */
    async threads(scopes: readonly (string | null)[]): Promise<number> {
      const [row] = await client.$queryRawUnsafe<{ threads: number }[]>(
        THREADS,
        scopes.includes(null),
        scopes.filter((scope) => scope !== null),
      );
      return row?.threads ?? 0;
    },
    /** What was cut off. */
    async finish(): Promise<void> {
      for (const { topic } of await readOwed(client)) {
        await settle(topic).catch(async (error: unknown) => {
          log.error({ topic, err: error }, 'the record of a vote does not follow it');
          await tried(client, topic);
        });
      }
    },
  };
}

async function isHeld(money: Money, topic: string): Promise<boolean | null> {
  try {
    const { holds } = await money.states({ holdIds: [holdOf(topic)] });
    return holds[holdOf(topic)]?.state === 'held';
  } catch (error) {
    if (error instanceof CallError) return null;
    throw error;
  }
}

/** So many votes are read of a thread: of those that everybody sees, and of those that some see. */
const MAX_EARLIER = 1000;
/** Of the latter of one family: they take no place from what others see there. */
const MAX_HIDDEN = 100;

/** Who may see them is not known yet. */
const OF_THREAD = `WITH votes AS (
    SELECT v.*, t.hidden,
      row_number() OVER (PARTITION BY t.hidden, CASE WHEN t.hidden THEN t.family END ORDER BY v.ordinal DESC) AS nth
    FROM agora.forum_votes v JOIN agora.topics t USING (topic) WHERE v.thread = $1
  ), shown AS (
    (SELECT * FROM votes WHERE NOT hidden AND nth <= ${MAX_EARLIER})
    UNION ALL (SELECT * FROM votes WHERE hidden AND nth <= ${MAX_HIDDEN} ORDER BY votes.ordinal DESC LIMIT ${MAX_EARLIER})
  ) SELECT ${COLUMNS} FROM shown ORDER BY shown.ordinal DESC`;

interface VoteCount {
  /** Null = everybody reads it. */
  readonly scopeOwner: string | null;
  readonly open: number;
  readonly decided: number;
}

const COUNTS = `SELECT CASE WHEN t.hidden THEN t.scope_owner END AS "scopeOwner",
  count(*) FILTER (WHERE t.status = 'open')::int AS open, count(*) FILTER (WHERE t.status <> 'open')::int AS decided
  FROM agora.forum_votes v JOIN agora.topics t USING (topic) GROUP BY 1 LIMIT 1000`;

const THREADS = `SELECT count(DISTINCT v.thread)::int AS threads
  FROM agora.forum_votes v JOIN agora.topics t USING (topic)
  WHERE CASE WHEN t.hidden THEN t.scope_owner = ANY($2::text[]) ELSE $1::boolean END`;

/** Not yet placed, or placed although the vote is over. Whoever opened it is about to place it. */
const OWED = `SELECT v.topic FROM agora.forum_votes v JOIN agora.topics t USING (topic)
  WHERE v.owed IN ('place', 'void') AND (v.owed = 'place' OR t.status <> 'open')
    AND ${hasRested('v.tried_at', "interval '2 seconds'")} ORDER BY v.tried_at LIMIT ${AT_ONCE}`;

export function readOwed(client: SqlClient): Promise<{ topic: string }[]> {
  return client.$queryRawUnsafe<{ topic: string }[]>(OWED);
}

async function openVote(
  unit: AgoraUnit,
  ledgers: LedgerStore,
  { proposal, ...wish }: VoteWish,
): Promise<Decision<Tally, OpeningRefusal | 'E_THREAD_LINKED'>> {
  const { tx, emit } = unit;
  const { topic, thread } = wish;
  if (thread !== null) {
    await lockNames(tx, [`thread ${thread}`]);
    if (await isVotedOn(tx, thread, wish.scope)) return deny('E_THREAD_LINKED', { thread });
  }
  const opened = await ledgers.openIn(unit, wish);
  if (!opened.ok) return opened;
  await tx.$executeRawUnsafe(
    `INSERT INTO agora.forum_votes (topic, thread, proposal, owed, tried_at) VALUES ($1, $2, $3, $4, clock_timestamp())`,
    topic,
    thread,
    proposal,
    thread === null ? null : 'place',
  );
  const { owner: _owner, ...linked } = told(opened.value.header);
  if (thread !== null) emit({ name: 'forum:linked', payload: { ...linked, thread } });
  return allow(await ledgers.tallyIn(unit, opened.value));
}

/** By the same people: a vote that others do not see takes nothing from them, and tells them nothing. */
async function isVotedOn(tx: SqlClient, thread: string, scope: Scope | null): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT 1 FROM agora.forum_votes v JOIN agora.topics t USING (topic)
     WHERE v.thread = $1 AND t.status = 'open' AND t.deadline > clock_timestamp()
       AND (CASE WHEN t.hidden THEN t.scope_owner END) IS NOT DISTINCT FROM $2::text LIMIT 1`,
    thread,
    scope?.visibility === 'scope' ? scope.owner : null,
  );
  return rows.length > 0;
}

async function readVote(client: SqlClient, topic: string): Promise<VoteRow | null> {
  const [row = null] = await client.$queryRawUnsafe<VoteRow[]>(
    `SELECT ${COLUMNS} FROM agora.forum_votes WHERE topic = $1`,
    topic,
  );
  return row;
}

/** The decision is stored before; the record follows it, by its id, however often that is tried. */
async function settleRecord({ store, ledgers, money, log }: Parts, topic: string): Promise<void> {
  const [vote, row] = [await readVote(store.client, topic), await ledgers.read(topic)];
  if (vote === null || row === null || vote.owed === null || vote.owed === 'nothing') return;
  try {
    if (row.status !== 'open') {
      await money.void({ holdId: holdOf(topic), reason: row.status });
      await note(store.client, topic, 'nothing');
    } else if (vote.owed === 'place') {
      await place(money, row);
      await note(store.client, topic, 'void');
    }
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    log.warn({ topic, code: error.code }, 'the record of a vote waits to follow it');
    await note(store.client, topic, vote.owed);
  }
}

/** What is refused was voided meanwhile, or is past its time: then it stands for nothing any more. */
async function place(money: Money, { header, now }: TopicRow): Promise<void> {
  const { topic, thread, author, deadline } = header;
  await money.hold({
    holdId: holdOf(topic),
    payer: null,
    amount: 0,
    ttlMs: lifeOf(deadline, now),
    condition: conditionOf({ topic, thread, author }),
  });
}

export function conditionOf({ topic, thread, author }: Pick<TopicRow['header'], 'topic' | 'thread' | 'author'>) {
  return { type: 'forum-vote' as const, topic, thread, author };
}

async function note(client: SqlClient, topic: string, owed: 'place' | 'void' | 'nothing'): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE agora.forum_votes SET owed = $2, tried_at = clock_timestamp() WHERE topic = $1 AND owed <> 'nothing'`,
    topic,
    owed,
  );
}

/** The others come before it. */
async function tried(client: SqlClient, topic: string): Promise<void> {
  await client.$executeRawUnsafe('UPDATE agora.forum_votes SET tried_at = clock_timestamp() WHERE topic = $1', topic);
}
