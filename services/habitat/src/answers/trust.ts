/** What other services ask about trust, and what they tell of it. */
import { ASKED_WITHIN_MS } from '@svc/contract/registry.ts';
import { effectiveScore, shownScore } from '../domain/trust.ts';
import { readStanding } from '../store/trust-rows.ts';
import { recordTrade } from '../store/trust-store.ts';
import type { Answers } from './answers.ts';

/** Nobody's call: a service tells what has happened. */
const NOBODY = { subject: {}, operator: false };

export const trustAnswers: Pick<Answers, 'trust' | 'recordTrade'> = {
  async trust({ entityId }, { store }) {
    const { standing, quarantined, now } = await readStanding(store.client, entityId);
    return { score: shownScore(effectiveScore(standing, now)), quarantined };
  },
  async recordTrade(trade, { store, platform }) {
    const caller = { ...NOBODY, deadlineAt: platform.clock.now() + ASKED_WITHIN_MS };
    const { decision } = await store.change({ caller, idempotency: null }, (unit) =>
      recordTrade(unit, platform.ids, trade),
    );
    if (!decision.ok) throw new Error('a report of a trade is not refused');
    return { ...decision.value, score: shownScore(decision.value.score) };
  },
};
