/** What other services ask about trust, and what they tell of it. */
import { effectiveScore, shownScore } from '../domain/trust.ts';
import { readKinship, readScores, readStanding } from '../store/trust-rows.ts';
import { type HabitatHandlers, onBehalfOfNobody } from './handlers.ts';

export const trustOperations: HabitatHandlers<'trust' | 'scores' | 'kin' | 'recordTrade'> = {
  async trust({ entityId }, { deps: { store } }) {
    const { standing, quarantined, now } = await readStanding(store.client, entityId);
    return { score: shownScore(effectiveScore(standing, now)), quarantined };
  },
  async scores({ entityIds }, { deps: { store } }) {
    return { scores: await readScores(store.client, entityIds) };
  },
  async kin({ one, other }, { deps: { store } }) {
    return { kin: await readKinship(store.client, one, other) };
  },
  async recordTrade(trade, { deps: { store }, deadlineAt }) {
    const { decision } = await store.recordTrade(onBehalfOfNobody(deadlineAt), trade);
    if (!decision.ok) throw new Error('a report of a trade is not refused');
    return { ...decision.value, score: shownScore(decision.value.score) };
  },
};
