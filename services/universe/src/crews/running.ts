/**
 * A task of a crew, step by step. Each step asks others under a name of its own, so it may be repeated by anybody after any
 * stop, and moves the row only from where it was. What is cut off before its vote has passed is undone; after that it is
 * finished.
 */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { InboxStore } from '../streams/inbox-store.ts';
import type { UniverseStore, Work } from '../universe-store.ts';
import { OWN_CALL } from './assembling.ts';
import { type CrewChange, type CrewRow, readCrewById, updateCrew } from './crew-rows.ts';
import { accountOfCrew, type CrewEvent, phaseAfter } from './domain/crew.ts';
import { noteText } from './domain/note.ts';
import { decideExecutor, fileOfCrew, holdIdOf, quorumOf, type TaskState, topicOf, votersOf } from './domain/task.ts';
import { poolOf, statesOf } from './judging.ts';
import type { CrewPorts } from './ports.ts';
import { moveTask, readTask, type TaskChange, type TaskRefusal, type TaskRow } from './task-rows.ts';

export type RunRefusal =
  | 'E_SCENARIO_BUDGET'
  | 'E_SCENARIO_DELEGATE'
  | 'E_SCENARIO_NO_QUORUM'
  | 'E_COLLISION'
  | 'E_STATE_WRITE';

export interface RunParts {
  readonly store: UniverseStore;
  readonly ports: CrewPorts;
  readonly inboxes: Pick<InboxStore, 'put' | 'complete' | 'fail'>;
  readonly log: Pick<Platform['log'], 'error'>;
}

interface Step {
  readonly parts: RunParts;
  readonly task: TaskRow;
  readonly crew: CrewRow;
}

/** After this long a hold that was asked for is refused, so that none comes when its task was given up. */
const HOLD_WITHIN_MS = 10_000;
const HOLD_LIFE_MS = 2_592_000_000;
const SINK = 'sink:universe';
const ACCEPT = 'accept';

const STEPS: Readonly<Record<Exclude<TaskState, 'done' | 'refused' | 'undone'>, (step: Step) => Promise<void>>> = {
  begun: hold,
  held: delegate,
  delegated: vote,
  tracking: track,
  capturing: capture,
  undoing: giveBack,
};

/** To its end. Throws what stands in the way; SERVICE_UNAVAILABLE when somebody has undone it. */
export async function runTask(parts: RunParts, taskId: string): Promise<Decision<null, RunRefusal>> {
  const { client } = parts.store;
  for (;;) {
    const task = await readTask(client, taskId);
    if (task === null) throw new Error('a task of a crew is gone');
    const { state, refusal } = task;
    if (state === 'done') return allow(null);
    if (state === 'refused' && refusal !== null) return { ok: false, ...refusal } as Decision<null, RunRefusal>;
    if (state === 'undone' || state === 'refused') {
      throw new CallError('SERVICE_UNAVAILABLE', 'It was cut off and undone.', { retryAfterMs: 100 });
    }
    const crew = await readCrewById(client, task.crewId);
    if (crew === null) throw new Error('a task has no crew');
    await STEPS[state]({ parts, task, crew });
  }
}

/** What has decided nothing yet is marked as undone. `refusal` null = it was cut off. */
export async function giveUp(
  { store }: Pick<RunParts, 'store'>,
  { taskId, state }: Pick<TaskRow, 'taskId' | 'state'>,
  refusal: TaskRefusal | null,
): Promise<void> {
  await moveTask(store.client, taskId, { from: state, to: 'undoing' }, refusal === null ? {} : { refusal });
}

function refuse({ parts, task }: Step, code: RunRefusal, details?: Record<string, unknown>): Promise<void> {
  return giveUp(parts, task, { code, ...(details === undefined ? {} : { details }) });
}

/** Row of the task, phase of the crew, and what belongs to both: in one transaction, once. */
async function move(
  { parts, task, crew }: Step,
  to: TaskState,
  { event, counted, ...change }: TaskChange & { readonly event?: CrewEvent; readonly counted?: Counted },
  also: (unit: Work) => Promise<void> = async () => undefined,
): Promise<void> {
  await parts.store.change(OWN_CALL, async (unit) => {
    const now = await readCrewById(unit.tx, crew.crewId, 'FOR UPDATE');
    if (now === null || !(await moveTask(unit.tx, task.taskId, { from: task.state, to }, change))) return allow(null);
    const phase = event === undefined ? now.phase : phaseAfter(now.phase, event);
    if (phase === null) throw new Error(`a crew that is ${now.phase} cannot be ${event}`);
    await updateCrew(unit.tx, crew.crewId, { phase, ...counted });
    await also(unit);
    return allow(null);
  });
}

type Counted = Pick<CrewChange, 'done' | 'refused'>;

async function hold(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const question = {
    holdId: holdIdOf(crew.name, task.no),
    payer: { agent: accountOfCrew(crew.name) },
    amount: creditsFromAmount(task.cost as AmountMicros),
    ttlMs: HOLD_LIFE_MS,
    condition: { type: 'crew', crew: crew.name, task: task.taskId },
    deadlineAt: task.triedAt + HOLD_WITHIN_MS,
  };
  const held = await parts.ports.money.hold(
    { ...question, deadlineAt: Math.ceil(question.deadlineAt) },
    { by: task.by },
  );
  if (held.ok) return move(step, 'held', { event: 'held' });
  if (held.code === 'E_HOLD_CLOSED' || held.code === 'E_HOLD_EXPIRED') return giveUp(parts, task, null);
  if (held.code === 'E_HOLD_EXISTS') throw new Error(`the hold of ${task.taskId} is another one`);
  const pool = await poolOf(parts.ports, crew);
  const cause = held.code === 'E_BUDGET' ? {} : { cause: held.code };
  return refuse(step, 'E_SCENARIO_BUDGET', { available: pool?.available ?? 0, ...cause });
}

async function delegate(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const states = await statesOf(parts.ports, crew);
  const executor = decideExecutor(crew, task.no, states);
  if (!executor.ok) return refuse(step, executor.code);
  const { id: agentId } = executor.value;
  const voters = votersOf(crew.roster, states);
  const item = { crew: crew.name, no: task.no, task: task.text, taskId: task.taskId };
  return move(step, 'delegated', { executor: agentId, voters, event: 'delegated' }, async (unit) => {
    await parts.inboxes.put(unit, { agentId, key: task.taskId, task: item });
  });
}

async function vote(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const { executor, voters } = delegated(task);
  const required = quorumOf(crew.roster);
  const eligible = voters.length;
  if (eligible < required) return refuse(step, 'E_SCENARIO_NO_QUORUM', { eligible, required });
  const closed = await parts.ports.votes.closeout({
    topic: topicOf(crew.crewId, task.no),
    options: [ACCEPT, 'reject'],
    minQuorum: required,
    scope: { owner: `workspace:${crew.workspace}`, visibility: 'scope' },
    author: executor,
    ballots: voters.map((voter) => ({ voter, outcome: ACCEPT })),
  });
  if (!closed.ok) {
    if (closed.code === 'E_COLLISION') return refuse(step, closed.code, closed.details);
    throw new Error(`the vote on ${task.taskId} is none: ${closed.code}`);
  }
  const { winner, votes, percentage, decidedAt } = closed.value;
  if (winner !== ACCEPT) return refuse(step, 'E_SCENARIO_NO_QUORUM', { eligible, required });
  return move(step, 'tracking', { decision: { winner, votes, percentage, decidedAt } });
}

async function track(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const { executor } = delegated(task);
  const note = {
    id: task.deltaId,
    file: fileOfCrew(crew.name),
    change: noteText(task, crew),
    changedBy: executor,
    workspace: crew.workspace,
  };
  const noted = await parts.ports.notes.noteResolution(note, { by: task.by });
  if (!noted.ok) return refuse(step, 'E_STATE_WRITE', { cause: noted.code });
  return move(step, 'capturing', {});
}

async function capture(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const { executor } = delegated(task);
  const wish = { holdId: holdIdOf(crew.name, task.no), payee: SINK };
  const captured = await parts.ports.money.capture(wish, { by: task.by });
  if (!captured.ok) return contradicted(step, captured.code);
  const pool = await poolOf(parts.ports, crew);
  if (pool === null) throw new Error(`the pool of ${crew.name} is gone`);
  const event = pool.available === 0 ? 'emptied' : 'closed-out';
  const phase = event === 'emptied' ? ('closed' as const) : ('ready' as const);
  const cost = creditsFromAmount(task.cost as AmountMicros);
  return move(step, 'done', { pool, phase, event, counted: { done: 1 } }, async (unit) => {
    const { taskId, no } = task;
    await parts.inboxes.complete(unit, { agentId: executor, key: taskId, result: { decision: ACCEPT } });
    const payload = { crew: crew.name, taskId, no, executor, cost, phase };
    unit.emit({ name: 'scenario:closed-out', workspace: crew.workspace, payload });
  });
}

async function giveBack(step: Step): Promise<void> {
  const { parts, task, crew } = step;
  const { taskId, no, executor, refusal } = task;
  const code = refusal?.code ?? null;
  const wish = { holdId: holdIdOf(crew.name, no), reason: code ?? 'cut off' };
  const voided = await parts.ports.money.void(wish, { by: task.by });
  if (!voided.ok) return contradicted(step, voided.code);
  const to = refusal === null ? 'undone' : 'refused';
  return move(step, to, { event: 'refused', counted: { refused: 1 } }, async (unit) => {
    if (executor !== null) {
      await parts.inboxes.fail(unit, { agentId: executor, key: taskId, error: { reason: code ?? 'cut off' } });
    }
    unit.emit({ name: 'scenario:refused', workspace: crew.workspace, payload: { crew: crew.name, taskId, no, code } });
  });
}

/** The ledger will not do it now: an operator has to look, and it is tried again meanwhile. */
function contradicted({ parts, task }: Step, code: string): never {
  parts.log.error({ taskId: task.taskId, state: task.state, code }, 'money does not follow a task of a crew');
  throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
}

function delegated({ executor, voters }: TaskRow): { readonly executor: string; readonly voters: readonly string[] } {
  if (executor === null || voters === null) throw new Error('a task was delegated to nobody');
  return { executor, voters };
}
