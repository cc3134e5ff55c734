/** Money that moves at once, for services: once for each reference. */
import { microsOf } from '@svc/contract/amount.ts';
import { DEFAULT_SINK } from '../domain/account.ts';
import { answered, type EscrowHandlers, hashOf, moveCall, payeeOpensWith, payerOf } from './asked.ts';

export const paymentOperations: EscrowHandlers<'debit' | 'refund'> = {
  async debit({ ref, ...what }, asked) {
    const { amount, payee = DEFAULT_SINK } = what;
    const payer = await payerOf(what.payer, payee, asked);
    if (!payer.ok) return payer;
    const { decision } = await asked.deps.ledger.debit(moveCall(asked), {
      payer: payer.value,
      amount: microsOf(amount),
      payee,
      payeeOpensWith: await payeeOpensWith(payee, asked),
      by: asked.asker,
      memo: null,
      reference: { ref, bodyHash: hashOf(what) },
    });
    return answered({ recorded: true }, decision);
  },
  async refund({ ref, ...what }, asked) {
    const { entryId, amount } = what;
    const { decision } = await asked.deps.ledger.refund(moveCall(asked), {
      entryId,
      amount: amount === undefined ? null : microsOf(amount),
      by: asked.asker,
      ref,
      bodyHash: hashOf(what),
    });
    return answered({ refunded: true }, decision);
  },
};
