/** svc_scenario_status: how a crew stands. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { findCrew } from '../access.ts';
import type { CrewRow } from '../crew-rows.ts';
import { isCrewName } from '../domain/crew.ts';
import type { TaskState } from '../domain/task.ts';
import type { TaskRow } from '../task-rows.ts';
import { Crew, DRESS, EMPTY_POOL, MemberShown, nameOf, ok, Phase, PoolShown, universe } from './shapes.ts';

const LastTask = z.strictObject({
  taskId: z.string(),
  no: z.int(),
  task: z.string(),
  state: z.enum(['working', 'done', 'refused']),
  executor: z.string().nullable(),
  cost: z.number(),
  code: z.string().nullable().describe('Why it was refused; null = it was not, or it was cut off.'),
  createdAt: z.number(),
});

export const status = defineTool({
  name: 'svc_scenario_status',
  area: 'scenario',
  description: 'A crew as it stands: its phase, its members, what is in the pool now, what became of its tasks.',
  input: z.strictObject({ crew: Crew, universe }),
  output: z.strictObject({
    ok,
    crew: z.string(),
    phase: Phase,
    roster: z.array(MemberShown.extend({ alive: z.boolean(), quarantined: z.boolean() })),
    workspace: z.string(),
    universe: z.string(),
    pool: PoolShown,
    tasks: z.strictObject({ done: z.int(), refused: z.int() }),
    lastTask: LastTask.nullable(),
    createdAt: z.number(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_SCENARIO_ABSENT', 'E_SCENARIO_NAME', 'E_SNAPSHOT_UNIVERSE'],
  dress: DRESS,
  example: { crew: 'alpha' },
  async handler({ crew: name, universe: named }, { deps, caller, refuse, take }) {
    const { crews } = deps;
    if (!isCrewName(name)) throw refuse('E_SCENARIO_NAME');
    const crew = take(await findCrew(deps, caller, { name, universe: named, role: 'viewer' }));
    const [states, pool, last] = await Promise.all([crews.states(crew), crews.pool(crew), crews.tasks.last(crew)]);
    const stateOf = new Map(states.map(({ agentId, alive, quarantined }) => [agentId, { alive, quarantined }]));
    const { phase, roster, workspace, done, refused, createdAt } = crew;
    return {
      ok: true as const,
      crew: name,
      phase,
      roster: roster.map((member) => ({ ...member, alive: false, quarantined: false, ...stateOf.get(member.id) })),
      workspace,
      universe: crew.universe,
      pool: pool ?? EMPTY_POOL,
      tasks: { done, refused },
      lastTask: last === null ? null : shownTask(last, crew),
      createdAt,
    };
  },
});

const ENDS: Partial<Record<TaskState, 'done' | 'refused'>> = { done: 'done', refused: 'refused', undone: 'refused' };

function shownTask(task: TaskRow, { roster }: Pick<CrewRow, 'roster'>): z.input<typeof LastTask> {
  const { taskId, no, text, state, executor, cost, refusal, createdAt } = task;
  return {
    taskId,
    no,
    task: text,
    state: ENDS[state] ?? 'working',
    executor: nameOf(roster, executor),
    cost: creditsFromAmount(cost as AmountMicros),
    code: refusal?.code ?? null,
    createdAt,
  };
}
