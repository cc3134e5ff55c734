/** The lease of one brain: granted, ended, shown. Waits for the writes under way, goes before those that wait. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { auditedSubject, writeAudit } from '@svc/runtime/audit.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import {
  decideAcquire,
  decideForce,
  decideRelease,
  type LeaseHolder,
  type LeaseRow,
  LeaseView,
  viewLease,
} from '../domain/lease.ts';
import { lockLease, readLease, writeLease } from '../store/lease-store.ts';
import type { BrainContext } from '../writer/context.ts';
import { decision, defineOperation, once } from './operation.ts';

const Grant = z.strictObject({
  agentId: z.string(),
  fence: z.number(),
  /** Milliseconds since the epoch, the database's clock. */
  expiresAt: z.number(),
  refreshed: z.boolean(),
});
type Grant = z.output<typeof Grant>;

const TOKEN_BYTES = 32;

export const viewLeaseOf = defineOperation({
  name: 'leaseView',
  effect: 'read',
  question: z.strictObject({}),
  answer: LeaseView,
  async run({ brain: { context } }) {
    const { lease, now } = await readLease(poolClient(context.platform.database.pool), context.name);
    return viewLease(lease, now);
  },
});

export const acquireLease = defineOperation({
  name: 'acquire',
  effect: 'write',
  needs: 'change',
  question: z.strictObject({
    /** Token of the live lease, to keep it longer. */
    token: z.string().nullable(),
    ttlMs: z.number(),
    /** How long the caller may hold it in all; null = as long as it asks for. */
    holdsAtMostMs: z.number().nullable(),
  }),
  answer: z.strictObject({
    decision: decision(Grant, ['E_LOCKED']),
    replayed: z.boolean(),
    /** Null when a stored outcome is replayed: secrets are not stored. */
    token: z.string().nullable(),
  }),
  async run({ brain: { context: brain }, context }, { token, ttlMs, holdsAtMostMs }) {
    const minted = brain.platform.random.bytes(TOKEN_BYTES).toString('hex');
    const request = {
      session: context.session,
      verifiedAgent: context.verifiedAgent,
      declaredAgent: context.declaredAgent,
      tokenHash: token === null ? null : hashToken(token),
      newSecretHash: hashToken(minted),
      ttlMs,
      holdsAtMostMs,
    };
    const outcome = await changeLease<Grant, 'E_LOCKED'>(brain, context.idempotency, async (row, now, transaction) => {
      const decided = decideAcquire(row, request, now);
      if (!decided.ok) return decided;
      const { kind, row: next } = decided.value;
      const { holder, fence } = next;
      if (holder === null) throw new Error('a lease was granted to nobody');
      await writeLease(transaction, brain.name, next);
      if (kind === 'granted')
        await brain.outbox.write(transaction, [...expired(brain, row, now), acquired(brain, holder, fence)]);
      return allow({ agentId: holder.agentId, fence, expiresAt: holder.expiresAt, refreshed: kind === 'refreshed' });
    });
    const { decision: granted, replayed } = outcome;
    if (!replayed)
      brain.counters.lease[granted.ok ? (granted.value.refreshed ? 'refreshed' : 'granted') : 'denied'] += 1;
    const handedOut = granted.ok && granted.value.refreshed ? token : minted;
    return { ...outcome, token: replayed || !granted.ok ? null : handedOut };
  },
});

export const releaseLease = defineOperation({
  name: 'release',
  effect: 'write',
  question: z.strictObject({ token: z.string().nullable() }),
  answer: once(z.null(), ['E_LEASE_ABSENT', 'E_LEASE_TOKEN']),
  async run({ brain: { context: brain }, context }, { token }) {
    const outcome = await changeLease<null, 'E_LEASE_ABSENT' | 'E_LEASE_TOKEN'>(
      brain,
      context.idempotency,
      async (row, now, transaction) => {
        const decided = decideRelease(row, token === null ? null : hashToken(token), now);
        if (!decided.ok) return deny(decided.code);
        await writeLease(transaction, brain.name, decided.value.row);
        await brain.outbox.write(transaction, [released(brain, decided.value.ended, row.fence, 'released', now)]);
        return allow(null);
      },
    );
    if (!outcome.replayed) brain.counters.lease[outcome.decision.ok ? 'released' : 'releaseDenied'] += 1;
    return outcome;
  },
});

const Forced = z.strictObject({ forced: z.boolean(), fence: z.number() });

/** Who may is judged before. */
export const forceLease = defineOperation({
  name: 'force',
  effect: 'write',
  question: z.strictObject({}),
  answer: once(Forced, []),
  async run({ brain: { context: brain }, context }) {
    const outcome = await changeLease<z.output<typeof Forced>, never>(
      brain,
      context.idempotency,
      async (row, now, transaction) => {
        const { row: next, ended } = decideForce(row, now);
        await writeLease(transaction, brain.name, next);
        const data = { by: context.actor, brain: brain.name, holder: ended?.agentId ?? null, fence: next.fence };
        const subject = auditedSubject(context.subject);
        await writeAudit(transaction, 'brain', brain.platform.ids, [
          { event: 'lease:forced', workspace: null, subject, data },
        ]);
        if (ended !== null) await brain.outbox.write(transaction, [released(brain, ended, row.fence, 'forced', now)]);
        return allow({ forced: ended !== null, fence: next.fence });
      },
    );
    brain.audit.kick();
    const { decision: decided, replayed } = outcome;
    if (!replayed && decided.ok && decided.value.forced) brain.counters.lease.forced += 1;
    return outcome;
  },
});

export async function changeLease<Value, Code extends string>(
  { rwLock, idempotency, name, outbox, platform }: BrainContext,
  scope: IdempotencyScope | null,
  decide: (row: LeaseRow, now: number, transaction: SqlClient) => Promise<Decision<Value, Code>>,
): Promise<Once<Value, Code>> {
  const outcome = await rwLock.exclusive(() =>
    withPgTransaction(platform.database.pool, (transaction) =>
      idempotency.once(transaction, scope, async () => {
        const { lease, now } = await lockLease(transaction, name);
        return decide(lease, now, transaction);
      }),
    ),
  );
  outbox.kick();
  return outcome;
}

/** A lease that ran out and was not yet swept ends when the next one begins. */
export function expired(brain: BrainContext, { holder, fence }: LeaseRow, now: number): NewEvent[] {
  return holder === null || holder.expiresAt > now ? [] : [released(brain, holder, fence, 'expired', holder.expiresAt)];
}

export function acquired(
  { name: brain }: BrainContext,
  { agentId, expiresAt }: LeaseHolder,
  fence: number,
): NewEvent<'lock:acquired'> {
  return { name: 'lock:acquired', payload: { brain, agentId, fence, expiresAt, resources: [`brain:${brain}`] } };
}

export function released(
  { name: brain }: BrainContext,
  { agentId, acquiredAt }: LeaseHolder,
  fence: number,
  reason: 'released' | 'forced' | 'expired',
  endedAt: number,
): NewEvent<'lock:released'> {
  return leaseReleased({ brain, agentId, fence, reason, heldMs: endedAt - acquiredAt });
}

export function leaseReleased(
  ended: Omit<NewEvent<'lock:released'>['payload'], 'resources'>,
): NewEvent<'lock:released'> {
  return { name: 'lock:released', payload: { ...ended, resources: [`brain:${ended.brain}`] } };
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
