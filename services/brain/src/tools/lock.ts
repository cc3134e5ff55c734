/** svc_lock: the lease of a brain. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { leaseGuard, TimestampMs } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import type { BrainOps, Op } from '../brain/ops.ts';
import { GUEST_LEASE_MS, LEASE_TTL } from '../domain/lease.ts';
import { requireHomeAdmin, standingAtHome } from './home.ts';
import {
  type CallContext,
  opContext,
  requireIdentity,
  requireWriter,
  resolveTarget,
  settled,
  type Target,
  WRITE_RAISES,
} from './target.ts';

const lease = z.strictObject({
  brain: z.string(),
  state: z.enum(['held', 'released']),
  agentId: z.string().nullable(),
  fence: z.int(),
  acquiredAt: TimestampMs.nullable(),
  expiresAt: TimestampMs.nullable(),
  remainingMs: z.number(),
});

const count = z.int();
const mutexCounters = z.strictObject({
  acquires: count,
  held: count,
  unavailable: count,
  takeovers: count,
  releases: count,
  bodiesRun: count,
  bodyErrors: count,
  aborted: count,
  holdMsTotal: z.number(),
  holdMsMax: z.number(),
  heldNow: count,
});
const leaseCounters = z.strictObject({
  granted: count,
  refreshed: count,
  denied: count,
  released: count,
  releaseDenied: count,
  forced: count,
});

const svcLock = defineTool({
  name: 'svc_lock',
  area: 'core',
  description:
    "The brain's lease: acquire, release, status, stack, force, stats. While it is held, only its holder writes.",
  input: z.strictObject({
    action: z.enum(['acquire', 'release', 'status', 'stack', 'force', 'stats']).optional().describe('Default status.'),
    token: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Token of the live lease, to release it or to keep it longer.'),
    agentId: leaseGuard.agentId,
    ttlMs: z
      .int()
      .min(LEASE_TTL.minimumMs)
      .max(LEASE_TTL.maximumMs)
      .optional()
      .describe('How long the lease lasts, in ms; default one hour.'),
    brain: BrainName.optional(),
  }),
  output: z.union([
    z.strictObject({
      action: z.literal('acquire'),
      acquired: z.literal(true),
      token: z.string().nullable().describe('Null in a replayed reply.'),
      fence: z.int(),
      agentId: z.string(),
      brain: z.string(),
      expiresAt: TimestampMs,
      refreshed: z.boolean(),
      heldAtMostMs: z
        .int()
        .optional()
        .describe('How long you may hold it in all, because you hold no role where the brain is at home.'),
      replayed: z.literal(true).optional(),
    }),
    z.strictObject({ action: z.literal('release'), released: z.literal(true), brain: z.string() }),
    z.strictObject({
      action: z.enum(['status', 'stack']),
      status: lease,
      stack: z.array(lease).describe("The leases of the session's brains."),
      held: z.boolean(),
    }),
    z.strictObject({ action: z.literal('force'), forceReleased: z.boolean(), fence: z.int() }),
    z.strictObject({ action: z.literal('stats'), mutex: mutexCounters, lease: leaseCounters }),
  ]),
  access: 'public',
  effect: 'write',
  refuses: ['E_LOCKED', 'E_LEASE_TOKEN', 'E_LEASE_ABSENT'],
  raises: WRITE_RAISES,
  example: { action: 'acquire', agentId: 'me', ttlMs: 60_000 },
  async handler({ action = 'status', token = null, agentId, ttlMs = LEASE_TTL.defaultMs, ...wish }, context) {
    const target = await resolveTarget(context, wish);
    const op = { context: opContext(context, { agentId }) };
    switch (action) {
      case 'acquire': {
        requireWriter(context.caller);
        const isGuest = (await standingAtHome(context, target.brain)) === 'guest';
        const holdsAtMostMs = isGuest ? GUEST_LEASE_MS : null;
        const outcome = await target.ops.acquire({ ...op, token, ttlMs, holdsAtMostMs });
        const grant = context.take(settled(context, outcome), { action, acquired: false, token: null });
        const replayed = outcome.replayed ? { replayed: true as const } : {};
        const limited = isGuest ? { heldAtMostMs: GUEST_LEASE_MS } : {};
        const { brain } = target;
        return { action, acquired: true as const, token: outcome.token, ...grant, brain, ...limited, ...replayed };
      }
      case 'release': {
        requireIdentity(context.caller);
        const outcome = await target.ops.release({ ...op, token });
        context.take(settled(context, outcome), { action, released: false });
        return { action, released: true as const, brain: target.brain };
      }
      case 'force': {
        await requireHomeAdmin(context, target.brain);
        const { forced, fence } = context.take(settled(context, await target.ops.force(op)));
        return { action, forceReleased: forced, fence };
      }
      case 'stats':
        return { action, ...(await target.ops.summary(op)).counters };
      default:
        return { action, ...(await shownLeases(context, target, op)) };
    }
  },
});

async function shownLeases({ deps, caller }: CallContext, target: Target, op: Op) {
  const shown = async (brain: string, ops: BrainOps) => ({ brain, ...(await ops.leaseView(op)) });
  const pointer = await deps.sessions.read(caller.session);
  const status = await shown(target.brain, target.ops);
  const stack = await Promise.all(pointer.stack.map(({ brain }) => shown(brain, deps.router.brain(brain))));
  return { status, stack, held: status.state === 'held' };
}

export const lockTools = [svcLock];
