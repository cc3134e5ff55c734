/**
 * What a client of the market was told of its trades, against what became of them. A call whose answer never came may or may
 * not have taken effect: both are right. Each trade has one client.
 */

/** What time may make of a trade that nobody touches. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  pending: ['completed'],
  pending_delivery: ['expired'],
  delivered: ['confirmed'],
};

export class TradeJournal {
  /** States in which each trade may be now. */
  readonly #possible = new Map<string, ReadonlySet<string>>();
  /** Purchases without an answer: each may have become a trade. */
  unanswered = 0;
  acknowledged = 0;

  told(tradeId: string, state: string): void {
    this.acknowledged += 1;
    this.#possible.set(tradeId, new Set([state, ...(LATER[state] ?? [])]));
  }

  /** Asked for, and never answered. */
  asked(tradeId: string, state: string): void {
    const before = this.#possible.get(tradeId) ?? [];
    this.#possible.set(tradeId, new Set([...before, state, ...(LATER[state] ?? [])]));
  }

  get trades(): readonly string[] {
    return [...this.#possible.keys()];
  }

  /** `found` has every trade of the clients with its state. Empty = nothing acknowledged is lost and nothing is there twice. */
  wrong(found: ReadonlyMap<string, string>): string[] {
    const lost = [...this.#possible].flatMap(([tradeId, states]) => {
      const state = found.get(tradeId);
      return state !== undefined && states.has(state)
        ? []
        : [`${tradeId} is ${state ?? 'gone'}, wanted ${[...states].join(' or ')}`];
    });
    const unknown = [...found.keys()].filter((tradeId) => !this.#possible.has(tradeId)).length;
    return unknown > this.unanswered ? [...lost, `${unknown} trades of ${this.unanswered} unanswered purchases`] : lost;
  }
}
