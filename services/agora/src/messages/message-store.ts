/** What is said: each message numbered without gaps in its channel, kept for a while, told to who may read it. */
import type { RefusalCode } from '@svc/contract/codes.ts';
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import type { Viewer } from '../acting.ts';
import { type Handover, onceOfHandover } from '../handover.ts';
import { type Channel, hearersOf, MAX_CHANNELS, MAX_IN_INBOX, subscriptionLimit } from './domain/channel.ts';
import {
  countChannels,
  countInInbox,
  countSubscriptions,
  countUnread,
  deleteSubscription,
  insertMessage,
  lockChannel,
  markRead,
  type NewMessage,
  type NewSubscription,
  readChannels,
  readMessages,
  readSubscribers,
  sweepHandovers,
  sweepMessages,
  upsertSubscription,
} from './message-rows.ts';

type AgoraEvent = EventIn<typeof AGORA_EVENTS>;
type Work = Pick<Unit<AgoraEvent>, 'tx' | 'emit'>;

export interface Sent {
  readonly id: string;
  readonly channel: string;
  readonly seq: number;
  readonly from: string;
  readonly at: number;
}
export type MessageStore = ReturnType<typeof createMessageStore>;

const turnOf = ({ channel }: Channel): string => `channel ${channel}`;

export function createMessageStore({ client, change }: ServiceStore<AgoraEvent>, ids: Ids) {
  return {
    /** What was refused under a key stays refused, and what was said stays said. */
    send: <Code extends RefusalCode>(
      call: ChangeCall,
      wish: Decision<Omit<NewMessage, 'id'>, Code>,
    ): Promise<Once<Sent, Code | 'E_QUOTA'>> =>
      change<Sent, Code | 'E_QUOTA'>(
        call,
        async (unit) => (wish.ok ? say(unit, { ...wish.value, id: ids.next('msg') }) : wish),
        wish.ok ? { inTurnOf: turnOf(wish.value.channel) } : {},
      ),
    /** What another service hands over; sent again it is the same message. */
    async carry(call: ChangeCall, handover: Handover, wish: Omit<NewMessage, 'id'>): Promise<Sent> {
      const { decision } = await change<Sent>(
        call,
        (unit) => onceOfHandover(unit.tx, handover, () => write(unit, { ...wish, id: ids.next('msg') })),
        { inTurnOf: turnOf(wish.channel) },
      );
      if (!decision.ok) throw new Error('a hand-over is not refused');
      return decision.value;
    },
    subscribe: (call: ChangeCall, wish: NewSubscription): Promise<Once<number, 'E_QUOTA'>> =>
      change(call, (unit) => subscribe(unit, wish), { inTurnOf: turnOf(wish.channel) }),
    /** From which number it was subscribed; null = it was not. */
    unsubscribe: (
      call: ChangeCall,
      wish: Pick<NewSubscription, 'actor' | 'channel'>,
    ): Promise<Once<number | null, never>> =>
      change(call, async ({ tx }) => allow(await deleteSubscription(tx, wish.actor, wish.channel.channel))),
    messages: (viewer: Viewer, wish: Parameters<typeof readMessages>[2]) => readMessages(client, viewer, wish),
    channels: (viewer: Viewer, page: Parameters<typeof readChannels>[2]) => readChannels(client, viewer, page),
    markRead: (seen: Parameters<typeof markRead>[1]) => markRead(client, seen),
    unread: (viewer: Viewer) => countUnread(client, viewer),
    async sweep(): Promise<void> {
      while ((await sweepMessages(client)) > 0);
      await sweepHandovers(client);
    },
  };
}

async function say(unit: Work, wish: NewMessage): Promise<Decision<Sent, 'E_QUOTA'>> {
  const sent = await write(unit, wish);
  if (sent.seq === 1 && (await countChannels(unit.tx, wish.family)) > MAX_CHANNELS) {
    return deny('E_QUOTA', { limit: MAX_CHANNELS });
  }
  const isInbox = wish.channel.kind === 'agent';
  if (isInbox && (await countInInbox(unit.tx, wish, MAX_IN_INBOX + 1)) > MAX_IN_INBOX) {
    return deny('E_QUOTA', { limit: MAX_IN_INBOX });
  }
  return allow(sent);
}

async function write({ tx, emit }: Work, wish: NewMessage): Promise<Sent> {
  const { seq, at } = await insertMessage(tx, wish);
  const { id, from, channel } = wish;
  const told = { channel: channel.channel, messageId: id, seq, from };
  const { parties, ...where } = hearersOf(channel);
  emit({ name: 'msg:sent', ...where, payload: { ...told, parties } });
  for (const { actor, label } of await readSubscribers(tx, channel.channel)) {
    emit({ name: 'msg:delivered', ...where, payload: { ...told, handler: label, parties: [actor] } });
  }
  return { id, channel: channel.channel, seq, from, at };
}

async function subscribe({ tx }: Work, wish: NewSubscription): Promise<Decision<number, 'E_QUOTA'>> {
  const { lastSeq, isNew } = await lockChannel(tx, wish);
  const fromSeq = await upsertSubscription(tx, wish, lastSeq);
  const limit = subscriptionLimit(await countSubscriptions(tx, wish));
  if (limit !== null) return deny('E_QUOTA', { limit });
  if (isNew && (await countChannels(tx, wish.family)) > MAX_CHANNELS) return deny('E_QUOTA', { limit: MAX_CHANNELS });
  return allow(fromSeq);
}
