/** The real market as the model test moves it: names of one sequence, acts as the tools do them, time that passes. */
import { randomBytes } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { decideCancel, decideComplete, decideDeliver, decideSettle } from '../../src/domain/trade-rules.ts';
import { allow } from '@svc/contract/decision.ts';
import type { Carried, MarketBed, MoneyMove } from '../market-store-bed.ts';
import { type Act, type Agent, AGENTS, LIMIT, type ReferenceListing, WINDOW_MS } from './reference-market.ts';

const PATIENCE_MS = 60_000;
const MICROS = 1_000_000n;

export class RealMarket {
  readonly prefix: string;
  readonly tradeIds: string[] = [];
  readonly #bed: MarketBed;
  readonly #pool: Database['pool'];
  #purchases = 0;

  private constructor(bed: MarketBed, pool: Database['pool'], prefix: string) {
    this.#bed = bed;
    this.#pool = pool;
    this.prefix = prefix;
  }

  static async begin(bed: MarketBed, pool: Database['pool'], prefix: string): Promise<RealMarket> {
    const real = new RealMarket(bed, pool, prefix);
    for (const agent of AGENTS) await bed.escrow('escrow_create', { org: real.name(agent), budget: LIMIT });
    return real;
  }

  name(agent: Agent): string {
    return `${this.prefix}${agent}`;
  }

  listingId(at: number): string {
    return `lst_${this.prefix}${at}`;
  }

  call(idempotency: ChangeCall['idempotency'] = null): ChangeCall {
    const deadlineAt = Date.now() + PATIENCE_MS;
    return { caller: { subject: {}, operator: true, deadlineAt }, idempotency };
  }

  keyed(tool: string): ChangeCall {
    const key = randomBytes(9).toString('hex');
    return this.call({ principal: 'model', tool, key, argsHash: 'h' });
  }

  async list(at: number, { seller, supply, price, kind }: Omit<ReferenceListing, 'taken'>): Promise<void> {
    await this.#pool.query(
      `INSERT INTO market.listings (listing_id, type, title, description, tags, price, amount, supply, seller, created_at,
         family, folded_title, folded)
       VALUES ($1, $2, 'model', '', '{}', $3, $4, $5, $6, now(), $6, 'model', 'model')`,
      [this.listingId(at), kind, String(price), BigInt(price) * MICROS, supply, this.name(seller)],
    );
  }

  nextTradeId(): string {
    this.#purchases += 1;
    return `trd_${this.prefix}${String(this.#purchases).padStart(4, '0')}`;
  }

  async buy(
    tradeId: string,
    at: number,
    listing: Omit<ReferenceListing, 'taken'>,
    buyer: Agent,
    call: ChangeCall = this.call(),
    buyerFamily = this.name(buyer),
  ): Promise<string | null> {
    const { seller, price, kind, unsettled } = listing;
    const purchase = {
      tradeId,
      kind,
      listingId: this.listingId(at),
      bidId: null,
      seller: this.name(seller),
      buyer: this.name(buyer),
      buyerFamily,
      price: String(price),
      amount: BigInt(price) * MICROS,
      workspace: null,
      scope: null,
      operator: true,
      windowMs: WINDOW_MS,
      unsettled,
    };
    const { decision } = await this.#bed.trades.buy(call, async () => allow(purchase));
    return decision.ok ? null : decision.code;
  }

  async act(
    tradeId: string,
    act: Act,
    agent: Agent,
    call: ChangeCall = this.call(),
    trades = this.#bed.trades,
  ): Promise<string | null> {
    const agentId = this.name(agent);
    if (act === 'deliver') {
      const { decision } = await trades.deliver(call, tradeId, (trade) => {
        const delivery = decideDeliver(trade, agentId, trade.now);
        return delivery.ok ? allow({ ...delivery.value, text: '"x"', hash: 'h' }) : delivery;
      });
      return decision.ok ? null : decision.code;
    }
    const { decision } = await trades.close(call, tradeId, (trade) => {
      if (act === 'complete') return decideComplete(trade, agentId, trade.now);
      if (act === 'cancel') return decideCancel(trade, agentId, trade.now);
      return decideSettle(trade, { agentId, verdict: act }, trade.now);
    });
    return decision.ok ? null : decision.code;
  }

  /** Through another process. */
  actElsewhere(tradeId: string, act: Act, agent: Agent): Promise<string | null> {
    return this.act(tradeId, act, agent, this.call(), this.#bed.elsewhere);
  }

  /** What is asked of the ledger meanwhile gets lost; whatever is decided stays decided, and the caller is not told. */
  async cutOff(
    how: Exclude<Carried, 'well'>,
    work: () => Promise<string | null>,
    which?: readonly MoneyMove[],
  ): Promise<string | null> {
    this.#bed.carry(how, which);
    try {
      return await work();
    } catch (error) {
      if (error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN') return 'E_OUTCOME_UNKNOWN';
      throw error;
    } finally {
      this.#bed.carry('well');
    }
  }

  async sweep(): Promise<void> {
    await this.#bed.reconciler.closeDue('plain');
    await this.#bed.reconciler.closeDue('skill');
  }

  /** As at a start, half a minute after the last attempt. */
  async finish(): Promise<void> {
    await this.#pool.query(
      "UPDATE market.trades SET tried_at = tried_at - interval '31 seconds' WHERE trade_id LIKE $1",
      [`trd_${this.prefix}%`],
    );
    await this.#bed.reconciler.finish({ atStart: true });
  }

  /** Time goes by when the rows are made older. */
  async pass(ms: number): Promise<void> {
    const ids = `trd_${this.prefix}%`;
    await this.#pool.query("UPDATE market.trades SET due_at = due_at - $2 * interval '1 ms' WHERE trade_id LIKE $1", [
      ids,
      ms,
    ]);
    await this.#passForHolds(`trade:${ids}`, ms);
  }

  /** The ledger was away until the hold of the trade had lapsed. */
  async lapse(tradeId: string): Promise<void> {
    await this.#passForHolds(`trade:${tradeId}`, 365 * 86_400_000);
  }

  async #passForHolds(pattern: string, ms: number): Promise<void> {
    await this.#pool.query(
      `UPDATE escrow.holds SET held_at = held_at - $2 * interval '1 ms', expires_at = expires_at - $2 * interval '1 ms'
       WHERE hold_id LIKE $1`,
      [pattern, ms],
    );
  }

  /** Trades by id, listings by place, purses by agent, in credits; events of each trade in their order. */
  async state() {
    const trades = await this.#rows(
      `SELECT trade_id AS id, concat_ws(' ', state, settlement) AS shown FROM market.trades WHERE trade_id LIKE $1`,
      `trd_${this.prefix}%`,
    );
    const taken = await this.#rows(
      `SELECT listing_id AS id, taken::text AS shown FROM market.listings WHERE listing_id LIKE $1`,
      `lst_${this.prefix}%`,
    );
    const purses = await this.#rows(
      `SELECT account_id AS id, concat_ws(' ', spent / 1000000, pending / 1000000, earned / 1000000) AS shown
       FROM escrow.accounts WHERE account_id LIKE $1`,
      `${this.prefix}_`,
    );
    const events = await this.#rows(
      `SELECT payload->>'tradeId' AS id, string_agg(name, ' ' ORDER BY written, line) AS shown FROM market.outbox
       WHERE payload->>'tradeId' LIKE $1 GROUP BY 1`,
      `trd_${this.prefix}%`,
    );
    return { trades, taken, purses, events };
  }

  async #rows(sql: string, pattern: string): Promise<Record<string, string>> {
    const { rows } = await this.#pool.query<{ id: string; shown: string }>(sql, [pattern]);
    return Object.fromEntries(rows.map(({ id, shown }) => [id, shown]));
  }
}
