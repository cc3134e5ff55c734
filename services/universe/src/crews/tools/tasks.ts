/** svc_scenario_task: what a crew is asked to do. */
import { type AmountMicros, amountFromCredits, creditsFromAmount, PositiveCredits } from '@svc/contract/amount.ts';
import { actorName } from '@svc/contract/actor.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { findCrew } from '../access.ts';
import { votesOf } from '../domain/note.ts';
import { fileOfCrew, isTaskText, quorumOf, topicOf } from '../domain/task.ts';
import { doneTask } from '../task-rows.ts';
import { Crew, DRESS, nameOf, ok, Phase, PoolShown, universe } from './shapes.ts';

const Vote = z.strictObject({
  voter: z.string(),
  outcome: z.string(),
  basis: z.literal('rule').describe('Members sign off by rule; nobody was asked.'),
});

export const task = defineTool({
  name: 'svc_scenario_task',
  area: 'scenario',
  description:
    'Gives a crew a task: the price is held, one member gets it in its inbox, the crew votes, the decision is noted and paid.',
  input: z.strictObject({
    crew: Crew,
    task: z.string().describe('What is to be done, 1-512 characters.'),
    cost: PositiveCredits.optional().describe('Credits; default: half of the limit in whole credits, or what is left.'),
    universe,
  }),
  output: z.strictObject({
    ok,
    crew: z.string(),
    taskId: z.string(),
    no: z.int(),
    task: z.string(),
    executor: z.string().describe('Name of the member; the roster has its id.'),
    cost: z.number(),
    topic: z.string(),
    decision: z.strictObject({
      winner: z.string(),
      votes: z.number(),
      percentage: z.number(),
      decidedAt: z.number(),
    }),
    quorum: z.strictObject({ required: z.int(), reached: z.boolean() }),
    votes: z.array(Vote),
    delta: z.strictObject({ id: z.string(), file: z.string() }),
    pool: PoolShown,
    phase: Phase,
  }),
  access: 'identified',
  effect: 'write',
  refuses: [
    'E_SCENARIO_ABSENT',
    'E_SCENARIO_TASK',
    'E_SCENARIO_QUARANTINED',
    'E_SCENARIO_BUDGET',
    'E_SCENARIO_DELEGATE',
    'E_SCENARIO_NO_QUORUM',
    'E_COLLISION',
    'E_STATE_WRITE',
    'E_SNAPSHOT_UNIVERSE',
  ],
  raises: ['E_BUSY'],
  dress: DRESS,
  example: { crew: 'alpha', task: 'Read the tide tables' },
  async handler({ crew: name, task: text, cost, universe: named }, call) {
    const { deps, caller, refuse, take } = call;
    const { crews } = deps;
    if (!isTaskText(text)) throw refuse('E_SCENARIO_TASK');
    const crew = take(await findCrew(deps, caller, { name, universe: named, role: 'editor' }));
    if (crew.step !== 'done') throw refuse('E_SCENARIO_ABSENT');
    const wish = { crew, text, cost: cost === undefined ? null : amountFromCredits(cost), by: actorName(caller) };
    const { taskId } = settled(call, await crews.tasks.perform(call, wish));
    const row = doneTask(await crews.tasks.read(taskId));
    return {
      ok: true as const,
      crew: name,
      taskId,
      no: row.no,
      task: row.text,
      executor: nameOf(crew.roster, row.executor) ?? '',
      cost: creditsFromAmount(row.cost as AmountMicros),
      topic: topicOf(crew.crewId, row.no),
      decision: row.decision,
      quorum: { required: quorumOf(crew.roster), reached: true },
      votes: votesOf(row.voters),
      delta: { id: row.deltaId, file: fileOfCrew(name) },
      pool: row.pool,
      phase: row.phase,
    };
  },
});
