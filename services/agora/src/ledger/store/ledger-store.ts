/** Topics and what is decided on them. Each method that changes something is one transaction. */
import type { RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { runsThrough } from '@svc/runtime/runs-through.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { LOCAL } from '../../federation/domain/settings.ts';
import {
  castIn,
  type Casting,
  type CastRefusal,
  type CastWish,
  closeIn,
  statusNow,
  type VoterFacts,
} from './casting.ts';
import type { Closeout } from '../domain/closeout.ts';
import { closeOutIn } from './closing-out.ts';
import { readEquivocations } from './equivocation-rows.ts';
import type { AgoraStore, AgoraUnit } from './events.ts';
import { type OpeningRefusal, openIn, type TopicWish } from './opening.ts';
import { sweepReplicas } from './replica-rows.ts';
import {
  listTopics,
  overdueTopics,
  readEntries,
  readTopic,
  readTopicsOf,
  type TopicFilter,
  type TopicRow,
} from './topic-rows.ts';
import { type LedgerShown, ledgerOf, type Tally, tallyOf } from './views.ts';

/** For whoever looks, as of the database's clock. */
const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

/** Changes of one topic wait for each other in memory, not each with a connection. */
export const inTurnOf = (topic: string) => ({ inTurnOf: `topic ${topic}` });

export type LedgerStore = ReturnType<typeof createLedgerStore>;

export function createLedgerStore(
  store: AgoraStore,
  casting: Casting,
  { log, clock }: Pick<Platform, 'log' | 'clock'>,
) {
  const { signer } = casting;
  const reading = createReading(store, casting);
  return {
    ...reading,

    /** With its ledger as the author sees it. */
    open: <Code extends RefusalCode>(
      call: ChangeCall,
      wish: Decision<TopicWish, Code>,
    ): Promise<Once<LedgerShown, Code | OpeningRefusal>> =>
      store.change<LedgerShown, Code | OpeningRefusal>(call, async (unit) => {
        if (!wish.ok) return wish;
        const opened = await openIn(unit, signer, wish.value);
        return opened.ok ? allow(await shownIn(casting, unit.tx, opened.value, wish.value.author)) : opened;
      }),
    openIn: (unit: AgoraUnit, wish: TopicWish) => openIn(unit, signer, wish),
    tallyIn: async ({ tx }: Pick<AgoraUnit, 'tx'>, row: TopicRow) => tallyOf(row, await casting.hashes.of(tx, row)),

    /** With the tally that it led to. `facts` are null where there is no topic, so that a keyed call stays refused. */
    async cast(call: ChangeCall, wish: CastWish, facts: VoterFacts | null): Promise<Once<Tally, CastRefusal>> {
      const work = async (unit: AgoraUnit) =>
        facts === null ? deny('E_TOPIC_ABSENT') : tallied(casting, unit, await castIn(unit, casting, wish, facts));
      const cast = await store.change(call, work, inTurnOf(wish.topic));
      if (!cast.decision.ok && cast.decision.code === 'E_CLOSED') await reading.touch(wish.topic);
      return cast;
    },
    /** A vote that was held elsewhere; `hash` is that of the decided ledger. */
    async closeOut(call: ChangeCall, wish: Closeout) {
      return (await store.change(call, (unit) => closeOutIn(unit, casting, wish), inTurnOf(wish.topic))).decision;
    },

    /** Frees copies that nobody has synced for long. */
    async sweepReplicas(): Promise<void> {
      while ((await sweepReplicas(store.client)) > 0);
    },

    /** Closes what of this node's topics time has closed; those that cannot be closed keep none of the others open. */
    closeOverdue: runsThrough(
      clock,
      (after, limit) => overdueTopics(store.client, [LOCAL, signer.name], after, limit),
      (topic) =>
        reading.touch(topic).catch((error: unknown) => log.error({ err: error, topic }, 'a topic is not closed')),
    ),
  };
}

function createReading({ client, change }: AgoraStore, casting: Casting) {
  /** Closes the topic when time has closed it. */
  async function touch(topic: string): Promise<void> {
    await change(NOBODY, async (unit) => allow((await closeIn(unit, casting, topic)) !== null), inTurnOf(topic));
  }

  /** As it stands now; null = there is none. */
  async function read(topic: string): Promise<TopicRow | null> {
    const row = await readTopic(client, topic);
    if (row === null || statusNow(casting, row) === row.status) return row;
    await touch(topic);
    return readTopic(client, topic);
  }

  /** Those that there are, as they stand now, by name. */
  async function readAll(topics: readonly string[]): Promise<ReadonlyMap<string, TopicRow>> {
    const rows = await readTopicsOf(client, topics);
    const overdue = rows.filter((row) => statusNow(casting, row) !== row.status).map(({ header }) => header.topic);
    for (const topic of overdue) await touch(topic);
    const closed = overdue.length === 0 ? [] : await readTopicsOf(client, overdue);
    return new Map([...rows, ...closed].map((row) => [row.header.topic, row]));
  }

  /** A topic and its ballots as of one moment, so that the hash is that of what is shown. */
  async function look<Shown>(topic: string, show: (row: TopicRow, tx: SqlClient) => Promise<Shown>) {
    if ((await read(topic)) === null) return null;
    const work = async ({ tx }: AgoraUnit) => {
      const row = await readTopic(tx, topic);
      return allow(row === null ? null : await show(row, tx));
    };
    const { decision } = await change<Shown | null>(NOBODY, work, { isolation: 'RepeatableRead' });
    return decision.ok ? decision.value : null;
  }

  return {
    touch,
    read,
    readAll,

    tally: (topic: string): Promise<Tally | null> =>
      look(topic, async (row, tx) => tallyOf(row, await casting.hashes.of(tx, row))),

    ledger: (topic: string, viewer: string | null): Promise<LedgerShown | null> =>
      look(topic, (row, tx) => shownIn(casting, tx, row, viewer)),

    async list(filter: TopicFilter, page: { readonly after: string | null; readonly limit: number }) {
      const rows = await listTopics(client, filter, page);
      return rows.map((row) => ({ ...row, status: statusNow(casting, row) }));
    },
  };
}

async function tallied(
  { hashes }: Casting,
  { tx }: AgoraUnit,
  cast: Decision<TopicRow, CastRefusal>,
): Promise<Decision<Tally, CastRefusal>> {
  return cast.ok ? allow(tallyOf(cast.value, await hashes.of(tx, cast.value))) : cast;
}

async function shownIn({ hashes }: Casting, tx: SqlClient, row: TopicRow, viewer: string | null): Promise<LedgerShown> {
  const entries = row.entries === 0 ? [] : await readEntries(tx, row);
  const evidence = await readEquivocations(tx, row.header.topic);
  return ledgerOf(row, { entries, evidence, hash: await hashes.of(tx, row) }, viewer);
}
