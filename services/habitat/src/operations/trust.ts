/** What other services ask about trust, and what they tell of it. */
import { effectiveScore, shownScore } from '../domain/trust.ts';
import { readStanding, type StandingNow } from '../store/trust-rows.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const trustOperations: HabitatHandlers<'trust' | 'scores' | 'parties' | 'recordTrade'> = {
  async trust({ entityId }, { deps: { store } }) {
    return trustOf(await readStanding(store.client, entityId));
  },
  async scores({ entityIds }, { deps: { store }, deadlineAt }) {
    const standings = await store.standings(entityIds, deadlineAt);
    return { scores: Object.fromEntries(standings.map(([id, standing]) => [id, trustOf(standing).score])) };
  },
  async parties(pair, { deps: { store }, deadlineAt }) {
    const { kin, parties } = await store.parties(pair, deadlineAt);
    return {
      kin,
      trust: Object.fromEntries(parties.map(({ id, standing }) => [id, trustOf(standing)])),
      families: Object.fromEntries(parties.map(({ id, family }) => [id, family])),
    };
  },
  async recordTrade(trade, { deps: { store }, deadlineAt }) {
    const { decision } = await store.recordTrade(onBehalfOfNobody(deadlineAt), trade);
    if (!decision.ok) throw new Error('a report of a trade is not refused');
    return { ...decision.value, score: shownScore(decision.value.score) };
  },
};

/** As others are shown it. */
export function trustOf({ standing, quarantined, now }: StandingNow) {
  return { score: shownScore(effectiveScore(standing, now)), quarantined };
}
