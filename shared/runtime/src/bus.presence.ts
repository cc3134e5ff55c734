/** This process among those that answer on NATS: it says that it lives, and answers what is addressed to it alone. */
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import {
  addressOfMember,
  BEAT_EVERY_MS,
  beatSubject,
  GIVEN_UP_AFTER_MS,
  LOST_AFTER_MS,
  type Member,
} from './bus.members.ts';
import type { Listening } from './bus.nats.listening.ts';
import { matchesPattern } from './bus-subject.ts';

const NOT_HERE = 503;

/** `subject` is what was asked, without the address. */
export type Answer = (message: Msg, subject: string) => void;

interface Responder {
  readonly pattern: string;
  readonly answer: Answer;
}

export interface PresenceParts {
  readonly connection: NatsConnection;
  readonly listening: Listening;
  readonly member: Member;
  /** Before each subject. */
  readonly space: string;
  isConnected(): boolean;
  /** Resolves when everything that the server had for this process before has been handled. */
  flush(): Promise<void>;
  /** After each beat. */
  onBeat(): void;
}

export class Presence {
  readonly #parts: PresenceParts;
  #answering: Responder[] = [];
  #turn = 0;
  #timer: NodeJS.Timeout | undefined;
  #beatAt = performance.now();
  /** When that was last so, of `performance.now()`. */
  #givenUpAt = -Infinity;
  #lostAt = -Infinity;
  #waking: Promise<void> | null = null;
  #isBeatDue = false;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { listening, member, space } = this.#parts;
    const address = space + addressOfMember(member);
    await listening.open({
      subject: `${address}>`,
      receive: (message) => this.#take(message, message.subject.slice(address.length)),
    });
    this.#timer = setInterval(() => this.#beat(), BEAT_EVERY_MS);
    this.#timer.unref();
  }

  /** From now on others may send here what fits. */
  add(pattern: string, answer: Answer): void {
    this.#answering.push({ pattern, answer });
    this.#beatSoon();
  }

  remove(answer: Answer): void {
    this.#answering = this.#answering.filter((responder) => responder.answer !== answer);
    this.#beatSoon();
  }

  /** Others have given this process up; what they sent before then they may have sent elsewhere since. */
  get wasGivenUp(): boolean {
    return this.#waking !== null || performance.now() - this.#beatAt > GIVEN_UP_AFTER_MS;
  }

  /** As the bus says it. */
  sinceGivenUpMs(repeatable: boolean): number {
    this.#noticeStandstill();
    return performance.now() - (repeatable ? this.#givenUpAt : this.#lostAt);
  }

  /** Looked at before every beat, because a beat ends it. */
  #noticeStandstill(): void {
    const now = performance.now();
    if (this.wasGivenUp) this.#givenUpAt = now;
    if (now - this.#beatAt > LOST_AFTER_MS) this.#lostAt = now;
  }

  /** Tells whoever asked that it must look elsewhere: nothing was done. */
  decline({ reply }: Msg): void {
    if (reply === undefined || reply === '') return;
    this.#parts.connection.publish(reply, '', { headers: headers(NOT_HERE, 'Not Here') });
  }

  /** Says goodbye. */
  stop(): void {
    clearInterval(this.#timer);
    this.#answering = [];
    this.#tell();
  }

  #take(message: Msg, subject: string): void {
    const answer = this.wasGivenUp ? undefined : this.#answerFor(subject);
    if (answer === undefined) this.decline(message);
    else answer(message, subject);
  }

  #answerFor(subject: string): Answer | undefined {
    const fitting = this.#answering.filter(({ pattern }) => matchesPattern(pattern, subject));
    this.#turn += 1;
    return fitting[this.#turn % fitting.length]?.answer;
  }

  #beat(): void {
    this.#noticeStandstill();
    if (this.#parts.isConnected()) {
      if (this.wasGivenUp) void this.wake();
      else this.#tell();
    }
    this.#parts.onBeat();
  }

  /** Resolves when this process counts again: what comes to hand from then on did so after the standstill. */
  wake(): Promise<void> {
    this.#noticeStandstill();
    this.#waking ??= this.#declineWaiting();
    return this.#waking;
  }

  /** What waited here while this process stood still is declined before it is counted on again. */
  async #declineWaiting(): Promise<void> {
    await this.#parts.flush().catch(() => {});
    this.#waking = null;
    this.#tell();
  }

  /** Once for all that changed in this turn. */
  #beatSoon(): void {
    if (this.#isBeatDue || this.#timer === undefined) return;
    this.#isBeatDue = true;
    queueMicrotask(() => {
      this.#isBeatDue = false;
      if (!this.wasGivenUp) this.#tell();
    });
  }

  #tell(): void {
    const { connection, member, space, isConnected } = this.#parts;
    this.#beatAt = performance.now();
    if (!isConnected()) return;
    const { group, process } = member;
    const beat = { group, process, patterns: [...new Set(this.#answering.map(({ pattern }) => pattern))].sort() };
    connection.publish(space + beatSubject(group), JSON.stringify(beat));
  }
}
