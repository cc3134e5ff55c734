/** What the model test does to the ledger and to the reference beside it. */
import type { LedgerStore } from '../../src/store/ledger-store.ts';
import type { MoveCall, Outcome } from '../../src/store/move.ts';
import { callersName, type ReferenceLedger, type ReferencePayer, type Said } from './reference-ledger.ts';

export type Step =
  | { readonly kind: 'set-limit'; readonly account: string; readonly limit: number }
  | { readonly kind: 'set-member-limit'; readonly agent: string; readonly limit: number | null }
  | { readonly kind: 'open'; readonly account: string; readonly limit: number; readonly ref: string }
  | {
      readonly kind: 'debit';
      readonly payer: ReferencePayer;
      readonly amount: number;
      readonly payee: string;
      readonly ref: string | null;
    }
  | {
      readonly kind: 'hold';
      readonly id: string;
      readonly payer: ReferencePayer | null;
      readonly amount: number;
      readonly owner: string;
      readonly service: boolean;
      readonly ttlMs: number;
      /** It arrives after the time until which it was to be placed. */
      readonly late: boolean;
    }
  | {
      readonly kind: 'capture';
      readonly id: string;
      readonly amount: number | null;
      readonly payee: string;
      readonly owner: string;
    }
  | { readonly kind: 'void'; readonly id: string; readonly owner: string }
  | { readonly kind: 'release'; readonly id: string; readonly owner: string; readonly operator: boolean }
  | { readonly kind: 'refund'; readonly index: number; readonly amount: number | null; readonly ref: string };

type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>;

/** Names of one sequence: others work on the same database. */
export interface Names {
  readonly prefix: string;
  /** Entries in the order of the reference's payments. */
  readonly entryIds: readonly string[];
}

/** Accounts and holds that the store looks at. */
interface Touched {
  readonly accounts: readonly string[];
  readonly holds: readonly string[];
  /** It looks for holds past their time only where something is reserved. */
  readonly accountsOnly?: true;
}

interface Performer<Kind extends Step['kind']> {
  touches(step: StepOf<Kind>, reference: ReferenceLedger): Touched;
  refer(step: StepOf<Kind>, reference: ReferenceLedger): Said;
  perform(step: StepOf<Kind>, ledger: LedgerStore, call: MoveCall, names: Names): Promise<Outcome<object>>;
  /** The part of the store's answer that the reference knows. */
  shown(answer: Said, step: StepOf<Kind>): Said;
}

const MICROS = 1_000_000;
const LONG_AGO = 1;
const NEVER_LATE = 8_000_000_000_000;
/** Pools and sinks have names of a form of their own. */
export function named(prefix: string, account: string): string {
  if (account.startsWith('ws:')) return `ws:${prefix}${account.slice(3)}`;
  return account.startsWith('sink:') ? account : `${prefix}${account}`;
}

function payerOf({ prefix }: Names, { account, member }: ReferencePayer) {
  return { account: named(prefix, account), member, opensWith: null };
}

export const POOL = 'ws:pool';
/** Everybody who may pay, be paid or place holds. */
export const BUDGETS = ['a', 'b', 'c'] as const;
export const ACCOUNTS = [...BUDGETS, 'd', POOL] as const;
export const OWNERS = ['s1', 's2'] as const;
const amountOf = (micros: number | null): bigint | null => (micros === null ? null : BigInt(micros));
const microsOf = (credits: unknown): number => Math.round(Number(credits) * MICROS);
const replayed = ({ replay }: Said): Said => (replay === true ? { replay: true } : {});

const PERFORMERS: { readonly [Kind in Step['kind']]: Performer<Kind> } = {
  'set-limit': {
    touches: ({ account }) => ({ accounts: [account], holds: [], accountsOnly: true }),
    refer: ({ account, limit }, reference) => reference.setLimit(account, limit),
    perform: ({ account, limit }, ledger, call, { prefix }) =>
      ledger.setLimit(call, {
        account: named(prefix, account),
        limit: BigInt(limit),
        opensWith: 0n,
        by: 'model',
        repairs: false,
      }),
    shown: ({ budget, created }) => ({ limit: microsOf((budget as { limit: number }).limit), created }),
  },
  'set-member-limit': {
    touches: () => ({ accounts: [POOL], holds: [] }),
    refer: ({ agent, limit }, reference) => reference.setMemberLimit(POOL, agent, limit),
    perform: ({ agent, limit }, ledger, call, { prefix }) =>
      ledger.setMemberLimit(call, {
        workspaceId: `${prefix}pool`,
        agentId: agent,
        limit: amountOf(limit),
        by: 'model',
      }),
    shown: (answer, { limit }) => ({ limit: limit === null ? null : microsOf(answer.limit) }),
  },
  open: {
    touches: ({ account }) => ({ accounts: [account], holds: [] }),
    refer: ({ account, limit, ref }, reference) => reference.open(account, limit, ref),
    perform: ({ account, limit, ref }, ledger, call, { prefix }) =>
      ledger.open(call, {
        account: named(prefix, account),
        limit: BigInt(limit),
        by: 'model',
        ref: prefix + ref,
        bodyHash: `${account} ${limit}`,
      }),
    shown: ({ created, ...rest }) => ({ created, ...replayed(rest) }),
  },
  debit: {
    touches: ({ payer, payee, ref }) => ({
      accounts: [payer.account, payee],
      holds: [],
      ...(payer.member === null && ref === null ? { accountsOnly: true } : {}),
    }),
    refer: ({ payer, amount, payee, ref }, reference) => reference.debit(payer, amount, payee, ref),
    perform: ({ payer, amount, payee, ref }, ledger, call, names) =>
      ledger.debit(call, {
        payer: payerOf(names, payer),
        amount: BigInt(amount),
        payee: named(names.prefix, payee),
        payeeOpensWith: 0n,
        by: 'model',
        memo: null,
        reference: ref === null ? null : { ref: names.prefix + ref, bodyHash: JSON.stringify([payer, amount, payee]) },
      }),
    shown: (answer, { amount }) => ({ paid: amount, ...replayed(answer) }),
  },
  hold: {
    touches: ({ id, payer, service, owner }) => ({
      accounts: payer === null ? [] : [payer.account],
      holds: [service ? id : callersName(owner, id)],
    }),
    refer: ({ id, ...wish }, reference) => reference.hold(id, wish),
    perform: ({ id, payer, amount, owner, service, ttlMs, late }, ledger, call, names) =>
      ledger.placeHold(call, {
        holdId: names.prefix + id,
        payer: payer === null ? null : payerOf(names, payer),
        amount: BigInt(amount),
        condition: { model: id },
        ttlMs,
        deadlineAt: late ? LONG_AGO : NEVER_LATE,
        ownerKind: service ? 'service' : 'caller',
        owner: names.prefix + owner,
        bodyHash: JSON.stringify([payer, amount, ttlMs]),
      }),
    shown: (answer) => ({ reserved: microsOf(answer.reserved), ...replayed(answer) }),
  },
  capture: {
    touches: ({ id, payee }) => ({ accounts: [payee], holds: [id] }),
    refer: ({ id, amount, payee, owner }, reference) => reference.capture(id, amount, payee, owner),
    perform: ({ id, amount, payee, owner }, ledger, call, { prefix }) =>
      ledger.capture(call, {
        holdId: prefix + id,
        owner: prefix + owner,
        amount: amountOf(amount),
        payee: named(prefix, payee),
        payeeOpensWith: 0n,
      }),
    shown: (answer) => ({ captured: microsOf(answer.amount), ...replayed(answer) }),
  },
  void: {
    touches: ({ id }) => ({ accounts: [], holds: [id] }),
    refer: ({ id, owner }, reference) => reference.void(id, owner),
    perform: ({ id, owner }, ledger, call, { prefix }) =>
      ledger.voidHold(call, { holdId: prefix + id, owner: prefix + owner }),
    shown: (answer) => answer,
  },
  release: {
    touches: ({ id, owner, operator }, reference) => ({
      accounts: [],
      holds: operator ? reference.live(id) : [callersName(owner, id)],
    }),
    refer: ({ id, owner, operator }, reference) => reference.release(id, operator ? null : owner),
    perform: ({ id, owner, operator }, ledger, call, { prefix }) =>
      ledger.release(call, {
        holdId: prefix + id,
        principal: prefix + owner,
        owner: operator ? null : prefix + owner,
      }),
    shown: (answer) => answer,
  },
  refund: {
    touches({ index }, { payments }) {
      const paid = payments[index];
      return { accounts: paid === undefined ? [] : [paid.account, paid.payee], holds: [] };
    },
    refer: ({ index, amount, ref }, reference) => reference.refund(index, amount, ref),
    perform: ({ index, amount, ref }, ledger, call, { prefix, entryIds }) =>
      ledger.refund(call, {
        entryId: entryIds[index] ?? 'ent_none',
        amount: amountOf(amount),
        ref: prefix + ref,
        bodyHash: `${index} ${amount}`,
        by: 'model',
      }),
    shown: (answer) => replayed(answer),
  },
};

function performerOf<Kind extends Step['kind']>(step: StepOf<Kind>): Performer<Kind> {
  return PERFORMERS[step.kind];
}

/** What the reference says, after the store's look at what is past its time. */
export function refer(step: Step, reference: ReferenceLedger): Said {
  const performer = performerOf(step);
  const { accounts, holds, accountsOnly = false } = performer.touches(step, reference);
  if (!accountsOnly || reference.looksForHolds(accounts)) reference.expireOn(accounts, holds);
  // A refund's amount is in the balances, not in its answer.
  const { refunded: _refunded, ...said } = performer.refer(step, reference);
  return said;
}

export async function perform(
  step: Step,
  ledger: LedgerStore,
  call: MoveCall,
  names: Names,
): Promise<{ said: Said; entryId: string | null; replayed: boolean }> {
  const performer = performerOf(step);
  const { decision, replayed: isReplayed } = await performer.perform(step, ledger, call, names);
  if (!decision.ok) return { said: { code: decision.code }, entryId: null, replayed: isReplayed };
  const { entryId = null, replay } = decision.value as { entryId?: string | null; replay?: true };
  const isPayment = (step.kind === 'debit' || step.kind === 'capture') && replay !== true && !isReplayed;
  return {
    said: performer.shown({ ...decision.value }, step),
    entryId: isPayment ? entryId : null,
    replayed: isReplayed,
  };
}
