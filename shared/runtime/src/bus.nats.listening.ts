/** What one connection to NATS listens to: what the server takes away from it is asked for again until it is given back. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  type Subscription as NatsSubscription,
} from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { Subscription } from './bus.ts';
import { StartProblem } from './start-problem.ts';

/** A NATS that could be reached and does not take us for who we are. */
export class NatsRefused extends StartProblem {}

const AGAIN_AFTER_MS = 1000;

interface ListeningParts {
  readonly connection: NatsConnection;
  readonly log: Pick<Logger, 'info' | 'error'>;
  /** Resolves when the server has taken all that was sent before, and said what it refuses of it. */
  flush(): Promise<void>;
}

interface Wish {
  readonly subject: string;
  readonly queue?: string | undefined;
  receive(message: Msg): void;
}

export class Listening {
  readonly #parts: ListeningParts;
  readonly #ears = new Set<Ear>();

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  /** False while there is something that it does not hear any more. */
  get isWhole(): boolean {
    return [...this.#ears].every(({ isHeld }) => isHeld);
  }

  /** Resolves when the server knows of it. Throws NatsRefused when it does not let us. */
  async open(wish: Wish): Promise<Subscription> {
    const { connection, flush } = this.#parts;
    const ear = new Ear(connection, wish, () => void this.#regain(ear));
    ear.listen();
    await flush();
    if (ear.refused instanceof PermissionViolationError) {
      throw new NatsRefused(
        `NATS at ${connection.getServer()} does not let this service listen on ${wish.subject}: NATS_URL has the credential of another one`,
      );
    }
    ear.isHeld = true;
    this.#ears.add(ear);
    return {
      drain: () => {
        this.#ears.delete(ear);
        return ear.drain();
      },
    };
  }

  /** Reloaded, the server does not say in which queue a subscription was, and the client finds none without. */
  taken(error: PermissionViolationError): void {
    for (const ear of this.#ears) if (ear.subject === error.subject) ear.lose(error);
  }

  /** The server tells nobody when it would be allowed again. */
  async #regain(ear: Ear): Promise<void> {
    const { connection, log, flush } = this.#parts;
    const { subject } = ear;
    log.error({ err: ear.refused, subject }, 'NATS does not let this process listen there any more; it goes on asking');
    while (!ear.isHeld) {
      await delay(AGAIN_AFTER_MS, undefined, { ref: false });
      if (!this.#ears.has(ear) || connection.isClosed()) return;
      ear.listen();
      await flush().catch(() => {});
      ear.isHeld = ear.refused === null;
    }
    log.info({ subject }, 'NATS lets this process listen there again');
  }
}

class Ear {
  /** The server lets it listen, as far as it said. */
  isHeld = false;
  /** What the server said to the last try; null = nothing against it. */
  refused: Error | null = null;
  readonly #connection: NatsConnection;
  readonly #wish: Wish;
  readonly #onTaken: () => void;
  #subscription: NatsSubscription | null = null;

  constructor(connection: NatsConnection, wish: Wish, onTaken: () => void) {
    this.#connection = connection;
    this.#wish = wish;
    this.#onTaken = onTaken;
  }

  get subject(): string {
    return this.#wish.subject;
  }

  listen(): void {
    const { subject, queue, receive } = this.#wish;
    this.refused = null;
    this.#subscription = this.#connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error === null) receive(message);
        else this.lose(error);
      },
    });
  }

  lose(error: Error): void {
    this.refused ??= error;
    if (!this.isHeld) return;
    this.isHeld = false;
    if (this.#subscription?.isClosed() === false) this.#subscription.unsubscribe();
    this.#onTaken();
  }

  /** Hears no more; resolves when what came before has been handed on. */
  async drain(): Promise<void> {
    // A subscription that is closed already has nothing left to deliver.
    if (this.#subscription?.isClosed() === false) await this.#subscription.drain();
  }
}
