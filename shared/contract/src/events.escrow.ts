/** Events of the ledger: the parties are those who may read the account. */
import { z } from 'zod';
import { type EventDeclaration, parties } from './event-declaration.ts';

const account = z.string().nullable().describe('Null = a record that names nobody.');
const amount = z.number().describe('Credits.');
const holdId = z.string();
const entryId = z.string();

export const ESCROW_EVENTS = {
  'escrow:budgeted': {
    service: 'escrow',
    meaning: 'A limit was set: of a budget, a pool or a member of a pool.',
    audience: 'parties',
    payload: z.strictObject({
      account,
      entryId: entryId.optional(),
      member: z.string().optional(),
      amount: amount.optional(),
      parties,
    }),
  },
  'escrow:held': {
    service: 'escrow',
    meaning: 'A hold was placed; it reserves the amount.',
    audience: 'parties',
    payload: z.strictObject({ account, holdId, amount, parties }),
  },
  'escrow:posted': {
    service: 'escrow',
    meaning: 'A hold was captured: the amount is spent, the rest of the reservation given back.',
    audience: 'parties',
    payload: z.strictObject({ account, holdId, entryId: entryId.optional(), amount, parties }),
  },
  'escrow:released': {
    service: 'escrow',
    meaning: 'A hold was given back.',
    audience: 'parties',
    payload: z.strictObject({ account, holdId, amount, parties }),
  },
  'escrow:expired': {
    service: 'escrow',
    meaning: 'A hold passed its time.',
    audience: 'parties',
    payload: z.strictObject({ account, holdId, amount, parties }),
  },
  'escrow:spent': {
    service: 'escrow',
    meaning: 'An amount was spent.',
    audience: 'parties',
    payload: z.strictObject({ account, entryId, amount, parties }),
  },
  'escrow:refunded': {
    service: 'escrow',
    meaning: 'A payment was given back, as a whole or in part.',
    audience: 'parties',
    payload: z.strictObject({ account, entryId, amount, parties }),
  },
  'escrow:frozen': {
    service: 'escrow',
    meaning: 'An account contradicts its entries: nothing is written to it any more.',
    audience: 'parties',
    payload: z.strictObject({ account, reason: z.string(), parties }),
  },
  'escrow:repaired': {
    service: 'escrow',
    meaning: 'A frozen account was found whole again and is written to as before.',
    audience: 'parties',
    payload: z.strictObject({ account, entryId, amount, parties }),
  },
} as const satisfies Record<string, EventDeclaration>;
