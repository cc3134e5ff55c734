/** What other services tell the registry to keep: entries of the audit, and whom a brain took over from. */
import { recordSuccession } from '../store/succession-row.ts';
import { type Answers, onBehalfOfNobody } from './answers.ts';

export const recordAnswers: Pick<Answers, 'audit' | 'succession'> = {
  async audit({ entries }, { store, platform }) {
    if (entries.length === 0) return {};
    const system = entries.map((entry) => ({ ...entry, kind: 'system' as const }));
    await store.appendAudit(onBehalfOfNobody(platform), system);
    return {};
  },
  async succession(inherited, { store }) {
    await recordSuccession(store.client, inherited);
    return {};
  },
};
