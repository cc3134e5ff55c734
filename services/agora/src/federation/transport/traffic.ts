/** Counts what is said between nodes, and audits what was dropped: at once, then now and then with how often. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Rejection, REJECTIONS } from '../domain/envelope.ts';
import type { AgoraUnit } from '../ledgers.ts';
import { addCounts, readCounts } from '../store/peer-rows.ts';

/** The same drop, of the same node, is audited once in this time. */
const AUDITED_EVERY_MS = 60_000;
/** Names that messages claimed and that are audited one by one; what claims another is audited as nobody's. */
const MAX_NAMES = 200;
const NOBODY = '';

interface Drop {
  readonly node: string;
  readonly reason: Rejection;
  count: number;
  auditedAt: number;
}

export interface Counters {
  readonly sent: number;
  readonly received: number;
  readonly accepted: number;
  readonly rejected: Readonly<Record<Rejection, number>>;
}

export class Traffic {
  readonly #now: () => number;
  readonly #drops = new Map<string, Drop>();
  /** Counted, and not written yet. */
  #waiting = new Map<string, number>();
  /** Ends when nobody reads or writes counts. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(now: () => number) {
    this.#now = now;
  }

  sent(): void {
    this.#count('sent', 1);
  }

  accepted(): void {
    this.#count('received', 1);
    this.#count('accepted', 1);
  }

  /** `claimed`: the name in the message, which is true from the signature on; null = it has none. */
  drop(claimed: string | null, reason: Rejection): void {
    this.#count('received', 1);
    this.#count(`rejected.${reason}`, 1);
    const isNamed = this.#drops.size < MAX_NAMES || this.#drops.has(keyOf(claimed ?? NOBODY, reason));
    this.#owe(isNamed ? (claimed ?? NOBODY) : NOBODY, reason, 1);
  }

  /** Writes what was counted since, and audits what is due. What could not be written is counted again. */
  flush(change: (work: (unit: AgoraUnit) => Promise<void>) => Promise<void>): Promise<void> {
    return this.#inTurn(() => this.#flush(change));
  }

  read(client: SqlClient): Promise<Counters> {
    return this.#inTurn(() => this.#read(client));
  }

  async #flush(change: (work: (unit: AgoraUnit) => Promise<void>) => Promise<void>): Promise<void> {
    const counts = this.#waiting;
    const due = this.#takeDue();
    if (counts.size === 0 && due.length === 0) return;
    this.#waiting = new Map();
    try {
      await change(async ({ tx, emit, audit }) => {
        await addCounts(tx, counts);
        for (const { node, reason, count } of due) {
          emit({ name: 'agora:rejected', payload: { node, reason, count } });
          audit({ event: 'node:rejected', workspace: null, data: { node, reason, count } });
        }
      });
    } catch (error) {
      for (const [name, value] of counts) this.#count(name, value);
      for (const { node, reason, count } of due) this.#owe(node, reason, count).auditedAt = -Infinity;
      throw error;
    }
  }

  async #read(client: SqlClient): Promise<Counters> {
    const stored = await readCounts(client);
    const of = (name: string): number => (stored.get(name) ?? 0) + (this.#waiting.get(name) ?? 0);
    const rejected = Object.fromEntries(REJECTIONS.map((reason) => [reason, of(`rejected.${reason}`)]));
    return {
      sent: of('sent'),
      received: of('received'),
      accepted: of('accepted'),
      rejected: rejected as Record<Rejection, number>,
    };
  }

  /** What is being written is neither here nor in the store: whoever read then would see counts fall. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  #count(name: string, more: number): void {
    this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + more);
  }

  #owe(node: string, reason: Rejection, more: number): Drop {
    const key = keyOf(node, reason);
    const drop = this.#drops.get(key) ?? { node, reason, count: 0, auditedAt: -Infinity };
    drop.count += more;
    this.#drops.set(key, drop);
    return drop;
  }

  #takeDue(): Drop[] {
    const now = this.#now();
    const isDue = ({ auditedAt }: Drop): boolean => now - auditedAt >= AUDITED_EVERY_MS;
    const due: Drop[] = [];
    for (const [key, drop] of this.#drops) {
      if (!isDue(drop)) continue;
      if (drop.count === 0) this.#drops.delete(key);
      else {
        due.push({ ...drop });
        Object.assign(drop, { count: 0, auditedAt: now });
      }
    }
    return due;
  }
}

function keyOf(node: string, reason: Rejection): string {
  return `${node} ${reason}`;
}
