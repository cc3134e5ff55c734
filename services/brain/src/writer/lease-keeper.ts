/** Grants, ends and shows the lease of one brain. Waits for the writes under way, goes before those that wait. */
import { hash } from 'node:crypto';
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
  type LeaseView,
  viewLease,
} from '../domain/lease.ts';
import { lockLease, readLease, writeLease } from '../store/lease-store.ts';
import type { BrainContext, OpContext } from './context.ts';

export interface AcquireWish {
  /** Token of the live lease, to keep it longer. */
  readonly token: string | null;
  readonly ttlMs: number;
  /** How long the caller may hold it in all; null = as long as it asks for. */
  readonly holdsAtMostMs: number | null;
}

export interface Grant {
  readonly agentId: string;
  readonly fence: number;
  /** Milliseconds since the epoch, the database's clock. */
  readonly expiresAt: number;
  readonly refreshed: boolean;
}

const TOKEN_BYTES = 32;

export class LeaseKeeper {
  readonly #brain: BrainContext;

  constructor(brain: BrainContext) {
    this.#brain = brain;
  }

  async view(): Promise<LeaseView> {
    const { lease, now } = await readLease(poolClient(this.#brain.platform.database.pool), this.#brain.name);
    return viewLease(lease, now);
  }

  /** `token` is null when a stored outcome is replayed: secrets are not stored. */
  async acquire(context: OpContext, wish: AcquireWish): Promise<Once<Grant, 'E_LOCKED'> & { token: string | null }> {
    const { counters } = this.#brain;
    const minted = this.#brain.platform.random.bytes(TOKEN_BYTES).toString('hex');
    const request = {
      ...context.caller,
      tokenHash: wish.token === null ? null : hashToken(wish.token),
      newSecretHash: hashToken(minted),
      ttlMs: wish.ttlMs,
      holdsAtMostMs: wish.holdsAtMostMs,
    };
    const outcome = await this.#change<Grant, 'E_LOCKED'>(context.idempotency, async (row, now, transaction) => {
      const decision = decideAcquire(row, request, now);
      if (!decision.ok) return decision;
      const { kind, row: next } = decision.value;
      const { holder, fence } = next;
      if (holder === null) throw new Error('a lease was granted to nobody');
      await writeLease(transaction, this.#brain.name, next);
      if (kind === 'granted')
        await this.#tell(transaction, [...this.#expired(row, now), this.#acquired(holder, fence)]);
      return allow({ agentId: holder.agentId, fence, expiresAt: holder.expiresAt, refreshed: kind === 'refreshed' });
    });
    const { decision, replayed } = outcome;
    if (!replayed) counters.lease[decision.ok ? (decision.value.refreshed ? 'refreshed' : 'granted') : 'denied'] += 1;
    const handedOut = decision.ok && decision.value.refreshed ? wish.token : minted;
    return { ...outcome, token: replayed || !decision.ok ? null : handedOut };
  }

  async release(context: OpContext, token: string | null): Promise<Once<null, 'E_LEASE_ABSENT' | 'E_LEASE_TOKEN'>> {
    const outcome = await this.#change<null, 'E_LEASE_ABSENT' | 'E_LEASE_TOKEN'>(
      context.idempotency,
      async (row, now, transaction) => {
        const decision = decideRelease(row, token === null ? null : hashToken(token), now);
        if (!decision.ok) return deny(decision.code);
        await writeLease(transaction, this.#brain.name, decision.value.row);
        await this.#tell(transaction, [this.#released(decision.value.ended, row.fence, 'released', now)]);
        return allow(null);
      },
    );
    if (!outcome.replayed) this.#brain.counters.lease[outcome.decision.ok ? 'released' : 'releaseDenied'] += 1;
    return outcome;
  }

  async force(context: OpContext): Promise<Once<{ forced: boolean; fence: number }, never>> {
    const outcome = await this.#change<{ forced: boolean; fence: number }, never>(
      context.idempotency,
      async (row, now, transaction) => {
        const { row: next, ended } = decideForce(row, now);
        await writeLease(transaction, this.#brain.name, next);
        await writeAudit(transaction, 'brain', this.#brain.platform.ids, [
          {
            event: 'lease:forced',
            workspace: null,
            subject: auditedSubject(context.subject),
            data: {
              by: context.actor,
              brain: this.#brain.name,
              holder: ended?.agentId ?? null,
              fence: next.fence,
            },
          },
        ]);
        if (ended !== null) await this.#tell(transaction, [this.#released(ended, row.fence, 'forced', now)]);
        return allow({ forced: ended !== null, fence: next.fence });
      },
    );
    const { decision, replayed } = outcome;
    if (!replayed && decision.ok && decision.value.forced) this.#brain.counters.lease.forced += 1;
    return outcome;
  }

  async #change<Value, Code extends string>(
    scope: IdempotencyScope | null,
    decide: (row: LeaseRow, now: number, transaction: SqlClient) => Promise<Decision<Value, Code>>,
  ): Promise<Once<Value, Code>> {
    const { rwLock, idempotency, name, outbox, platform } = this.#brain;
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

  #tell(transaction: SqlClient, events: readonly NewEvent[]): Promise<void> {
    return this.#brain.outbox.write(transaction, events);
  }

  /** A lease that ran out and was not yet swept ends when the next one begins. */
  #expired({ holder, fence }: LeaseRow, now: number): NewEvent[] {
    return holder === null || holder.expiresAt > now
      ? []
      : [this.#released(holder, fence, 'expired', holder.expiresAt)];
  }

  #acquired({ agentId, expiresAt }: LeaseHolder, fence: number): NewEvent<'lock:acquired'> {
    const { name: brain } = this.#brain;
    return { name: 'lock:acquired', payload: { brain, agentId, fence, expiresAt, resources: [`brain:${brain}`] } };
  }

  #released(
    { agentId, acquiredAt }: LeaseHolder,
    fence: number,
    reason: 'released' | 'forced' | 'expired',
    endedAt: number,
  ): NewEvent<'lock:released'> {
    return leaseReleased({ brain: this.#brain.name, agentId, fence, reason, heldMs: endedAt - acquiredAt });
  }
}

export function leaseReleased(
  ended: Omit<NewEvent<'lock:released'>['payload'], 'resources'>,
): NewEvent<'lock:released'> {
  return { name: 'lock:released', payload: { ...ended, resources: [`brain:${ended.brain}`] } };
}

function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
