/** What habitat tells of trust, and what it is told that moves it. */
import { z } from 'zod';
import { IdentityId } from './names.ts';

/** So many scores fit into one question. */
export const MAX_SCORES_ASKED = 500;

const TrustShown = z.strictObject({ score: z.number(), quarantined: z.boolean() });

export const HABITAT_TRUST = {
  /** What others think of an entity, 0 to 1, as it is now. */
  trust: {
    effect: 'read',
    askers: ['agora', 'universe'],
    question: z.strictObject({ entityId: z.string().max(128) }),
    answer: TrustShown,
  },
  /** The same of many at once: the score of each. */
  scores: {
    effect: 'read',
    askers: ['market'],
    gathered: true,
    question: z.strictObject({ entityIds: z.array(z.string().max(128)).max(MAX_SCORES_ASKED) }),
    answer: z.strictObject({ scores: z.record(z.string(), z.number()) }),
  },
  /**
   * Of two who are about to trade: whether they are one, parent and child, or otherwise of one family, so that what they do
   * to each other proves nothing; the trust of each, and the family under which each counts. With `ended` also who of them
   * was an agent and is none any more: it was killed, or holds no role.
   */
  parties: {
    effect: 'read',
    askers: ['market'],
    gathered: true,
    newer: ['ended'],
    question: z.strictObject({
      one: z.string().max(128),
      other: z.string().max(128),
      ended: z.literal(true).optional(),
    }),
    answer: z.strictObject({
      kin: z.boolean(),
      trust: z.record(z.string(), TrustShown),
      families: z.record(z.string(), z.string()),
      /** There when it was asked for. */
      ended: z.record(z.string(), z.enum(['killed', 'no role'])).optional(),
    }),
  },
  /**
   * A closed trade moves the trust of its seller, once per trade, and those of one family of buyers, in each direction, once
   * a day; each confirmed one of 100 credits or more. `recorded` is false for one that was told before.
   */
  recordTrade: {
    effect: 'write-idempotent',
    askers: ['market'],
    gathered: true,
    question: z.strictObject({
      tradeId: z.string().min(1).max(100),
      seller: IdentityId,
      /** Nobody gains by trading with themselves. */
      buyer: z.string().max(128).optional(),
      outcome: z.enum(['confirmed', 'refuted', 'expired', 'cancelled']),
      /** Credits. What was for nothing raises nobody. */
      amount: z.number().nonnegative().optional(),
    }),
    answer: z.strictObject({ recorded: z.boolean(), score: z.number() }),
  },
} as const;
