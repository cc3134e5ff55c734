/** Holds of services: each takes effect once, named by its id, and belongs to the service that placed it. */
import { microsOf } from '@svc/contract/amount.ts';
import { DEFAULT_SINK } from '../domain/account.ts';
import { type EscrowHandlers, hashOf, moveCall, payeeOpensWith, payerOf, unknownWorkspace } from './asked.ts';

export const holdOperations: EscrowHandlers<'hold' | 'capture' | 'void' | 'state'> = {
  async hold(question, asked) {
    const { holdId, amount, ttlMs, condition } = question;
    const payer = question.payer === null ? null : await payerOf(question.payer, asked);
    if (question.payer !== null && payer === null) return unknownWorkspace();
    const { decision } = await asked.deps.ledger.placeHold(moveCall(asked), {
      holdId,
      payer,
      amount: amount === null ? 0n : microsOf(amount),
      condition,
      ttlMs,
      ownerKind: 'service',
      owner: asked.asker,
      bodyHash: hashOf(question),
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
    const found = await deps.reads.serviceHold(holdId, asker);
    if (found === null) return { state: 'absent' };
    const { entryId, ...rest } = found;
    return { ...rest, ...(entryId === null ? {} : { entryId }) };
  },
};
