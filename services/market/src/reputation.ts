/** What a seller is worth, as whoever asks may know it. */
import { MAX_SCORES_ASKED } from '@svc/contract/operations.habitat.ts';
import type { View } from './access.ts';
import { type Reputation, reputationOf } from './domain/reputation.ts';
import type { Registry } from './registry.ts';
import type { TradeStore } from './store/trade-store.ts';

export interface SellerReputation extends Reputation {
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
  const known = new Map<string, number>();
  for (let from = 0; from < ids.length; from += MAX_SCORES_ASKED) {
    const { scores } = await registry.scores({ entityIds: ids.slice(from, from + MAX_SCORES_ASKED) });
    for (const [id, score] of Object.entries(scores)) known.set(id, score);
  }
  return known;
}
