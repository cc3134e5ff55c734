/** Buys, delivers, settles, cancels and sweeps at random, and keeps a journal of what it was told. */
import { type Caller, codeOf, type Fields, isFields } from '../client.ts';
import { newName } from '../verifies.ts';
import { NO_ANSWER, untilAnswered } from './persistent-calls.ts';
import type { Random } from './random.ts';
import type { TradeJournal } from './trade-journal.ts';

export interface Trading {
  /** An operator, who acts for all of them, and waits for an answer for a short time only. */
  readonly operator: Caller;
  readonly random: Random;
  readonly journal: TradeJournal;
  readonly sellers: string[];
  readonly buyers: readonly string[];
  /** Answers that are neither a success nor a reason to ask again. */
  readonly problems: string[];
  steps: number;
  over: boolean;
}

type Kind = 'plain' | 'skill';

interface Shop {
  readonly seller: string;
  readonly listingIds: Readonly<Record<Kind, string>>;
}

interface Step {
  readonly tool: string;
  readonly args: Fields;
  /** What the trade is when it is done. */
  readonly state: string;
}

/** Of a trade that time was faster to decide, with what it is. */
const DECIDED = ['E_TRADE_CLOSED', 'E_SKILL_ALREADY_SETTLED', 'E_SKILL_EXPIRED', 'E_SKILL_CANCELLED'];
const SUPPLY = 1_000_000;

interface Answer {
  readonly code: string | null;
  readonly content: Fields;
}

async function send({ operator, random }: Trading, tool: string, args: Fields, key: string | null): Promise<Answer> {
  const headers = key === null ? {} : { 'idempotency-key': key };
  const reply = await operator.call(tool, args, { headers, gateway: random.int(0, 2) });
  const content = reply.body.result?.content;
  const code = reply.body.result === undefined && codeOf(reply) === null ? 'SERVICE_UNAVAILABLE' : codeOf(reply);
  return { code, content: isFields(content) ? content : {} };
}

const isUnanswered = ({ code }: Answer): boolean => code !== null && NO_ANSWER.includes(code);

/** With a key it is asked until it is answered; of the others some are never told. Null = no answer. */
async function ask(trading: Trading, tool: string, args: Fields): Promise<Answer | null> {
  trading.steps += 1;
  const key = trading.random.int(0, 4) === 0 ? null : newName('key');
  if (key !== null) return untilAnswered(() => send(trading, tool, args, key), isUnanswered);
  const answer = await send(trading, tool, args, null).catch(() => null);
  return answer === null || isUnanswered(answer) ? null : answer;
}

async function openShop(trading: Trading): Promise<Shop> {
  const seller = newName('seller');
  trading.sellers.push(seller);
  const list = async (tool: string, args: Fields): Promise<string> => {
    const key = newName('key');
    const offer = { ...args, title: seller, price: '0.25', context: { seller, supply: SUPPLY } };
    const { content } = await untilAnswered(() => send(trading, tool, offer, key), isUnanswered);
    return String(content['id']);
  };
  const plain = await list('market_list', { type: 'knowledge' });
  return { seller, listingIds: { plain, skill: await list('market_skill_list', {}) } };
}

/** Trades until told to stop. */
export async function keepTrading(trading: Trading, buyer: string): Promise<void> {
  let shop = await openShop(trading);
  while (!trading.over) {
    const kind = trading.random.pick<Kind>(['plain', 'skill']);
    const { code, tradeId } = await buy(trading, shop, kind, buyer);
    // Whose skills were refuted too often sells no more.
    if (code === 'E_SELLER_TRUST') shop = await openShop(trading);
    if (tradeId !== null) await follow(trading, stepsOf(trading.random, kind, tradeId, shop.seller, buyer));
    if (trading.random.int(0, 8) === 0) await ask(trading, 'market_skill_sweep', {});
  }
}

async function buy(
  trading: Trading,
  { listingIds }: Shop,
  kind: Kind,
  buyerId: string,
): Promise<{ readonly code: string | null; readonly tradeId: string | null }> {
  const tool = kind === 'plain' ? 'market_trade' : 'market_skill_buy';
  const answer = await ask(trading, tool, { listingId: listingIds[kind], buyerId });
  if (answer === null) trading.journal.unanswered += 1;
  else if (answer.code !== null && answer.code !== 'E_SELLER_TRUST') trading.problems.push(`${tool}: ${answer.code}`);
  if (answer === null || answer.code !== null) return { code: answer?.code ?? null, tradeId: null };
  const tradeId = String(answer.content['tradeId']);
  trading.journal.told(tradeId, kind === 'plain' ? 'pending' : 'pending_delivery');
  return { code: null, tradeId };
}

/** Some trades are left to time, at each of their states. */
function stepsOf(random: Random, kind: Kind, tradeId: string, seller: string, buyer: string): Step[] {
  const agentId = random.pick([seller, buyer]);
  const cancel: Step = { tool: 'market_cancelTrade', args: { tradeId, agentId }, state: 'cancelled' };
  if (kind === 'plain') {
    const confirm: Step = { tool: 'market_trade', args: { tradeId, buyerId: buyer }, state: 'completed' };
    return random.pick([[confirm], [confirm], [cancel], []]);
  }
  const payload = { of: tradeId };
  const deliver: Step = {
    tool: 'market_skill_deliver',
    args: { tradeId, payload, agentId: seller },
    state: 'delivered',
  };
  const settle = (decision: string, state: string): Step => ({
    tool: 'market_skill_settle',
    args: { tradeId, decision, agentId: buyer },
    state,
  });
  const confirm = [deliver, settle('confirm', 'confirmed')];
  return random.pick([confirm, confirm, confirm, [deliver, settle('refute', 'refuted')], [deliver], [cancel], []]);
}

async function follow(trading: Trading, steps: readonly Step[]): Promise<void> {
  const { journal, problems } = trading;
  for (const { tool, args, state } of steps) {
    const tradeId = String(args['tradeId']);
    const answer = await ask(trading, tool, args);
    if (answer === null) {
      journal.asked(tradeId, state);
      return;
    }
    if (answer.code === null) journal.told(tradeId, state);
    else if (DECIDED.includes(answer.code)) {
      journal.told(tradeId, String(answer.content['state']));
      return;
    } else {
      problems.push(`${tool}: ${answer.code}`);
      return;
    }
  }
}
