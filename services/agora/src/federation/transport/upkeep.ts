/** What a node does now and then, without anybody asking. */
import type { Platform } from '@svc/runtime/platform.ts';
import { RepeatedTrouble, troubleOf } from '@svc/runtime/repeated-trouble.ts';
import { BEACON_EVERY_MS, ONLINE_MS } from '../domain/peer.ts';
import type { NodeStore } from '../store/node-store.ts';
import type { Peers } from './peers.ts';
import { NONCE_KEPT_MS } from './recent-nonces.ts';
import type { Traffic } from './traffic.ts';

/** Others are looked at, and what was counted is written, this often. */
const UPKEEP_MS = 2000;
const FORGET_EVERY_MS = 60_000;

export interface UpkeepParts {
  readonly store: Pick<NodeStore, 'change' | 'tellLeft' | 'forgetNonces'>;
  readonly peers: Pick<Peers, 'refresh'>;
  readonly traffic: Traffic;
  readonly log: Platform['log'];
  /** Whether others can be heard now. */
  readonly hears: () => boolean;
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
  /** Since when whoever is there could be heard, and what was heard be written. */
  #hearsSince: number;
  #heardAt: number;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#hearsSince = parts.now();
    this.#heardAt = this.#hearsSince;
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
      if (this.#trouble.isDue(troubleOf(error)))
        this.#parts.log.error({ err: error }, 'the upkeep of other nodes failed');
    }
    if (!this.#isOver) this.start();
  }

  async #run(): Promise<void> {
    const { store, peers, now } = this.#parts;
    const couldHear = this.#couldHear();
    await this.flush();
    if (couldHear) await store.tellLeft(now());
    await peers.refresh();
    this.#heardAt = now();
    if (now() - this.#forgotAt < FORGET_EVERY_MS) return;
    this.#forgotAt = now();
    await store.forgetNonces(now() - NONCE_KEPT_MS);
  }

  /**
   * For as long as one that is there may be silent. After a gap in which a beacon may have been lost, and where the clock was
   * set back, it begins anew.
   */
  #couldHear(): boolean {
    const now = this.#parts.now();
    const gapMs = now - this.#heardAt;
    if (!this.#parts.hears() || gapMs > BEACON_EVERY_MS || gapMs < 0) this.#hearsSince = now;
    return now - this.#hearsSince > ONLINE_MS;
  }
}
