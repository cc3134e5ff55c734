/** What other services tell the registry to keep: entries of the audit, and whom a brain took over from. */
import { recordSuccession } from '../store/succession-row.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const recordOperations: HabitatHandlers<'audit' | 'succession'> = {
  async audit({ entries }, { deps: { store }, deadlineAt }) {
    if (entries.length === 0) return {};
    const system = entries.map((entry) => ({ ...entry, kind: 'system' as const }));
    await store.appendAudit(onBehalfOfNobody(deadlineAt), system);
    return {};
  },
  async succession(inherited, { deps: { store } }) {
    await recordSuccession(store.client, inherited);
    return {};
  },
};
