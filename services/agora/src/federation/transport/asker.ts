/** Asks other nodes: the first reply to a signed question counts, within the time there is. */
import { type Bus, BusError } from '@svc/runtime/bus.ts';
import { LATE, within } from '@svc/runtime/within.ts';
import { MAX_ENVELOPE_BYTES } from '../domain/envelope.ts';
import type { AnswerTo, MessageType, Question } from '../domain/messages.ts';
import { PEER_LIMITS } from '../domain/quota.ts';
import type { Receiver } from './receiver.ts';
import type { Traffic } from './traffic.ts';
import { type Seal, subjectOf } from './wire.ts';

const ROUND_TRIP_MS = 8000;
/** Questions may be repeated without harm, and one of several processes of a deployment may stand still. */
const ASK_AGAIN_MS = 2000;

/** Why there is no answer, or (`garbled`) none that can be read. After `timeout` and `garbled` it may have had its effect. */
export type Silence = 'offline' | 'timeout' | 'garbled' | 'quota' | 'size';

export type Asked<Type extends MessageType> =
  | { readonly ok: true; readonly answer: AnswerTo<Type> }
  | { readonly ok: false; readonly silence: Silence };

interface RoundTrip {
  readonly node: string;
  readonly type: MessageType;
  readonly topic: string;
  readonly since: number;
}

interface AskerParts {
  readonly now: () => number;
  /** Null while there is no way to other nodes. */
  bus(): Bus | null;
  readonly seal: Seal;
  readonly receiver: Pick<Receiver, 'onReply'>;
  readonly traffic: Traffic;
}

export type Asker = ReturnType<typeof createAsker>;

export function createAsker({ now, bus, seal, receiver, traffic }: AskerParts) {
  const open = new Set<RoundTrip>();
  const openTo = (node: string): number => [...open].filter((trip) => trip.node === node).length;

  async function roundTrip<Type extends MessageType>(
    on: Bus,
    trip: RoundTrip,
    question: Question<Type>,
  ): Promise<Asked<Type>> {
    const { node, type, since } = trip;
    const { text, nonce } = seal(node, type, question);
    if (Buffer.byteLength(text) > MAX_ENVELOPE_BYTES) return { ok: false, silence: 'size' };
    traffic.sent();
    const reply = await on.request(subjectOf(node), text, { deadlineAt: since + ROUND_TRIP_MS });
    const answer = receiver.onReply(reply, node, type, nonce);
    if (answer === 'garbled') return { ok: false, silence: answer };
    // What somebody else answered in its place says nothing about what it did.
    return answer === null ? { ok: false, silence: 'timeout' } : { ok: true, answer: answer as AnswerTo<Type> };
  }

  return {
    async ask<Type extends MessageType>(
      node: string,
      type: Type,
      topic: string,
      question: Question<Type>,
    ): Promise<Asked<Type>> {
      const on = bus();
      if (on === null) return { ok: false, silence: 'offline' };
      if (openTo(node) >= PEER_LIMITS.openRoundTrips) return { ok: false, silence: 'quota' };
      const trip: RoundTrip = { node, type, topic, since: now() };
      open.add(trip);
      try {
        return await firstOf(() => roundTrip<Type>(on, trip, question));
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        return { ok: false, silence: error.undelivered ? 'offline' : 'timeout' };
      } finally {
        open.delete(trip);
      }
    },
    roundTrips: (): readonly RoundTrip[] => [...open],
  };
}

/** Asks again while nobody answers. When nobody does, it is what came of the first question. */
async function firstOf<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const first = ask();
  const asked = [first];
  for (;;) {
    const answered = await within(
      ASK_AGAIN_MS,
      Promise.any(asked).catch(() => first),
    );
    if (answered !== LATE) return answered;
    asked.push(ask());
  }
}
