/** Accounts that services open and look at. */
import { microsOf } from '@svc/contract/amount.ts';
import { budgetOf, isSink, openedAccount } from '../domain/account.ts';
import { type EscrowHandlers, hashOf, moveCall } from './asked.ts';

export const accountOperations: EscrowHandlers<'open' | 'balance'> = {
  async open({ ref, ...what }, asked) {
    const { account, limit } = what;
    const wish = { account, limit: microsOf(limit), by: asked.asker, ref, bodyHash: hashOf(what) };
    return (await asked.deps.ledger.open(moveCall(asked), wish)).decision;
  },
  async balance({ account }, { deps, operator }) {
    if (isSink(account)) return { budget: await deps.reads.sinkBudget(account) };
    const known = await deps.reads.account(account);
    if (known !== null) return { budget: budgetOf(known) };
    const limit = await deps.accountOpening.ofPayer(account, { operator, stamp: null });
    return { budget: limit === null ? null : budgetOf(openedAccount(account, limit)) };
  },
};
