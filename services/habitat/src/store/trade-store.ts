/** Trades that the market reports: what they do to the trust of their sellers, of all that come at once in one transaction. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import { isKin } from '../domain/family.ts';
import {
  afterTrade,
  type Buyer,
  directionOf,
  effectiveScore,
  type Standing,
  type TradeOutcome,
} from '../domain/trust.ts';
import { readAllPlaced } from './family-rows.ts';
import { insertTrades, readTradeVoices, tradeVoice } from './trade-rows.ts';
import { insertRecords, lockEntities, readStandings, SYSTEM, type TrustRecord, writeStandings } from './trust-rows.ts';
import { tellOfRating } from './trust-store.ts';
import type { HabitatUnit } from './unit.ts';

export interface Trade {
  readonly tradeId: string;
  readonly seller: string;
  readonly buyer?: string | undefined;
  readonly outcome: TradeOutcome;
  /** Credits. */
  readonly amount?: number | undefined;
}

export interface TradeRecorded {
  readonly recorded: boolean;
  /** Millionths. */
  readonly score: number;
}

/** Each moves its seller once, from where those before it have left that one. */
export async function recordTrades(
  unit: HabitatUnit,
  trades: readonly Trade[],
): Promise<Decision<TradeRecorded, never>[]> {
  const { tx } = unit;
  const sellers = [...new Set(trades.map(({ seller }) => seller))];
  await lockEntities(tx, sellers);
  const standings = new Map(await readStandings(tx, sellers));
  const hearing = await createHearing(tx, trades);
  const unheard = await insertTrades(
    tx,
    trades.filter(({ seller, buyer }) => seller !== buyer),
  );
  const records: TrustRecord[] = [];
  const moved = new Map<string, Standing>();
  const decisions = trades.map((trade) => {
    const { tradeId, seller, buyer } = trade;
    const now = standings.get(seller);
    if (now === undefined) throw new Error('the standings of all sellers were read');
    const recorded = seller !== buyer && unheard.delete(tradeId);
    if (!recorded) return allow({ recorded, score: effectiveScore(now.standing, now.now) });
    const { family, judged } = hearing.of(trade);
    const { standing, delta } = afterTrade(now.standing, trade, judged, now.now);
    const score = effectiveScore(standing, now.now);
    if (delta === 0) return allow({ recorded, score });
    hearing.counted(trade);
    const record = recordOf(unit, { entityId: seller, delta, note: tradeId, family });
    records.push(record);
    moved.set(seller, standing);
    standings.set(seller, { ...now, standing });
    tellOfRating(unit, record, score);
    return allow({ recorded, score });
  });
  await insertRecords(tx, records);
  await writeStandings(tx, moved);
  return decisions;
}

interface Hearing {
  /** Under whom the trade counts, and what is judged of its buyer. */
  of(trade: Trade): { readonly family: string | null; readonly judged: Buyer | null };
  /** The family of its buyer has had its say. */
  counted(trade: Trade): void;
}

/** The caller holds the locks of the sellers, so that nobody counts trades of theirs meanwhile. */
async function createHearing(tx: HabitatUnit['tx'], trades: readonly Trade[]): Promise<Hearing> {
  const buyers = trades.flatMap(({ buyer }) => (buyer === undefined ? [] : [buyer]));
  const placed = await readAllPlaced(tx, [...buyers, ...trades.map(({ seller }) => seller)]);
  const families = buyers.map((buyer) => placed(buyer).family);
  const { heard, haveStanding } = await readTradeVoices(tx, {
    sellers: trades.map(({ seller }) => seller),
    buyers,
    families,
  });
  const voiceOf = ({ seller, outcome }: Trade, family: string) => tradeVoice(seller, family, directionOf(outcome));
  return {
    of(trade) {
      const { seller, buyer } = trade;
      if (buyer === undefined) return { family: null, judged: null };
      const { family } = placed(buyer);
      const judged = {
        isKin: isKin(placed(seller), placed(buyer)),
        hasStanding: haveStanding.has(buyer),
        hasCounted: heard.has(voiceOf(trade, family)),
      };
      return { family, judged };
    },
    counted(trade) {
      if (trade.buyer !== undefined) heard.add(voiceOf(trade, placed(trade.buyer).family));
    },
  };
}

function recordOf(
  { ids }: HabitatUnit,
  what: Pick<TrustRecord, 'entityId' | 'delta' | 'note' | 'family'>,
): TrustRecord {
  return { id: ids.next('trr'), type: 'trade', by: SYSTEM, counted: true, ...what };
}
