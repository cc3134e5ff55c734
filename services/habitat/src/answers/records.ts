/** What other services tell the registry to keep: entries of the audit, and whom a brain took over from. */
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { recordSuccession } from '../store/succession-row.ts';
import type { Answers } from './answers.ts';

export const recordAnswers: Pick<Answers, 'audit' | 'succession'> = {
  async audit({ entries }, { audit, store }) {
    if (entries.length === 0) return {};
    const system = entries.map((entry) => ({ ...entry, kind: 'system' as const }));
    audit.appended(await withPgTransaction(store.pool, (tx) => audit.append(tx, system)));
    return {};
  },
  async succession(inherited, { store }) {
    await recordSuccession(store.client, inherited);
    return {};
  },
};
