/** Events of what is run and fetched for callers: who did it and what became of it, never code or content. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';

const code = z.string().nullable().describe('Why it failed; null = it did not.');

export const SANDBOX_EVENTS = {
  'compute:ran': {
    service: 'universe',
    meaning: 'Code of a caller, or a listed function, was run.',
    audience: 'admins',
    payload: z.strictObject({ by, function: z.string().nullable(), code }),
  },
  'network:fetched': {
    service: 'universe',
    meaning: 'Something was fetched from a listed host, or would have been.',
    audience: 'admins',
    payload: z.strictObject({ by, host: z.string(), status: z.int().nullable(), code }),
  },
  'shell:ran': {
    service: 'universe',
    meaning: 'A program was run in the sandbox, or would have been.',
    audience: 'admins',
    payload: z.strictObject({ by, program: z.string(), exitCode: z.int().nullable(), code }),
  },
  'shell:spawned': {
    service: 'universe',
    meaning: 'A program was started in the sandbox, and goes on.',
    audience: 'admins',
    payload: z.strictObject({ by, jobId: z.string(), program: z.string() }),
  },
} as const satisfies Record<string, EventDeclaration>;
