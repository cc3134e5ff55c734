/** Money that moves at once, for services: once for each reference. */
import { microsOf } from '@svc/contract/amount.ts';
import { DEFAULT_SINK } from '../domain/account.ts';
import { answered, type EscrowHandlers, hashOf, moveCall, payeeOpensWith, payerOf, rolesNow } from './asked.ts';

export const paymentOperations: EscrowHandlers<'debit' | 'refund'> = {
  async debit({ ref, ...what }, asked) {
    const { amount, payee = DEFAULT_SINK } = what;
    const [call, reference] = [moveCall(asked), { ref, bodyHash: hashOf(what) }];
    // Whoever asks again after a crash has nothing held to fall back on, and takes a no for good: a silence is none.
    const payer = await payerOf(what.payer, payee, asked, rolesNow);
    const { decision } = payer.ok
      ? await asked.deps.ledger.debit(call, {
          payer: payer.value,
          amount: microsOf(amount),
          payee,
          payeeOpensWith: await payeeOpensWith(payee, asked),
          by: asked.asker,
          memo: null,
          reference,
        })
      : await asked.deps.ledger.denyDebit(call, reference, payer);
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
