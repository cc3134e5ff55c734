/** Events of what is noted about a brain: decisions, citations, links, attention, insights. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';

const resources = z.array(z.string()).describe('Row-rule keys that decide who may hear it.');
const work = z.strictObject({ brain: z.string(), session: z.string(), by, resources });

export const RELATION_EVENTS = {
  'resolution:tracked': {
    service: 'brain',
    meaning: 'Somebody noted what was decided about a file.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), branch: z.string(), id: z.string(), file: z.string(), by, resources }),
  },
  'citation:added': {
    service: 'brain',
    meaning: 'A commit was cited; svc_citations_list tells which, to whom it may be told.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), id: z.string(), by, resources }),
  },
  'brain:linked': {
    service: 'brain',
    meaning: 'Somebody noted that two things of a brain belong together.',
    audience: 'readers',
    payload: z.strictObject({
      brain: z.string(),
      from: z.string(),
      to: z.string(),
      type: z.string(),
      by,
      resources,
    }),
  },
  'brain:attended': {
    service: 'brain',
    meaning: 'Somebody noted that something of a brain deserves attention.',
    audience: 'readers',
    payload: z.strictObject({ brain: z.string(), about: z.string(), score: z.number(), by, resources }),
  },
  'insight:shared': {
    service: 'brain',
    meaning: 'Somebody shared what it learned with the workspace, or, without one, with all callers.',
    audience: 'members',
    payload: z.strictObject({ id: z.string(), by }),
  },
  'evolution:started': {
    service: 'brain',
    meaning: 'A session of work on a brain began.',
    audience: 'readers',
    payload: work,
  },
  'evolution:noted': {
    service: 'brain',
    meaning: 'Something was learned in a session of work.',
    audience: 'readers',
    payload: work,
  },
  'evolution:ended': {
    service: 'brain',
    meaning: 'A session of work ended.',
    audience: 'readers',
    payload: work,
  },
} as const satisfies Record<string, EventDeclaration>;
