/** What other services tell the registry to keep: entries of the audit, whom a brain took over from, and what became of tasks. */
import { recordReport } from '../store/agent-inbox.ts';
import { recordSuccession } from '../store/succession-row.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const recordOperations: HabitatHandlers<'audit' | 'succession' | 'reportTask'> = {
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
  async reportTask(report, { deps: { store } }) {
    await recordReport(store.client, report);
    return {};
  },
};
