/** What other services ask about trust, and what they tell of it. */
import { effectiveScore, shownScore } from '../domain/trust.ts';
import { type PairNow, readStanding, type StandingNow } from '../store/trust-rows.ts';
import type { AgentEnd } from '../store/agent-rows.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const trustOperations: HabitatHandlers<'trust' | 'scores' | 'parties' | 'recordTrade'> = {
  async trust({ entityId }, { deps: { store } }) {
    return trustOf(await readStanding(store.client, entityId));
  },
  async scores({ entityIds }, { deps: { store }, deadlineAt }) {
    const standings = await store.standings(entityIds, deadlineAt);
    return { scores: Object.fromEntries(standings.map(([id, standing]) => [id, trustOf(standing).score])) };
  },
  async parties({ ended, ...pair }, { deps: { store }, deadlineAt }) {
    const { kin, parties } = await store.parties(pair, deadlineAt);
    return {
      kin,
      trust: Object.fromEntries(parties.map(({ id, standing }) => [id, trustOf(standing)])),
      families: Object.fromEntries(parties.map(({ id, family }) => [id, family])),
      ...(ended === true ? { ended: endsOf(parties) } : {}),
    };
  },
  async recordTrade(trade, { deps: { store }, deadlineAt }) {
    const { decision } = await store.recordTrade(onBehalfOfNobody(deadlineAt), trade);
    if (!decision.ok) throw new Error('a report of a trade is not refused');
    return { ...decision.value, score: shownScore(decision.value.score) };
  },
};

function endsOf(parties: PairNow['parties']): Record<string, AgentEnd> {
  return Object.fromEntries(parties.flatMap(({ id, ended }) => (ended === null ? [] : [[id, ended]])));
}

/** As others are shown it. */
export function trustOf({ standing, quarantined, now }: StandingNow) {
  return { score: shownScore(effectiveScore(standing, now)), quarantined };
}
