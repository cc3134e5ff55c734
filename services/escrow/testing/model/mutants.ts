/** Mistakes that people make in ledgers, as edits of our own source. The model test must notice each of them. */

import type { Edit, Mutant } from '@svc/testing/mutants.ts';

const UNGUARDED: Edit = { file: 'store/write.ts', from: 'AND t.version = r.version', to: '' };
const STATELESS: readonly Edit[] = [
  { file: 'domain/hold.ts', from: "if (hold.state !== 'held') return null;", to: '' },
  { file: 'store/write.ts', from: "AND t.state = 'held'", to: '' },
];

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'naive read, modify, write',
    edits: [UNGUARDED, { file: 'store/load.ts', from: 'ORDER BY account_id FOR UPDATE', to: '' }],
  },
  {
    name: 'orphan hold',
    edits: [
      { file: 'domain/hold-rules.ts', from: 'effects: { ...reserved, holds: [hold]', to: 'effects: { holds: [hold]' },
    ],
  },
  {
    name: 'floating point',
    edits: [
      {
        file: 'domain/account.ts',
        from: 'const left = limit + earned - spent - pending;',
        to: 'const left = BigInt(Math.floor((Number(limit) / 1e6 + Number(earned) / 1e6 - Number(spent) / 1e6 - Number(pending) / 1e6) * 1e6));',
      },
    ],
  },
  {
    name: 'no expiry',
    edits: [
      {
        file: 'domain/hold.ts',
        from: "return hold.state === 'held' && hold.expiresAt <= now;",
        to: 'return hold.expiresAt > now && false;',
      },
    ],
  },
  {
    name: 'double release',
    edits: [
      ...STATELESS,
      {
        file: 'domain/hold-rules.ts',
        from: "if (hold.state === 'released') return allow({ answer: { voided: true, replay: true }, effects: {} });",
        to: '',
      },
    ],
  },
  {
    name: 'sign flip',
    edits: [
      {
        file: 'domain/spend-rules.ts',
        from: 'const back = spend(payer, -amount);',
        to: 'const back = spend(payer, amount);',
      },
    ],
  },
  {
    name: 'missing state guard',
    edits: [
      ...STATELESS,
      {
        file: 'domain/hold-rules.ts',
        from: "if (hold.state !== 'held') return decideCapturedAlready(hold, amount, wish.payee);",
        to: '',
      },
    ],
  },
  {
    name: 'clock of the client, an hour ahead',
    edits: [{ file: 'store/load.ts', from: 'now: row.now,', to: 'now: Date.now() + 3_600_000,' }],
  },
  {
    name: 'repeated without its key',
    edits: [
      {
        file: 'store/group-commit.ts',
        from: "return idempotency === null ? ''",
        to: "return idempotency !== undefined ? ''",
      },
    ],
  },
  {
    name: 'pool without a lock',
    edits: [
      UNGUARDED,
      {
        file: 'store/load.ts',
        from: 'ORDER BY account_id FOR UPDATE',
        to: "ORDER BY account_id ${accountIds.some((id) => id.startsWith('ws:')) ? '' : 'FOR UPDATE'}",
      },
    ],
  },
  {
    name: 'one namespace for the ids of all callers',
    edits: [
      { file: 'domain/hold.ts', from: 'JSON.stringify([owner, holdId])', to: 'holdId' },
      { file: 'store/load.ts', from: 'n.owner = wanted.owner AND', to: '' },
    ],
  },
  {
    name: 'a hold that arrives late is placed',
    edits: [
      {
        file: 'domain/hold-rules.ts',
        from: 'return deadlineAt !== null && deadlineAt <= now;',
        to: 'return deadlineAt !== null && deadlineAt > now && false;',
      },
    ],
  },
  {
    name: 'lost event',
    edits: [{ file: 'store/ledger-store.ts', from: 'eventsOf(folded.told)', to: 'eventsOf(folded.told.slice(1))' }],
  },
  {
    name: 'rounding up',
    edits: [
      {
        file: 'domain/funds.ts',
        from: 'account: { ...account, spent: account.spent + amount },',
        to: 'account: { ...account, spent: account.spent + ((amount + 999n) / 1000n) * 1000n },',
      },
    ],
  },
];
