/**
 * A NATS on which each deployment is alone with a relay, which carries what they say to each other: whole, or so that some of it
 * is lost, said twice, overtaken by what was said later, or kept from everybody on the other side.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '@svc/runtime/bus.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { onTestFinished } from 'vitest';
import type { Random } from './random.ts';

const LOSS = 0.2;
const TWICE = 0.15;
/** So much later a message may arrive than one that was said after it. */
const LATE_MS = 400;
/** Longer than any deployment waits for an answer. */
const CARRIED_WITHIN_MS = 10_000;
const PRESENCE = 'svc.x.presence';
const PASSWORD = 'of-one-node';
const silent = { info() {}, warn() {}, error() {} };

/** Messages by what became of them. */
interface Meddled {
  carried: number;
  lost: number;
  twice: number;
  /** By as much as others may overtake them. */
  late: number;
  parted: number;
}

export interface MeddledBus {
  readonly counts: Meddled;
  /** Where the deployment of that name meets the others. */
  urlOf(name: string): string;
  /** Whether chance may lose, double and delay what is said. */
  meddle(isOn: boolean): void;
  /** From here on nothing passes between these and the others; none = everybody reaches everybody. */
  part(names: readonly string[]): void;
  /** The server goes away for so long, and what is under way with it. */
  restart(downMs: number): Promise<void>;
}

export async function meddledBus(names: readonly string[], random: Random): Promise<MeddledBus> {
  const accounts = names.map((name) => `${name}: {users: [{user: ${name}, password: ${PASSWORD}}]}`);
  const nats = await startNats({ config: `max_connections: 100\naccounts: {${accounts.join(', ')}}` });
  const control = nats?.control;
  if (nats === null || control === undefined) throw new Error('there is no NATS server of our own');
  onTestFinished(() => nats.stop());
  const { host } = new URL(nats.url);
  const urlOf = (name: string): string => `nats://${name}:${PASSWORD}@${host}`;
  const relay = new Relay(random);
  for (const name of names) {
    const bus = await connectNatsBus({ urls: [urlOf(name)], name: 'relay', log: silent });
    onTestFinished(() => bus.close());
    await relay.join(name, bus);
  }
  return {
    counts: relay.counts,
    urlOf,
    meddle: (isOn) => relay.meddle(isOn),
    part: (side) => relay.part(side),
    restart: (downMs) => control.restart(downMs),
  };
}

class Relay {
  readonly counts: Meddled = { carried: 0, lost: 0, twice: 0, late: 0, parted: 0 };
  readonly #random: Random;
  readonly #buses = new Map<string, Bus>();
  #isMeddling = false;
  #side: ReadonlySet<string> = new Set();

  constructor(random: Random) {
    this.#random = random;
  }

  meddle(isOn: boolean): void {
    this.#isMeddling = isOn;
  }

  part(side: readonly string[]): void {
    this.#side = new Set(side);
  }

  async join(name: string, bus: Bus): Promise<void> {
    for (const [other, theirs] of this.#buses) {
      await theirs.respond(subjectOf(name), (text) => this.#asked(other, name, text));
      await bus.respond(subjectOf(other), (text) => this.#asked(name, other, text));
    }
    this.#buses.set(name, bus);
    await bus.subscribe(PRESENCE, (text) => {
      // What was carried here is heard here, too.
      if ((JSON.parse(text) as { from: string }).from === name) this.#announced(name, text);
    });
  }

  #announced(from: string, text: string): void {
    for (const to of this.#buses.keys()) {
      if (to !== from) void this.#passes(from, to).then((isThere) => isThere && this.#said(to, text));
    }
  }

  #said(to: string, text: string): void {
    try {
      this.#buses.get(to)?.publish(PRESENCE, text);
    } catch {
      this.counts.lost += 1;
    }
  }

  /** Null = the question or its answer did not arrive. */
  async #asked(from: string, to: string, text: string): Promise<string | null> {
    if (this.#isMeddling && this.#random.next() < TWICE) {
      this.counts.twice += 1;
      void this.#carried(from, to, text);
    }
    const answer = await this.#carried(from, to, text);
    return answer !== null && (await this.#passes(to, from)) ? answer : null;
  }

  async #carried(from: string, to: string, text: string): Promise<string | null> {
    if (!(await this.#passes(from, to))) return null;
    const within = { deadlineAt: Date.now() + CARRIED_WITHIN_MS };
    return (
      (await this.#buses
        .get(to)
        ?.request(subjectOf(to), text, within)
        .catch(() => null)) ?? null
    );
  }

  async #passes(from: string, to: string): Promise<boolean> {
    if (this.#isMeddling) {
      if (this.#random.next() < LOSS) {
        this.counts.lost += 1;
        return false;
      }
      this.counts.late += 1;
      await delay(this.#random.int(0, LATE_MS));
    }
    if (this.#side.size > 0 && this.#side.has(from) !== this.#side.has(to)) {
      this.counts.parted += 1;
      return false;
    }
    this.counts.carried += 1;
    return true;
  }
}

const subjectOf = (node: string): string => `svc.x.${node}.agora`;
