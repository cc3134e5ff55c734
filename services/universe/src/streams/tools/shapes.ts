/** What the tools of queues take and show. */
import { createHash } from 'node:crypto';
import { WorkspaceName } from '@svc/contract/names.ts';
import { PlainText } from '@svc/contract/params.ts';
import type { Role } from '@svc/contract/registry.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { z } from 'zod';
import type { UniverseDeps } from '../../deps.ts';
import { homeOf, type Standing, standingOf } from '../../standing.ts';
import { ownerOf, placeOf, STREAM_NAME, type StreamPlace } from '../domain/stream.ts';
import type { Hand } from '../domain/work.ts';
import type { StreamRow } from '../stream-rows.ts';
import type { WorkRow } from '../work-rows.ts';
import type { Sight } from '../work-store.ts';

export const StreamName = z
  .string()
  .regex(STREAM_NAME, 'must be 1-160 letters, digits or ._@:- and start with a letter or digit')
  .describe('Queue.');
export const workspace = WorkspaceName.optional().describe('Workspace of the queue; default: the current one.');
export const WorkId = PlainText.min(1).max(100).describe('Work.');
export const leaseToken = PlainText.min(1)
  .max(100)
  .optional()
  .describe('As the claim showed it; when it is given, it alone tells who holds the work.');
export const LeaseMs = z.int().min(1000).max(3_600_000);

/** It came as JSON, so only its size is judged; null is a value. */
export const jsonOf = (kib: number) =>
  z
    .unknown()
    .refine((value) => value !== undefined, { message: 'is missing' })
    .refine((value) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= kib * 1024, {
      message: `must be at most ${kib} KiB as JSON`,
    });

export const Status = z.enum(['pending', 'working', 'completed', 'dead']);

export const WorkShown = z.strictObject({
  id: z.string(),
  stream: z.string(),
  seq: z.int(),
  key: z.string().nullable(),
  task: z.unknown(),
  status: Status,
  attempts: z.int(),
  availableAt: z.number(),
  agentId: z.string().nullable(),
  leaseExpiresAt: z.number().nullable(),
  createdAt: z.number(),
  closedAt: z.number().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

export function shownWork({ tokenHash: _tokenHash, closedAt, result, error, ...work }: WorkRow) {
  return {
    ...work,
    ...(closedAt === null ? {} : { closedAt }),
    ...(work.status === 'completed' ? { result } : {}),
    ...(error === null ? {} : { error }),
  };
}

/** A queue as the caller finds it: one that it may not see is absent. */
export async function findStream(
  deps: Pick<UniverseDeps, 'registry' | 'streams'>,
  caller: Caller,
  named: { readonly workspace?: string | undefined; readonly stream: string },
): Promise<{ readonly standing: Standing; readonly place: StreamPlace; readonly row: StreamRow | null }> {
  const standing = await standingOf(deps, caller);
  const place = placeOf(homeOf(caller, named.workspace), named.stream);
  const row = mayIn(standing, place, 'viewer') ? await deps.streams.find(place) : null;
  return { standing, place, row };
}

/** Whether somebody may do what takes that role in a workspace; in an inbox its agent may, and nobody else. */
export function mayIn(standing: Standing, { workspace: home, stream }: StreamPlace, role: Role): boolean {
  const owner = ownerOf(stream);
  if (owner === null) return standing.holds(home, role);
  return standing.operator || (standing.identity === owner && role !== 'admin');
}

export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function handOf({ name, operator }: Standing, token?: string): Hand {
  return { name, operator, tokenHash: token === undefined ? null : hashOf(token) };
}

export function sightOf(standing: Standing): Sight {
  return {
    sees: (place) => mayIn(standing, place, 'viewer'),
    manages: (place) => mayIn(standing, place, 'admin'),
  };
}
