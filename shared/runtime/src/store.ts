/** The database of one service: its tables brought up to date, and the one way in which it changes them. */
import type { Check } from '@svc/contract/discovery.ts';
import type { Decision, Denial } from '@svc/contract/decision.ts';
import type { Caller, IdempotencyScope } from '@svc/contract/tool.ts';
import type { Pool } from 'pg';
import { type AuditRelay, createAuditRelay } from './audit-relay.ts';
import { type AuditEntry, auditStatement, auditSubjectOf } from './audit.ts';
import { check, storeChecks } from './checks.ts';
import type { SqlClient } from './database.ts';
import { createIdempotency, type Idempotency, type Once } from './idempotency.ts';
import { createKeptReplies, type KeptReplies } from './kept-replies.ts';
import { isMigrated, migrate, migrationsOfService } from './migrations.ts';
import { measureRelays } from './measures.ts';
import { createOutbox, type EventIn, type EventTable, type NewEvent, type Outbox } from './outbox.ts';
import type { Platform } from './platform.ts';
import { assertTimely } from './timely.ts';
import {
  type Isolation,
  type LastStatement,
  type PgTransactionOptions,
  poolClient,
  type Statement,
  withPgTransaction,
} from './transaction.ts';
import { createTurns } from './turns.ts';

/** On whose behalf something changes. A `ToolContext` fits. */
export interface ChangeCall {
  readonly caller: Pick<Caller, 'subject' | 'operator' | 'deadlineAt'>;
  readonly idempotency: IdempotencyScope | null;
  /** When the call came to this process, in ms since the epoch; absent = it is never late. */
  readonly now?: number;
  /** Absent = it is, which makes it late sooner. */
  readonly repeatable?: boolean;
}

/** What a change works with. Events and audit entries are written with the change, or not at all. */
export interface Unit<Event = NewEvent> {
  readonly tx: SqlClient;
  emit(event: Event): void;
  /** `subject` = the caller's, unless given. */
  audit(entry: Omit<AuditEntry, 'subject'> & Partial<Pick<AuditEntry, 'subject'>>): void;
  /** Goes out with COMMIT, in the order of these, and saves a wait for its answer; nothing of the work sees its effect. */
  lastly(statement: Statement): void;
}

export interface ChangeOptions {
  readonly isolation?: Isolation;
  /** As in `withPgTransaction`; not asked when the change is denied or was made before. */
  readonly last?: () => LastStatement | null;
  /** As in `withPgTransaction`; not so for a keyed call, which begins with its key. */
  readonly readsFirst?: boolean;
  /**
   * Names what the change waits for in the database. Changes of this process that name the same come one after the other,
   * and wait without a connection, so that a crowd at one thing leaves connections to those who want another.
   */
  readonly inTurnOf?: string;
}

export interface ServiceStore<Event = NewEvent> {
  readonly schema: string;
  readonly pool: Pool;
  /** Single statements on any connection. */
  readonly client: SqlClient;
  readonly outbox: Outbox<Event>;
  /** To be kicked after a transaction that wrote entries by itself. */
  readonly audit: Pick<AuditRelay, 'kick' | 'flush'>;
  readonly idempotency: Idempotency;
  readonly replies: KeptReplies;
  /**
   * One transaction: the effects of `work`, its events and audit entries, and the outcome of a keyed call. A denied
   * decision leaves nothing behind but the outcome under its key. `work` may run again after a conflict, so it acts on
   * the unit alone. Throws what `withPgTransaction` and `once` throw.
   */
  change<Value, Code extends string = never>(
    call: ChangeCall,
    work: (unit: Unit<Event>) => Promise<Decision<Value, Code>>,
    options?: ChangeOptions,
  ): Promise<Once<Value, Code>>;
  /** One transaction whose `work` writes events and outcomes itself. Throws what `withPgTransaction` throws. */
  transact<Value>(work: (tx: SqlClient) => Promise<Value>): Promise<Value>;
  checks(): Promise<Check[]>;
  /** Begins to relay events and audit entries and schedules the upkeep of the common tables. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions<Events extends EventTable> {
  /** Also the name of its PostgreSQL schema. */
  readonly service: string;
  readonly events: Events;
  /** Folder of its migrations. */
  readonly migrations: string;
}

const SWEEP_EVENTS_MS = 5000;
const SWEEP_ROWS_MS = 600_000;

export async function openStore<Events extends EventTable>(
  platform: Platform,
  { service, events, migrations }: StoreOptions<Events>,
): Promise<ServiceStore<EventIn<Events>>> {
  const { database, log } = platform;
  const { pool } = database;
  const schema = { schema: service, migrations: migrationsOfService(service, migrations) };
  await migrate({ pool, ...schema, log });
  const client = poolClient(pool);
  measureRelays(platform.metrics, client, service);
  const transact = <Value>(work: (tx: SqlClient) => Promise<Value>) => withPgTransaction(pool, work);
  const outbox = createOutbox<EventIn<Events>>({
    service,
    events,
    schema: service,
    client,
    exclusive: database.exclusive,
    transact,
    platform,
  });
  const audit = createAuditRelay({ schema: service, client, exclusive: database.exclusive, transact, platform });
  const idempotency = createIdempotency(service);
  const replies = createKeptReplies(service, client);
  const change = createChange({ platform, schema: service, outbox, audit, idempotency });
  return {
    schema: service,
    pool,
    client,
    outbox,
    audit,
    idempotency,
    replies,
    change,
    transact,
    checks: () => checksOf(platform, () => isMigrated(client, schema)),
    async start() {
      await outbox.start();
      audit.start();
      await scheduleUpkeep(platform, { service, client, outbox, idempotency });
    },
    async close() {
      await replies.close();
      await audit.close();
      await outbox.close();
    },
  };
}

async function checksOf(platform: Platform, isWhole: () => Promise<boolean>): Promise<Check[]> {
  const checks = await storeChecks(platform);
  if (checks.some(({ name, status }) => name === platform.database.name && status === 'fail')) return checks;
  return [...checks, check('migrations', await isWhole().catch(() => false))];
}

interface ChangeParts<Event> {
  readonly platform: Pick<Platform, 'bus' | 'database' | 'ids' | 'clock'>;
  readonly schema: string;
  readonly outbox: Outbox<Event>;
  readonly audit: Pick<AuditRelay, 'kick'>;
  readonly idempotency: Idempotency;
}

function createChange<Event>({
  platform,
  schema,
  outbox,
  audit,
  idempotency,
}: ChangeParts<Event>): ServiceStore<Event>['change'] {
  const transaction = createTransaction(platform);
  const writing = ({ statements, events, entries }: Notes<Event>): (Statement | null)[] => [
    ...statements,
    outbox.statement(events),
    auditStatement(schema, platform.ids, entries),
  ];
  return async <Value, Code extends string>(
    { caller, idempotency: scope, now, repeatable = true }: ChangeCall,
    work: (unit: Unit<Event>) => Promise<Decision<Value, Code>>,
    { last, inTurnOf, readsFirst = false, ...options }: ChangeOptions = {},
  ) => {
    /** Of the last attempt, when it made the change. */
    let made: Notes<Event> | null = null;
    const once = (tx: SqlClient): Promise<Once<Value, Code>> => {
      if (now !== undefined) assertTimely(platform, { since: now, repeatable });
      made = null;
      return idempotency.once(tx, scope, () =>
        undoneWhenDenied(tx, scope !== null, async () => {
          const notes: Notes<Event> = { events: [], entries: [], statements: [] };
          const decision = await work(unitOf(tx, caller, notes));
          if (decision.ok) made = notes;
          return decision;
        }),
      );
    };
    try {
      const outcome = await transaction(once, inTurnOf, {
        ...options,
        readsFirst: readsFirst && scope === null,
        last: () => (made === null ? [] : [...writing(made), last?.() ?? null].filter((one) => one !== null)),
        deadlineAt: caller.deadlineAt,
      });
      kickFor(made, outbox, audit);
      return outcome;
    } catch (error) {
      if (error instanceof Denied) return { decision: error.denial as Denial<Code>, replayed: false };
      throw error;
    }
  };
}

function unitOf<Event>(tx: SqlClient, caller: ChangeCall['caller'], notes: Notes<Event>): Unit<Event> {
  return {
    tx,
    emit: (event) => notes.events.push(event),
    audit: (entry) => notes.entries.push({ subject: auditSubjectOf(caller), ...entry }),
    lastly: (statement) => notes.statements.push(statement),
  };
}

function createTransaction({ clock, database }: ChangeParts<unknown>['platform']) {
  const inTurn = createTurns();
  return <Value>(
    work: (tx: SqlClient) => Promise<Value>,
    inTurnOf: string | undefined,
    options: PgTransactionOptions,
  ): Promise<Value> => {
    const run = () => withPgTransaction(database.pool, work, { ...options, clock });
    return inTurnOf === undefined ? run() : inTurn(inTurnOf, run);
  };
}

/** Nothing to tell needs no relay. */
function kickFor(notes: Notes<unknown> | null, outbox: Pick<Outbox, 'kick'>, audit: Pick<AuditRelay, 'kick'>): void {
  if (notes !== null && notes.events.length > 0) outbox.kick();
  if (notes !== null && notes.entries.length > 0) audit.kick();
}

interface Notes<Event> {
  readonly events: Event[];
  readonly entries: AuditEntry[];
  readonly statements: Statement[];
}

/** Carries a denial out of a transaction that is to be rolled back. */
class Denied extends Error {
  readonly denial: Denial<string>;

  constructor(denial: Denial<string>) {
    super(denial.code);
    this.denial = denial;
  }
}

/** Without a key the whole transaction goes; with one the effects go and the outcome stays. */
async function undoneWhenDenied<Value, Code extends string>(
  tx: SqlClient,
  keyed: boolean,
  work: () => Promise<Decision<Value, Code>>,
): Promise<Decision<Value, Code>> {
  if (keyed) await tx.$executeRawUnsafe('SAVEPOINT effects');
  const decision = await work();
  if (decision.ok) return decision;
  if (!keyed) throw new Denied(decision);
  await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT effects');
  return decision;
}

interface UpkeepParts {
  readonly service: string;
  readonly client: SqlClient;
  readonly outbox: Pick<Outbox, 'flush' | 'sweep'>;
  readonly idempotency: Idempotency;
}

async function scheduleUpkeep({ jobs }: Platform, parts: UpkeepParts): Promise<void> {
  const { service, client, outbox, idempotency } = parts;
  await jobs.schedule({
    id: `${service}.outbox-sweep`,
    everyMs: SWEEP_EVENTS_MS,
    scope: 'cluster',
    run: () => outbox.flush(),
  });
  await jobs.schedule({
    id: `${service}.row-sweep`,
    everyMs: SWEEP_ROWS_MS,
    scope: 'cluster',
    async run() {
      await outbox.sweep();
      await idempotency.sweep(client);
    },
  });
}
