/** stream_poll, stream_lease, stream_release: whose the work is for now. */
import { actingAs, actingAsNamed } from '@svc/contract/actor.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { standingOf } from '../../standing.ts';
import { ownerOf, type StreamPlace } from '../domain/stream.ts';
import type { Polled } from '../polling.ts';
import {
  findStream,
  handOf,
  hashOf,
  LeaseMs,
  leaseToken,
  mayIn,
  shownWork,
  sightOf,
  StreamName,
  WorkId,
  workspace,
  WorkShown,
} from './shapes.ts';

const TOKEN_BYTES = 24;

const poll = defineTool({
  name: 'stream_poll',
  area: 'stream',
  description:
    'Takes the next work of a queue, or the next task of the own inbox agent:<id>, under a lease; whoever does not complete or fail it in time loses it to the next.',
  input: z.strictObject({
    stream: StreamName,
    agentId: IdentityId.optional().describe('As whom; default: the agent of the call.'),
    ttl: LeaseMs.optional().describe('Of the lease, in ms; default: that of the queue.'),
    workspace,
  }),
  output: z.strictObject({
    stream: z.string(),
    work: WorkShown.nullable(),
    leaseToken: z.string().nullable().optional().describe('Shown once; null when the call is repeated.'),
    leaseExpiresAt: z.number().optional(),
    retryAfterMs: z.number().optional().describe('Sooner there is nothing.'),
  }),
  access: 'identified',
  effect: 'write',
  secrets: ['leaseToken'],
  refuses: ['E_STREAM_ABSENT'],
  raises: ['FORBIDDEN'],
  example: { stream: 'reviews' },
  async handler({ stream, agentId, ttl, workspace: named }, call) {
    const { deps, caller, refuse, fail } = call;
    const name = actingAs(caller, agentId);
    const { standing, place, row } = await findStream(deps, caller, { stream, workspace: named });
    if (row === null && standing.identity !== null && standing.identity === ownerOf(stream)) {
      return { stream, work: null };
    }
    const before = row === null ? await deps.work.polled(call) : null;
    if (row === null && before === null) throw refuse('E_STREAM_ABSENT');
    if (!mayIn(standing, place, 'editor'))
      throw fail('FORBIDDEN', 'To take work needs the role editor in the workspace of the queue.');
    const token = deps.random.bytes(TOKEN_BYTES).toString('base64url');
    const hand = { ...handOf(standing), ...(name === null ? {} : { name }) };
    const taking = { hand, tokenHash: hashOf(token), ttlMs: ttl ?? null };
    const outcome = before === null ? await deps.work.poll(call, place, taking) : { decision: before, replayed: true };
    return { stream, ...shownTaking(settled(call, outcome), outcome.replayed ? null : token) };
  },
});

/** `leaseToken` null = it was shown before. */
function shownTaking({ work, retryAfterMs }: Polled, leaseToken: string | null) {
  if (work === null) return { work, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
  const { leaseExpiresAt } = work;
  return { work: shownWork(work), leaseToken, ...(leaseExpiresAt === null ? {} : { leaseExpiresAt }) };
}

const lease = defineTool({
  name: 'stream_lease',
  area: 'stream',
  description: 'Takes this very work, or holds on for longer to what one has.',
  input: z.strictObject({
    workId: WorkId,
    agentId: IdentityId.describe('As whom.'),
    ttl: LeaseMs.default(60_000).describe('From now on, in ms.'),
    leaseToken,
  }),
  output: z.strictObject({
    leased: z.literal(true),
    workId: z.string(),
    agentId: z.string(),
    leaseToken: z.string().nullable().optional().describe('Of a new lease; shown once.'),
    leaseExpiresAt: z.number(),
    attempts: z.int(),
  }),
  access: 'identified',
  effect: 'write',
  secrets: ['leaseToken'],
  refuses: ['E_LEASE_HELD', 'E_WORK_ABSENT', 'E_WORK_CLOSED', 'E_NOT_AVAILABLE'],
  raises: ['FORBIDDEN'],
  dress: { leased: false },
  example: { workId: 'wrk_1', agentId: 'agt_1' },
  async handler({ workId, agentId, ttl, leaseToken: shown }, call) {
    const { deps, caller } = call;
    const name = actingAsNamed(caller, agentId);
    const standing = await standingOf(deps, caller);
    const sight = { ...sightOf(standing), sees: (place: StreamPlace) => mayIn(standing, place, 'editor') };
    const token = deps.random.bytes(TOKEN_BYTES).toString('base64url');
    const taking = { hand: { ...handOf(standing, shown), name }, tokenHash: hashOf(token), ttlMs: ttl };
    const outcome = await deps.work.lease(call, workId, sight, taking);
    const { claimed, leaseExpiresAt, attempts } = settled(call, outcome);
    const secret = claimed ? { leaseToken: outcome.replayed ? null : token } : {};
    return { leased: true as const, workId, agentId, ...secret, leaseExpiresAt, attempts };
  },
});

const release = defineTool({
  name: 'stream_release',
  area: 'stream',
  description: 'Gives work back at once, as if it had not been taken; dead work begins anew by who made its queue.',
  input: z.strictObject({ workId: WorkId, leaseToken }),
  output: z.strictObject({ released: z.literal(true), workId: z.string(), status: z.literal('pending') }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_LEASE_LOST', 'E_WORK_ABSENT', 'E_WORK_CLOSED'],
  dress: { released: false },
  example: { workId: 'wrk_1' },
  async handler({ workId, leaseToken: token }, call) {
    const standing = await standingOf(call.deps, call.caller);
    settled(call, await call.deps.work.release(call, workId, sightOf(standing), handOf(standing, token)));
    return { released: true as const, workId, status: 'pending' as const };
  },
});

export const claimTools = [poll, lease, release];
