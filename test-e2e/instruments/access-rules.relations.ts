/** Rows of the access matrix: decisions, citations, links, attention, insights. */
import { type AccessRule, everybody, gatedWriters, writers } from './access-rule.ts';

export const RELATIONS: Record<string, AccessRule> = {
  svc_resolution_track: gatedWriters(({ team }) => ({ file: `${team}/file.md`, change: 'x' })),
  svc_resolution_list: everybody(),
  svc_citations_add: writers((_tenant, fresh) => ({ commit: fresh })),
  svc_citations_list: everybody(),
  svc_citations_format: everybody(() => ({ commit: 'none' })),
  brain_link: writers((_tenant, fresh) => ({ from: fresh, to: 'x' })),
  brain_connections: everybody(),
  brain_attend: writers((_tenant, fresh) => ({ name: fresh })),
  brain_synapses: everybody(),
  brain_discover: everybody(),
  brain_share: everybody(() => ({ insight: 'x' })),
  brain_evolution_start: everybody(),
  brain_evolution_end: everybody(),
  brain_evolution_insight: everybody(() => ({ insight: 'x' })),
  brain_evolution_history: everybody(),
  brain_evolution_status: everybody(),
};
