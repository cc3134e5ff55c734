/** Holds of services: each takes effect once, named by its id, and belongs to the service that placed it. */
import { microsOf } from '@svc/contract/amount.ts';
import { allow } from '@svc/contract/decision.ts';
import { DEFAULT_SINK } from '../domain/account.ts';
import { type EscrowHandlers, hashOf, moveCall, payeeOpensWith, payerOf } from './asked.ts';

export const holdOperations: EscrowHandlers<'hold' | 'capture' | 'void' | 'state' | 'states' | 'live'> = {
  async hold({ deadlineAt = null, payee = DEFAULT_SINK, ...what }, asked) {
    const { holdId, amount, ttlMs, condition } = what;
    const payer =
      what.payer === null ? allow(null) : await payerOf(what.payer, amount === 0 ? DEFAULT_SINK : payee, asked);
    if (!payer.ok) return payer;
    const { decision } = await asked.deps.ledger.placeHold(moveCall(asked), {
      holdId,
      payer: payer.value,
      amount: amount === null ? 0n : microsOf(amount),
      condition,
      ttlMs,
      deadlineAt,
      ownerKind: 'service',
      owner: asked.asker,
      bodyHash: hashOf(what),
    });
    return decision;
  },
  async capture({ holdId, amount, payee = DEFAULT_SINK }, asked) {
    const { decision } = await asked.deps.ledger.capture(moveCall(asked), {
      holdId,
      owner: asked.asker,
      amount: amount === undefined ? null : microsOf(amount),
      payee,
      payeeOpensWith: await payeeOpensWith(payee, asked),
    });
    return decision;
  },
  async void({ holdId }, asked) {
    const { decision } = await asked.deps.ledger.voidHold(moveCall(asked), { holdId, owner: asked.asker });
    return decision;
  },
  async state({ holdId }, { deps, asker }) {
    const found = await deps.reads.serviceHolds([holdId], asker);
    return found[holdId] ?? { state: 'absent' };
  },
  async states({ holdIds }, { deps, asker }) {
    return { holds: await deps.reads.serviceHolds(holdIds, asker) };
  },
  async live({ after = '', limit }, { deps, asker }) {
    const found = await deps.reads.liveHolds(asker, after, limit + 1);
    return { holds: found.slice(0, limit), more: found.length > limit };
  },
};
