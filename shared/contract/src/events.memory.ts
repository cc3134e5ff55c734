/** Events of what the brain keeps beside its files: values, addresses, lineage. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';

const resources = z.array(z.string()).describe('Row-rule keys that decide who may hear it.');

export const MEMORY_EVENTS = {
  'memory:stated': {
    service: 'brain',
    meaning: 'A value was stored under a key of the workspace, or, without one, of the space that all callers share.',
    audience: 'members',
    payload: z.strictObject({ key: z.string(), by }),
  },
  'memory:learned': {
    service: 'brain',
    meaning: 'A document was learned; brain:change tells of its file.',
    audience: 'readers',
    payload: z.strictObject({
      key: z.string(),
      file: z.string(),
      brain: z.string(),
      branch: z.string(),
      by,
      resources,
    }),
  },
  'memory:cleared': {
    service: 'brain',
    meaning: 'The values of a workspace, or of the space that all share, were cleared, or what was learned in a brain.',
    audience: 'members',
    payload: z.strictObject({
      what: z.enum(['state', 'learned']),
      brain: z.string().optional(),
      branch: z.string().optional(),
      by,
      resources,
    }),
  },
  'lineage:recorded': {
    service: 'brain',
    meaning: 'An event was recorded in the lineage of the workspace, or got further parents.',
    audience: 'members',
    payload: z.strictObject({ entry: z.string().describe('Its id in the lineage.'), event: z.string(), by }),
  },
  'address:stored': {
    service: 'brain',
    meaning: 'Data was stored under its address, or a file was remembered under that of its text.',
    audience: 'readers',
    payload: z.strictObject({
      brain: z.string(),
      barcode: z.string().nullable().describe('Null of a file with hidden fields.'),
      key: z.string().nullable().describe('Under which name; null = none.'),
      by,
      resources,
    }),
  },
} as const satisfies Record<string, EventDeclaration>;
