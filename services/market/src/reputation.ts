/** What a seller is worth, as whoever asks may know it. */
import { MAX_SCORES_ASKED } from '@svc/contract/operations.habitat-trust.ts';
import type { View } from './access.ts';
import { type Reputation, reputationOf } from './domain/reputation.ts';
import type { Registry } from './registry.ts';
import type { TradeStore } from './store/trade-store.ts';

interface SellerReputation extends Reputation {
  /** Trust score in the registry, 0 to 1. */
  readonly legacy: number;
}

/** From the closed trades that `view` may know of. Throws SERVICE_UNAVAILABLE. */
export async function reputationOfSeller(
  {
    registry,
    trades,
  }: { readonly registry: Pick<Registry, 'scores'>; readonly trades: Pick<TradeStore, 'partnersOf'> },
  view: View,
  seller: string,
): Promise<SellerReputation> {
  const partners = await trades.partnersOf(view, seller);
  const scores = await scoresOf(registry, [...new Set([seller, ...partners.map(({ family }) => family)])]);
  return { legacy: scores.get(seller) ?? 0, ...reputationOf(partners, (family) => scores.get(family) ?? 0) };
}

async function scoresOf(registry: Pick<Registry, 'scores'>, ids: readonly string[]): Promise<Map<string, number>> {
  const starts = Array.from({ length: Math.ceil(ids.length / MAX_SCORES_ASKED) }, (_, part) => part * MAX_SCORES_ASKED);
  // At once: they cross the bus as one message and are read by one statement, however many there are.
  const parts = await Promise.all(
    starts.map((from) => registry.scores({ entityIds: ids.slice(from, from + MAX_SCORES_ASKED) })),
  );
  return new Map(parts.flatMap(({ scores }) => Object.entries(scores)));
}
