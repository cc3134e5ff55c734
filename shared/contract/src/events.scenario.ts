/** Events of crews, to the members of their workspace. Never what their tasks are. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';

const task = { crew: z.string(), taskId: z.string(), no: z.int() };

const told = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  ({
    service: 'universe',
    meaning,
    audience: 'members',
    payload: z.strictObject(shape),
  }) as const satisfies EventDeclaration;

export const SCENARIO_EVENTS = {
  'scenario:assembled': told('A crew is there: its agents, their workspace and their pool.', {
    crew: z.string(),
    agents: z.int(),
    by,
  }),
  'scenario:quarantined': told('A crew does nothing while some of its members are in quarantine, or nobody can tell.', {
    crew: z.string(),
    members: z.array(z.string()),
  }),
  'scenario:closed-out': told('A task of a crew was voted on, noted and paid.', {
    ...task,
    executor: z.string(),
    cost: z.number(),
    phase: z.enum(['ready', 'closed']),
  }),
  'scenario:refused': told('A task of a crew came to nothing, and its price is back.', {
    ...task,
    code: z.string().nullable().describe('Why; null = it was cut off.'),
  }),
} as const satisfies Record<string, EventDeclaration>;
