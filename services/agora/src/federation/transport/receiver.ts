/** What comes from other nodes: judged step by step, dropped without a word, or given its effect once and answered. */
import { allow } from '@svc/contract/decision.ts';
import { createTurns } from '@svc/runtime/turns.ts';
import {
  claimedSender,
  EVERYBODY,
  MAX_ENVELOPE_BYTES,
  type ReadEnvelope,
  readEnvelope,
  type Rejection,
  rejectionOf,
} from '../domain/envelope.ts';
import type { Keyring } from '../domain/keyring.ts';
import { DISPATCHED, isMessageType, type MessageType, PRESENCE, PresenceBody, replyType } from '../domain/messages.ts';
import type { Beacon } from '../domain/peer.ts';
import type { AgoraUnit } from '../ledgers.ts';
import { spendNonce } from '../store/peer-rows.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { OwnDouble } from './double.ts';
import type { Peers } from './peers.ts';
import type { Quotas } from './quotas.ts';
import type { RecentNonces } from './recent-nonces.ts';
import type { Traffic } from './traffic.ts';
import type { Seal } from './wire.ts';

/** No node has that name. */
const STRANGERS = '';

/** The answer to a question, given in the transaction that spends its nonce. */
export type Effect = (unit: AgoraUnit) => Promise<Readonly<Record<string, unknown>>>;

/** Asks whoever has to be asked before the transaction. */
export type Dispatch = (from: string, type: MessageType, question: never) => Promise<Effect>;

interface ReceiverParts {
  readonly keyring: Keyring;
  readonly now: () => number;
  readonly store: NodeStore;
  readonly peers: Peers;
  readonly quotas: Quotas;
  readonly nonces: RecentNonces;
  readonly traffic: Traffic;
  readonly seal: Seal;
  readonly dispatch: Dispatch;
  readonly double: Pick<OwnDouble, 'heard'>;
  /** A beacon that is what it says; the answer is what is written with its nonce. */
  onBeacon(from: string, beacon: Beacon, ts: number): Promise<(unit: AgoraUnit) => Promise<void>>;
}

export class Receiver {
  readonly #parts: ReceiverParts;
  /** What a peer may have open at once does not stand in front of everybody else at the database. */
  readonly #inTurnOf = createTurns();

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** The reply; null = none. */
  async onRequest(text: string): Promise<string | null> {
    const { keyring, peers, quotas } = this.#parts;
    const read = this.#judged(text, keyring.name, peers.isPeer);
    if (read === null) return null;
    const { from, type, body } = read.envelope;
    const question = isMessageType(type) ? DISPATCHED[type].question.safeParse(body) : null;
    if (!isMessageType(type) || question?.success !== true) return this.#dropped(from, 'schema');
    const end = quotas.begin(from, read.bytes);
    if (end === null) return this.#dropped(from, 'quota');
    try {
      return await this.#inTurnOf(from, () => this.#answered(read, type, question.data));
    } finally {
      end();
    }
  }

  async onPresence(text: string): Promise<void> {
    const { keyring, peers, quotas } = this.#parts;
    const claimed = claimedSender(text);
    // A server sends a beacon back to whoever sent it, too.
    if (claimed === keyring.name) return this.#hearsOneMore(text) ? this.#parts.double.heard(text) : undefined;
    if (claimed !== null && !peers.isPeer(claimed) && !this.#hearsOneMore(text)) {
      return void this.#dropped(claimed, 'quota');
    }
    const read = this.#judged(text, EVERYBODY, (node) => keyring.mayAnnounce(node) && peers.mayJoin(node));
    if (read === null) return;
    const { from, type, body } = read.envelope;
    const beacon = PresenceBody.safeParse(body);
    if (type !== PRESENCE || !beacon.success) return void this.#dropped(from, 'schema');
    const end = quotas.begin(from, read.bytes);
    if (end === null) return void this.#dropped(from, 'quota');
    try {
      await this.#heard(read, beacon.data);
    } finally {
      end();
    }
  }

  /** The body of the reply of `node` to the question with that nonce; null = it is none, and was dropped. */
  onReply(text: string, node: string, type: MessageType, nonce: string): Record<string, unknown> | 'garbled' | null {
    const { keyring, nonces, traffic } = this.#parts;
    const read = this.#judged(text, keyring.name, (from) => from === node);
    if (read === null) return null;
    const { re, ...answer } = read.envelope.body;
    const parsed = DISPATCHED[type].answer.safeParse(answer);
    if (read.envelope.type !== replyType(type) || re !== nonce) return this.#dropped(node, 'schema');
    if (!parsed.success) {
      this.#dropped(node, 'schema');
      return 'garbled';
    }
    nonces.add(node, read.envelope.nonce);
    traffic.accepted();
    return parsed.data;
  }

  /** Anybody can say any name, so all that nobody knows yet are heard as often as one that somebody knows. */
  #hearsOneMore(text: string): boolean {
    const end = this.#parts.quotas.begin(STRANGERS, text.length);
    end?.();
    return end !== null;
  }

  /** Null = dropped, and counted. */
  #judged(text: string, to: string, isPeer: (node: string) => boolean): ReadEnvelope | null {
    const { keyring, now, nonces } = this.#parts;
    const unread = this.#unworthy(text, isPeer);
    if (unread !== null) return this.#dropped(claimedSender(text), unread);
    const read = readEnvelope(text);
    if (typeof read === 'string') return this.#dropped(null, read);
    const recipient = { name: keyring.name, now: now(), isPeer, isSigned: keyring.isEnvelopeSigned };
    const rejection = rejectionOf(read, recipient, to);
    if (rejection !== null) return this.#dropped(read.envelope.from, rejection);
    const { from, nonce } = read.envelope;
    return nonces.has(from, nonce) ? this.#dropped(from, 'replay') : read;
  }

  /** Why a text is not even read: that has its price. Null = it is. */
  #unworthy(text: string, isPeer: (node: string) => boolean): Rejection | null {
    if (text.length > MAX_ENVELOPE_BYTES) return 'size';
    const claimed = claimedSender(text);
    if (claimed === null) return 'schema';
    if (!isPeer(claimed)) return 'unknown';
    // Spent by what it had signed itself.
    return this.#parts.quotas.isSpent(claimed) ? 'quota' : null;
  }

  #dropped(from: string | null, reason: Rejection): null {
    this.#parts.traffic.drop(from, reason);
    return null;
  }

  async #answered(read: ReadEnvelope, type: MessageType, question: unknown): Promise<string | null> {
    const { dispatch, traffic, seal } = this.#parts;
    const { from, nonce } = read.envelope;
    const effect = await dispatch(from, type, question as never);
    const answer = await this.#inOneUnit(read, effect);
    if (answer === null) return this.#dropped(from, 'replay');
    traffic.accepted();
    traffic.sent();
    return seal(from, replyType(type), { re: nonce, ...answer }).text;
  }

  async #heard(read: ReadEnvelope, beacon: Beacon): Promise<void> {
    const { from, ts } = read.envelope;
    const effect = await this.#parts.onBeacon(from, beacon, ts);
    const done = await this.#inOneUnit(read, async (unit) => {
      await effect(unit);
      return true;
    });
    // Another process of this deployment heard it, too; what is said again later each of them remembers.
    if (done !== null) this.#parts.traffic.accepted();
  }

  /** Null = its nonce was spent before. */
  async #inOneUnit<Value>(
    { envelope: { from, nonce } }: ReadEnvelope,
    effect: (unit: AgoraUnit) => Promise<Value>,
  ): Promise<Value | null> {
    const { store, nonces, now } = this.#parts;
    const value = await store.change(async (unit) => {
      if (!(await spendNonce(unit.tx, from, nonce, now()))) return allow(null);
      return allow(await effect(unit));
    });
    nonces.add(from, nonce);
    return value;
  }
}
