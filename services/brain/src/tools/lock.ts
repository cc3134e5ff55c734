/** svc_lock: the lease of a brain. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { leaseGuard, TimestampMs } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { GUEST_LEASE_MS, LEASE_TTL } from '../domain/lease.ts';
import { acquireLease, forceLease, releaseLease, viewLeaseOf } from '../operations/lease.ts';
import { summarise } from '../operations/summary.ts';
import { LeaseCounters, MutexCounters } from '../writer/counters.ts';
import { requireHomeAdmin, standingAtHome } from './home.ts';
import {
  type CallContext,
  requireIdentity,
  requireWriter,
  resolveTarget,
  settled,
  type Target,
  CHANGE_RAISES,
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
    z.strictObject({ action: z.literal('stats'), mutex: MutexCounters, lease: LeaseCounters }),
  ]),
  access: 'public',
  effect: 'write',
  destructive: true,
  secrets: ['token'],
  refuses: ['E_LOCKED', 'E_LEASE_TOKEN', 'E_LEASE_ABSENT'],
  raises: CHANGE_RAISES,
  example: { action: 'acquire', agentId: 'me', ttlMs: 60_000 },
  async handler({ action = 'status', token = null, agentId, ttlMs = LEASE_TTL.defaultMs, ...wish }, context) {
    const target = await resolveTarget(context, wish, { agentId });
    const { ask, brain } = target;
    switch (action) {
      case 'acquire': {
        requireWriter(context.caller);
        const isGuest = (await standingAtHome(context, brain)) === 'guest';
        const holdsAtMostMs = isGuest ? GUEST_LEASE_MS : null;
        const outcome = await ask(acquireLease, { token, ttlMs, holdsAtMostMs });
        const grant = context.take(settled(context, outcome), { action, acquired: false, token: null });
        const replayed = outcome.replayed ? { replayed: true as const } : {};
        const limited = isGuest ? { heldAtMostMs: GUEST_LEASE_MS } : {};
        return { action, acquired: true as const, token: outcome.token, ...grant, brain, ...limited, ...replayed };
      }
      case 'release': {
        requireIdentity(context.caller);
        const outcome = await ask(releaseLease, { token });
        context.take(settled(context, outcome), { action, released: false });
        return { action, released: true as const, brain };
      }
      case 'force': {
        await requireHomeAdmin(context, brain);
        const { forced, fence } = context.take(settled(context, await ask(forceLease, {})));
        return { action, forceReleased: forced, fence };
      }
      case 'stats':
        return { action, ...(await ask(summarise, {})).counters };
      default:
        return { action, ...(await shownLeases(context, target)) };
    }
  },
});

async function shownLeases({ deps, caller }: CallContext, { brain: asked, op }: Target) {
  const shown = async (brain: string) => ({ brain, ...(await deps.router.brain(brain, op).ask(viewLeaseOf, {})) });
  const pointer = await deps.sessions.read(caller.session);
  const status = await shown(asked);
  const stack = await Promise.all(pointer.stack.map(({ brain }) => shown(brain)));
  return { status, stack, held: status.state === 'held' };
}

export const lockTools = [svcLock];
