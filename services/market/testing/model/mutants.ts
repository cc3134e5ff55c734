/** Mistakes that people make in markets, as edits of our own source. The model test must notice each of them. */
import type { Mutant } from '@svc/testing/mutants.ts';

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'sold more often than there is',
    edits: [
      {
        file: 'domain/purchase-rules.ts',
        from: 'supply !== null && supply <= 0',
        to: 'supply !== null && supply < -99',
      },
    ],
  },
  {
    name: 'a cancelled trade keeps the supply',
    edits: [{ file: 'domain/trade.ts', from: "['cancelled', 'expired'];", to: "['expired'];" }],
  },
  {
    name: 'what was refuted is sold again',
    edits: [{ file: 'domain/trade.ts', from: "['cancelled', 'expired'];", to: "['cancelled', 'expired', 'refuted'];" }],
  },
  {
    name: 'a refuted trade is paid',
    edits: [
      { file: 'domain/trade.ts', from: "['completed', 'confirmed'];", to: "['completed', 'confirmed', 'refuted'];" },
    ],
  },
  {
    name: 'two of those who race decide',
    edits: [
      { file: 'store/trade-rows.ts', from: 'AND t.version = r.was', to: '' },
      { file: 'store/trade-rows.ts', from: 'ORDER BY trade_id FOR UPDATE)', to: 'ORDER BY trade_id)' },
    ],
  },
  {
    name: 'two of those who come together decide',
    edits: [{ file: 'store/trade-moves.ts', from: 'rows.set(tradeId, after);', to: '' }],
  },
  {
    name: 'a window is over only when it was swept',
    edits: [
      {
        file: 'domain/trade.ts',
        from: 'return dueClosing(trade, now)?.state ?? trade.state;',
        to: 'return now < 0 ? "expired" : trade.state;',
      },
    ],
  },
  {
    name: 'the buyer delivers to itself',
    edits: [
      { file: 'domain/trade-rules.ts', from: "if (party === 'buyer') return deny('E_SKILL_NOT_SELLER');", to: '' },
    ],
  },
  {
    name: 'the seller confirms',
    edits: [
      { file: 'domain/trade-rules.ts', from: "if (party === 'seller') return deny('E_SKILL_NOT_BUYER');", to: '' },
    ],
  },
  {
    name: 'cancelled after delivery',
    edits: [
      {
        file: 'domain/trade-rules.ts',
        from: "return state === 'delivered' ? deny",
        to: "return state === 'opening' ? deny",
      },
    ],
  },
  {
    name: 'silence means the opposite',
    edits: [{ file: 'domain/trade.ts', from: "unsettled === 'confirm' ?", to: "unsettled === 'refute' ?" }],
  },
  {
    name: 'delivery leaves the buyer no time',
    edits: [{ file: 'domain/trade-rules.ts', from: 'settleBy: now + trade.windowMs', to: 'settleBy: trade.dueAt' }],
  },
  {
    name: 'money that is owed is forgotten',
    edits: [
      {
        file: 'store/reconciler.ts',
        from: "(settlement = 'pending' OR (closed_at",
        to: "(settlement = 'failed' OR (state = 'none' AND closed_at",
      },
    ],
  },
  {
    name: 'a purchase that was cut off keeps the supply',
    edits: [
      {
        file: 'store/settling.ts',
        from: 'await restoreSupply(tx, trade.listingId === null ? [] : [trade.listingId]);',
        to: '',
      },
    ],
  },
  {
    name: 'a purchase that was cut off keeps its hold',
    edits: [
      {
        file: 'store/settling.ts',
        from: "await answered(ports.money.void({ holdId: holdIdOf(tradeId), reason: 'undone' }));",
        to: '{ ok: tradeId !== "" };',
      },
    ],
  },
  {
    name: 'a purchase that is sent again is another one',
    edits: [
      {
        file: 'store/beginning.ts',
        from: 'const key = idempotency === null ? null : idempotencyId(idempotency);',
        to: "const key = idempotency === null || idempotencyId(idempotency) !== '' ? null : '';",
      },
    ],
  },
  {
    name: 'a purchase that is sent again is sold out by itself',
    edits: [
      {
        file: 'store/beginning.ts',
        from: 'const started = before === undefined ?',
        to: 'const started = before === undefined || !takeFrom(beginning.shelf, trade).ok ?',
      },
    ],
  },
  {
    name: 'paid twice: held, and at once',
    edits: [
      {
        file: 'store/settling.ts',
        from: "if (captured.ok) return 'done';",
        to: 'if (captured.ok) return pay(parts, trade);',
      },
    ],
  },
  {
    name: 'the buyer is paid',
    edits: [
      {
        file: 'store/settling.ts',
        from: 'const { tradeId, seller: payee, buyer, operator } = trade;',
        to: 'const { tradeId, buyer, operator } = trade; const payee = buyer;',
      },
    ],
  },
  {
    name: 'a lapsed hold counts as paid',
    edits: [{ file: 'store/settling.ts', from: 'return pay(parts, trade);', to: "return 'done';" }],
  },
  {
    name: 'an end of which nobody hears',
    edits: [{ file: 'store/trade-store.ts', from: 'tells: [eventOf(trade, state)],', to: '' }],
  },
];
