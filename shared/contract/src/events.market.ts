/** Events of trades, for their two parties alone; what is delivered stands in none of them. */
import { z } from 'zod';
import { type EventDeclaration, parties } from './event-declaration.ts';

const payload = z.strictObject({
  tradeId: z.string(),
  listingId: z.string().nullable().describe('Null = the bid was for nothing that is listed.'),
  kind: z.enum(['plain', 'skill']),
  seller: z.string(),
  buyer: z.string(),
  state: z.string(),
  parties,
});

function ofTrade(meaning: string) {
  return { service: 'market', meaning, audience: 'parties', payload } as const satisfies EventDeclaration;
}

export const MARKET_EVENTS = {
  'trade:opened': ofTrade('A trade began; its price is held.'),
  'trade:delivered': ofTrade('The skill was delivered.'),
  'trade:completed': ofTrade('A plain trade is done.'),
  'trade:confirmed': ofTrade('The buyer of a skill is content, or said nothing in time.'),
  'trade:refuted': ofTrade('The buyer of a skill is not content.'),
  'trade:cancelled': ofTrade('One of the two went back on it.'),
  'trade:expired': ofTrade('The skill was not delivered in time.'),
  'trade:settled': ofTrade('Money has followed: it was paid, or given back.'),
} as const;
