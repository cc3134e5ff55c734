/** Events of what stays for a while. */
import { z } from 'zod';
import { by, type EventDeclaration, parties } from './event-declaration.ts';

const tmpPlace = { workspace: z.string(), space: z.enum(['dropbox', 'yourStuff', 'myStuff', 'cache', 'stash']) };

export const TEMPORARY_EVENTS = {
  'tmp:put': {
    service: 'brain',
    meaning: 'Something was put into a temporary space; of a stash, name is its id.',
    audience: 'parties',
    payload: z.strictObject({ ...tmpPlace, name: z.string(), by, expiresAt: z.number().optional(), parties }),
  },
  'tmp:deleted': {
    service: 'brain',
    meaning: 'A file was deleted from a temporary space.',
    audience: 'parties',
    payload: z.strictObject({ ...tmpPlace, name: z.string(), by, parties }),
  },
  'tmp:cleared': {
    service: 'brain',
    meaning: 'A temporary space was cleared, by a member of what is its own.',
    audience: 'parties',
    payload: z.strictObject({ ...tmpPlace, count: z.int(), by, parties }),
  },
} as const satisfies Record<string, EventDeclaration>;
