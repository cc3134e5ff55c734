/** What a node does now and then, without anybody asking. */
import type { Platform } from '@svc/runtime/platform.ts';
import { RepeatedTrouble } from '@svc/runtime/repeated-trouble.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { Peers } from './peers.ts';
import { NONCE_KEPT_MS } from './recent-nonces.ts';
import type { Traffic } from './traffic.ts';

/** Others are looked at, and what was counted is written, this often. */
const UPKEEP_MS = 2000;
const FORGET_EVERY_MS = 60_000;

export interface UpkeepParts {
  readonly store: NodeStore;
  readonly peers: Peers;
  readonly traffic: Traffic;
  readonly log: Platform['log'];
  readonly now: () => number;
}

/** Writes what was counted, notices who fell silent, and reads what other processes of this deployment heard. */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #trouble = new RepeatedTrouble();
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  #isOver = false;
  #forgotAt = -Infinity;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#round();
    }, UPKEEP_MS);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    await this.flush();
  }

  async flush(): Promise<void> {
    const { traffic, store } = this.#parts;
    await traffic.flush(async (work) => {
      await store.change(async (unit) => ({ ok: true, value: await work(unit) }));
    });
  }

  async #round(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      if (this.#trouble.isDue(String(error))) this.#parts.log.error({ err: error }, 'the upkeep of other nodes failed');
    }
    if (!this.#isOver) this.start();
  }

  async #run(): Promise<void> {
    const { store, peers, now } = this.#parts;
    await this.flush();
    await store.tellLeft(now());
    await peers.refresh();
    if (now() - this.#forgotAt < FORGET_EVERY_MS) return;
    this.#forgotAt = now();
    await store.forgetNonces(now() - NONCE_KEPT_MS);
  }
}
