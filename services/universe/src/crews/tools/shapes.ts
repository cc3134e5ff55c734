/** What the tools of crews take and show. */
import { z } from 'zod';
import { PHASES } from '../domain/crew.ts';
import type { Member } from '../domain/crew.ts';
import type { Pool } from '../task-rows.ts';

export const DRESS = { ok: false };
export const ok = z.literal(true);

export const universe = z
  .string()
  .max(1024)
  .optional()
  .describe("Universe from which its seed follows, 1-256 bytes; default: the node's.");
export const Crew = z
  .string()
  .max(1024)
  .describe('Name of the crew: 1-64 letters, digits, dots, underscores or dashes.');

export const PoolShown = z.strictObject({
  limit: z.number(),
  spent: z.number(),
  pending: z.number(),
  available: z.number(),
});

export const Phase = z.enum(PHASES);

export const MemberShown = z.strictObject({ id: z.string(), name: z.string(), role: z.enum(['lead', 'member']) });

export const EMPTY_POOL: Pool = { limit: 0, spent: 0, pending: 0, available: 0 };

export function nameOf(roster: readonly Member[], id: string | null): string | null {
  return roster.find((member) => member.id === id)?.name ?? null;
}
