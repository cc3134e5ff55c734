/** Whether both parties of a trade are still there, and its buyer where a pool pays; of all that is asked at once in one statement. */
import { rolesIn } from '@svc/contract/registry.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupCommit } from '@svc/runtime/group-commit.ts';
import { mayLapse } from '../domain/trade.ts';
import type { Trust } from '../ports.ts';
import type { Registry } from '../registry.ts';
import type { MarketStore } from './trade-events.ts';
import { readTrades, type TradeRow } from './trade-rows.ts';

/** Throws SERVICE_UNAVAILABLE when it matters and the registry does not answer: who pays has to be there. */
export type IsLapsed = (tradeId: string) => Promise<boolean>;

interface Parts {
  readonly store: Pick<MarketStore, 'client'>;
  readonly trust: Pick<Trust, 'parties'>;
  readonly registry: Pick<Registry, 'roles'>;
  readonly clock: Clock;
}

export function createLapsing({ store: { client }, trust, registry, clock }: Parts): IsLapsed {
  async function hasLost(trade: TradeRow): Promise<boolean> {
    const { ended = {} } = await trust.parties({ one: trade.seller, other: trade.buyer, ended: true });
    return Object.keys(ended).length > 0 || mayNotDraw(trade);
  }
  /** Who holds no role in a workspace spends nothing of its pool. Operators buy for anybody. */
  async function mayNotDraw({ buyer, workspace, operator }: TradeRow): Promise<boolean> {
    if (workspace === null || operator) return false;
    return rolesIn(await registry.roles(buyer, null), workspace).length === 0;
  }
  const looking = createGroupCommit<string, boolean>(clock, async (tradeIds) => {
    const rows = await readTrades(client, tradeIds);
    return Promise.all(
      tradeIds.map(async (tradeId) => {
        const row = rows.get(tradeId);
        return row !== undefined && mayLapse(row, row.now) && hasLost(row);
      }),
    );
  });
  return (tradeId) => looking.submit('parties', tradeId, Infinity);
}
