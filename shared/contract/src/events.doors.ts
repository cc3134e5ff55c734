/** Events of the ways out of this deployment, and of sessions that begin their work: names and outcomes, never contents. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';

const code = z.string().nullable().describe('Why it failed; null = it did not.');
const remote = { by, id: z.string(), name: z.string() };

export const DOOR_EVENTS = {
  'boot:initialized': {
    service: 'universe',
    meaning: 'A session began its work, under a task that holds its scopes.',
    audience: 'parties',
    payload: z.strictObject({ by, taskId: z.string(), scopes: z.array(z.string()), parties }),
  },
  'boot:reset': {
    service: 'universe',
    meaning: 'A session ended its work and gave up the scopes of its task.',
    audience: 'parties',
    payload: z.strictObject({ by, taskId: z.string(), parties }),
  },
  'connector:checked': {
    service: 'universe',
    meaning: 'It was tried whether an outside system can be reached.',
    audience: 'operator',
    payload: z.strictObject({ by, connector: z.string(), code }),
  },
  'remote:added': {
    service: 'universe',
    meaning: 'Another node, or a remote to sync with, was added.',
    audience: 'operator',
    payload: z.strictObject({ ...remote, type: z.string() }),
  },
  'remote:removed': {
    service: 'universe',
    meaning: 'Another node, or a remote to sync with, was removed.',
    audience: 'operator',
    payload: z.strictObject(remote),
  },
  'remote:called': {
    service: 'universe',
    meaning: 'A tool of another node was called.',
    audience: 'admins',
    payload: z.strictObject({ by, host: z.string(), tool: z.string(), ok: z.boolean(), code }),
  },
} as const satisfies Record<string, EventDeclaration>;
