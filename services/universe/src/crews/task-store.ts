/** Tasks of crews: begun one after the other, run to their end. */
import { setTimeout as pause } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Clock, Ids } from '@svc/runtime/clock.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { Work } from '../universe-store.ts';
import { type CrewRow, readCrewById, updateCrew } from './crew-rows.ts';
import { phaseAfter } from './domain/crew.ts';
import { decideCost, isUndoable, type Purse } from './domain/task.ts';
import { findQuarantined, poolOf, purseOf } from './judging.ts';
import { giveUp, type RunParts, type RunRefusal, runTask } from './running.ts';
import { hasOpenTask, insertTask, readLastTask, readTask, readTaskByKey, type TaskRow } from './task-rows.ts';

export interface TaskWish {
  readonly crew: CrewRow;
  readonly text: string;
  /** Micro-credits; null = half of the pool. */
  readonly cost: bigint | null;
  readonly by: string;
}

type TaskRefusalCode = RunRefusal | 'E_SCENARIO_QUARANTINED';
interface Begun {
  readonly taskId: string;
}
type BeginRefusal = 'E_SCENARIO_QUARANTINED' | 'E_SCENARIO_BUDGET';
/** Null = another task of the crew is under way. */
type Begin = Decision<Begun, BeginRefusal> | null;

const PATIENCE_MS = 5000;
const LOOK_EVERY_MS = 25;

interface TaskParts extends RunParts {
  readonly ids: Ids;
  readonly clock: Clock;
}

export function createTaskStore(parts: TaskParts) {
  const { client, change, idempotency } = parts.store;
  return {
    /**
     * Resolves when it is done, or refused and undone; sent again with its key it goes on. Throws E_BUSY when others were
     * at it for too long, E_OUTCOME_UNKNOWN when it goes on by itself.
     */
    async perform(call: ChangeCall, wish: TaskWish): Promise<Once<Begun, TaskRefusalCode>> {
      const earlier = await idempotency.find<Begun, TaskRefusalCode>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const begun = await inTurn(parts, call, wish);
      const ended = begun.ok ? await toItsEnd(parts, begun.value.taskId) : begun;
      return change<Begun, TaskRefusalCode>(call, async () => (ended.ok ? begun : ended));
    },
    read: (taskId: string): Promise<TaskRow | null> => readTask(client, taskId),
    last: ({ crewId }: CrewRow): Promise<TaskRow | null> => readLastTask(client, crewId),
  };
}

/** What has decided nothing when it is cut off is undone at once, if that can be done. */
async function toItsEnd(parts: TaskParts, taskId: string): Promise<Decision<null, RunRefusal>> {
  try {
    return await runTask(parts, taskId);
  } catch (error) {
    if (!(error instanceof CallError) || error.code === 'INTERNAL') throw error;
    const task = await readTask(parts.store.client, taskId);
    if (task === null || task.state === 'undone') throw error;
    if (!isUndoable(task.state)) throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
    await giveUp(parts, task, null);
    return await runTask(parts, taskId);
  }
}

/** One task of a crew at a time; the others wait for a while. */
async function inTurn(parts: TaskParts, call: ChangeCall, wish: TaskWish): Promise<Decision<Begun, BeginRefusal>> {
  const { client } = parts.store;
  const { clock } = parts;
  const until = clock.now() + PATIENCE_MS;
  for (;;) {
    const known = await begunBefore(client, call);
    if (known !== null) return known;
    const begun = (await hasOpenTask(client, wish.crew.crewId)) ? null : await beginJudged(parts, call, wish);
    if (begun !== null) return begun;
    if (clock.now() >= until) throw new CallError('E_BUSY');
    await pause(LOOK_EVERY_MS);
  }
}

/** The task that the same call began; null = it began none yet. */
async function begunBefore(client: SqlClient, { idempotency }: ChangeCall): Promise<Decision<Begun, never> | null> {
  if (idempotency === null) return null;
  const known = await readTaskByKey(client, idempotencyId(idempotency));
  if (known === null) return null;
  if (known.argsHash !== idempotency.argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  return allow({ taskId: known.taskId });
}

interface Verdict {
  readonly quarantined: readonly string[];
  readonly purse: Purse;
}

/** Quarantine first: before anything is known of money. */
async function beginJudged(parts: TaskParts, call: ChangeCall, wish: TaskWish): Promise<Begin> {
  const { crew } = wish;
  const quarantined = await findQuarantined(parts.ports, crew);
  const purse = purseOf(quarantined.length > 0 ? null : await poolOf(parts.ports, crew));
  const { decision } = await parts.store.change<Begin>(
    { ...call, idempotency: null },
    async (unit) => allow(await begin(parts, { unit, call, wish, verdict: { quarantined, purse } })),
    { inTurnOf: `crew ${crew.crewId}` },
  );
  if (!decision.ok) throw new Error('a beginning is not denied');
  return decision.value;
}

interface Beginning {
  readonly unit: Work;
  readonly call: ChangeCall;
  readonly wish: TaskWish;
  readonly verdict: Verdict;
}

async function begin({ ids }: TaskParts, { unit, call, wish, verdict }: Beginning): Promise<Begin> {
  const { tx } = unit;
  const crew = await readCrewById(tx, wish.crew.crewId, 'FOR UPDATE');
  if (crew === null) throw new Error('a crew is gone');
  if (await hasOpenTask(tx, crew.crewId)) return null;
  // Whoever had the row until now may have been the same call, and its task be over.
  const known = await begunBefore(tx, call);
  if (known !== null) return known;
  if (crew.phase === 'closed') return deny('E_SCENARIO_BUDGET', { available: 0 });
  if (verdict.quarantined.length > 0) return stop(unit, crew, verdict.quarantined);
  const cost = decideCost(verdict.purse, wish.cost);
  if (!cost.ok) {
    await updateCrew(tx, crew.crewId, { phase: crew.phase, refused: 1 });
    return cost;
  }
  const { idempotency } = call;
  const no = crew.taskCount + 1;
  const taskId = ids.next('task');
  await insertTask(tx, {
    taskId,
    crewId: crew.crewId,
    no,
    text: wish.text,
    cost: cost.value,
    deltaId: ids.next('res'),
    by: wish.by,
    openKey: idempotency === null ? null : idempotencyId(idempotency),
    argsHash: idempotency?.argsHash ?? null,
  });
  await updateCrew(tx, crew.crewId, { phase: crew.phase, taskCount: no });
  return allow({ taskId });
}

/** Told when it comes to that, not each time somebody asks. */
async function stop(
  { tx, emit }: Work,
  { crewId, name: crew, phase: before, workspace }: CrewRow,
  members: readonly string[],
): Promise<Begin> {
  const phase = phaseAfter(before, 'quarantined');
  if (phase === null) throw new Error(`a crew that is ${before} begins nothing`);
  await updateCrew(tx, crewId, { phase, refused: 1 });
  if (phase !== before) emit({ name: 'scenario:quarantined', workspace, payload: { crew, members: [...members] } });
  return deny('E_SCENARIO_QUARANTINED', { members });
}
