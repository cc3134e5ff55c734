/** What the writers of one brain share, and the section in which they change it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { RegistryStamp } from '@svc/contract/registry.ts';
import { Subject } from '@svc/contract/subject.ts';
import type { Idempotency } from '@svc/runtime/idempotency.ts';
import type { AuditRelay } from '@svc/runtime/audit-relay.ts';
import type { Outbox } from '@svc/runtime/outbox.ts';
import { diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { InTurn } from '@svc/runtime/turns.ts';
import { type Statement, withPgTransaction } from '@svc/runtime/transaction.ts';
import type { KeptContexts } from '../context/kept-contexts.ts';
import type { Meaning } from '../embedding/meaning.ts';
import type { Repository } from '../git/repository.ts';
import type { RowRules } from '../ports.ts';
import type { IslandPast } from '../brain/island-past.ts';
import type { CommitHandles } from '../rules/commit-handles.ts';
import type { DenialLog } from '../rules/denial-log.ts';
import type { IndexMemory } from '../search/index-memory.ts';
import type { FileHomes } from '../store/file-homes.ts';
import { enterWriteSection, type WriteSection } from '../store/lease-store.ts';
import type { Owner } from '../store/ownership.ts';
import type { Counters } from './counters.ts';
import type { RwLock } from './rw-lock.ts';

/** Who asks a brain for something, from the tool to the last rule of the writer; plain data, it crosses the bus. */
export const OpContext = z.strictObject({
  /** As whom it is recorded. */
  actor: z.string(),
  subject: Subject,
  session: z.string(),
  /** Identity that the registry verified; null when there is none. */
  verifiedAgent: z.string().nullable(),
  /** `agentId` argument, as given. */
  declaredAgent: z.string().nullable(),
  /** Fence of the lease the caller claims to hold. */
  fence: z.number().nullable(),
  /** When the call came to the process that works on it, and by when it must be done: milliseconds since the epoch. */
  since: z.number(),
  deadlineAt: z.number(),
  /** As the context of the call says it. On the bus only where it is not so: a version that does not know it takes the rest. */
  repeatable: z.boolean().default(true),
  idempotency: z
    .strictObject({ principal: z.string(), tool: z.string(), key: z.string(), argsHash: z.string() })
    .nullable(),
  /** Under what the row rules are judged; null = what the registry stands at when they are. */
  registry: RegistryStamp.nullable(),
  operator: z.boolean(),
  /** The service acts by itself: no row rule is judged. */
  isService: z.boolean(),
});
export type OpContext = Readonly<z.output<typeof OpContext>>;

/** A second effect of one keyed call has an outcome of its own. */
export function secondStep(context: OpContext, step: string): OpContext {
  const { idempotency } = context;
  if (idempotency === null) return context;
  return { ...context, idempotency: { ...idempotency, key: `${idempotency.key}#${step}` } };
}

/** Something that health has to say. */
export interface BrainProblem {
  readonly code: string;
  readonly text: string;
}

export interface BrainContext {
  readonly name: string;
  readonly owner: Owner;
  readonly repository: Repository;
  /** Where records of work lie that a killed process leaves half done. */
  readonly journalDir: string;
  /** Ids of records of moves in git whose outcome the database has not taken yet. */
  readonly unstored: Set<string>;
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'ids' | 'log' | 'database' | 'random'>;
  readonly idempotency: Idempotency;
  readonly outbox: Outbox;
  readonly audit: Pick<AuditRelay, 'kick'>;
  readonly rules: RowRules;
  readonly denials: DenialLog;
  readonly counters: Counters;
  readonly rwLock: RwLock;
  /**
   * Which working tree is that of which branch changes in turns. Who has one waits for no queue of a branch, whose work may
   * wait for a turn.
   */
  readonly treeTurn: InTurn;
  /** What the disk refused lately. */
  readonly disk: { problemsOf(brain: string): Promise<readonly BrainProblem[]> };
  readonly indexes: IndexMemory;
  /** Vectors of passages, and what is still to be made of them. */
  readonly meaning: Pick<Meaning, 'vectors' | 'filler'>;
  /** Of all brains of this process. */
  readonly contexts: KeptContexts;
  /** What commits are called for whom something of the brain is hidden. */
  readonly handles: CommitHandles;
  readonly islands: Pick<IslandPast, 'hasHeld'>;
  /** Files that are at home elsewhere than the brain. */
  readonly homes: FileHomes;
}

/** The brain moved to another process; whoever asked looks for it again. */
export class NotOwner extends Error {}

/** The working tree was closed; whoever asked gets another one. */
export class TreeClosed extends Error {}

/** Once it did what a rollback does not undo, such as moving a branch; `isKeyed`: two runs that commit have one effect. */
type Irrevocable = (isKeyed: boolean) => void;

/** For what must be stored because the branch has moved, also when the database is away for a moment. */
const STORED_WITHIN_MS = 6000;
const PAUSE_MS = 100;

/**
 * One transaction in which the brain's owner and lease rows stay as they are. `work` may run again after a conflict and,
 * once it has called `irrevocable`, after a lost connection: then it only stores what came of that. `begin` comes before
 * each of its runs, when it is not known yet whether there is a section, and takes the time of entering it.
 * Throws NotOwner, and what `withPgTransaction` throws; nothing of `work` is under way then.
 */
export async function writeSection<Value>(
  brain: BrainContext,
  deadlineAt: number,
  work: (section: WriteSection, irrevocable: Irrevocable) => Promise<Value>,
  begin?: () => Promise<void>,
): Promise<Value> {
  const { clock } = brain.platform;
  let done: { readonly isKeyed: boolean } | null = null;
  const irrevocable = (isKeyed: boolean): void => {
    done = { isKeyed };
  };
  const isKeyed = (): boolean | null => done?.isKeyed ?? null;
  let until: number | null = null;
  for (;;) {
    try {
      return await enterOnce(brain, until ?? deadlineAt, (section) => work(section, irrevocable), begin);
    } catch (error) {
      if (isKeyed() === null) throw error;
      until ??= clock.now() + STORED_WITHIN_MS;
      if (clock.now() + PAUSE_MS >= until || !isWorthStoring(error, isKeyed() === true)) throw unstored(error);
    }
    await sleep(PAUSE_MS);
  }
}

function isWorthStoring(error: unknown, isKeyed: boolean): boolean {
  if (!(error instanceof CallError)) return false;
  return UNSTORED.has(error.code) || (isKeyed && error.code === 'E_OUTCOME_UNKNOWN');
}

/** Surely not committed. */
const UNSTORED: ReadonlySet<string> = new Set(['SERVICE_UNAVAILABLE', 'E_BUSY', 'TIMEOUT']);

function unstored(error: unknown): unknown {
  const isExpected = error instanceof CallError || error instanceof NotOwner || diskTroubleOf(error) !== null;
  return isExpected ? new CallError('E_OUTCOME_UNKNOWN') : error;
}

async function enterOnce<Value>(
  brain: BrainContext,
  deadlineAt: number,
  work: (section: WriteSection) => Promise<Value>,
  begin?: () => Promise<void>,
): Promise<Value> {
  const { platform, counters, rwLock, outbox } = brain;
  let leave: ((failed: boolean) => void) | null = null;
  /** In the last attempt. */
  let sent: Promise<unknown>[] = [];
  const course = new Course();
  const attempt = async (transaction: SqlClient): Promise<Value> => {
    const entering = enterWriteSection(transaction, brain.name, brain.owner);
    entering.catch(() => {}); // awaited below, unless `begin` fails
    if (begin !== undefined) await course.take(begin());
    const section = await entering;
    course.assertNotOver();
    if (section === null) throw new NotOwner(brain.name);
    leave ??= counters.entered(() => platform.clock.now());
    sent = [];
    const soon = (statement: Statement) => sent.push(sendTo(transaction, statement));
    return course.take(work({ ...section, soon }));
  };
  const options = { deadlineAt, clock: platform.clock, readsFirst: true, sent: () => sent };
  try {
    const value = await rwLock.shared(() =>
      course.run(() => withPgTransaction(platform.database.pool, attempt, options)),
    );
    finish(leave, false);
    outbox.kick();
    return value;
  } catch (error) {
    if (leave === null) counters.refused();
    else finish(leave, true);
    throw error;
  }
}

/**
 * A transaction ends when its time is over, though the database or a disk still lets its work wait. What is at work then is
 * waited for, so that it can be taken back, and nothing more begins.
 */
class Course {
  #atRest: Promise<unknown> = Promise.resolve();
  #isOver = false;

  async run<Value>(transact: () => Promise<Value>): Promise<Value> {
    try {
      return await transact();
    } finally {
      this.#isOver = true;
      await this.#atRest;
    }
  }

  take<Value>(work: Promise<Value>): Promise<Value> {
    this.#atRest = work.catch(() => {}); // whoever began it hears of that
    return work;
  }

  assertNotOver(): void {
    if (this.#isOver) throw new Error('a section was entered when its time was over');
  }
}

/** Whoever ends the transaction hears of a failure; it may come sooner. */
function sendTo(transaction: SqlClient, { sql, values }: Statement): Promise<number> {
  const sent = transaction.$executeRawUnsafe(sql, ...values);
  sent.catch(() => {});
  return sent;
}

function finish(leave: ((failed: boolean) => void) | null, failed: boolean): void {
  leave?.(failed);
}
