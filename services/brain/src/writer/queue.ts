/**
 * The single writer of one branch: calls in order of arrival. Neighbouring file calls are taken together, everything
 * else alone.
 */
import { CallError, Refusal } from '@svc/contract/codes.ts';

export interface QueuedCall<Request, Outcome> {
  readonly request: Request;
  /** Size of what it carries, for the batch limit. */
  readonly bytes: number;
  /** Milliseconds since the epoch; a call that is still waiting then has no effect. */
  readonly deadlineAt: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Task {
  readonly deadlineAt: number;
  run(): Promise<void>;
  reject(error: unknown): void;
}

export const QUEUE_LIMITS = { waiting: 10_000, batchCalls: 256, batchBytes: 8 * 1024 * 1024 } as const;

interface QueueOptions<Request, Outcome> {
  now(): number;
  /** Must settle every call and never throw. */
  runBatch(calls: readonly QueuedCall<Request, Outcome>[]): Promise<void>;
  /** Told of every call that gave up waiting. */
  onAbandoned(): void;
}

type Item<Request, Outcome> = { readonly since: number } & (
  | { readonly call: QueuedCall<Request, Outcome> }
  | { readonly task: Task }
);

export class WriteQueue<Request, Outcome> {
  readonly #options: QueueOptions<Request, Outcome>;
  #waiting: Item<Request, Outcome>[] = [];
  #running: Promise<void> | null = null;

  constructor(options: QueueOptions<Request, Outcome>) {
    this.#options = options;
  }

  /** Joins the next batch. Rejects with E_BUSY when too many wait, TIMEOUT when its time passes while it waits. */
  enqueue(request: Request, bytes: number, deadlineAt: number): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#join({ since: this.#options.now(), call: { request, bytes, deadlineAt, resolve, reject } });
    });
  }

  /** Runs alone, in its turn; rejects as `enqueue` does. */
  alone<Value>(deadlineAt: number, work: () => Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const run = () => work().then(resolve, reject);
      this.#join({ since: this.#options.now(), task: { deadlineAt, reject, run } });
    });
  }

  /** From inside work that runs alone and takes long: takes the file calls that wait by now, and no other work. */
  async letPass(): Promise<void> {
    const others = this.#waiting.filter((item) => !('call' in item));
    this.#waiting = this.#waiting.filter((item) => 'call' in item);
    const live = this.#takeCalls().filter((call) => !this.#isLate(call));
    this.#waiting = [...others, ...this.#waiting];
    if (live.length > 0) await this.#options.runBatch(live);
  }

  /** Resolves when nothing waits or runs any more. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  get depth(): number {
    return this.#waiting.length;
  }

  /** How long the oldest has waited, ms. */
  oldestMs(): number {
    const [first] = this.#waiting;
    return first === undefined ? 0 : this.#options.now() - first.since;
  }

  #join(item: Item<Request, Outcome>): void {
    if (this.#waiting.length >= QUEUE_LIMITS.waiting) {
      throw new Refusal('E_BUSY', { retryAfterMs: 1000 });
    }
    this.#waiting.push(item);
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // calls that arrive in this turn share the first batch
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting;
      if (first !== undefined && 'task' in first) {
        this.#waiting = this.#waiting.slice(1);
        if (!this.#isLate(first.task)) await first.task.run();
        continue;
      }
      const live = this.#takeCalls().filter((call) => !this.#isLate(call));
      if (live.length > 0) await this.#options.runBatch(live);
    }
    this.#running = null;
  }

  #takeCalls(): QueuedCall<Request, Outcome>[] {
    const calls: QueuedCall<Request, Outcome>[] = [];
    let bytes = 0;
    for (const item of this.#waiting) {
      if (!('call' in item) || calls.length >= QUEUE_LIMITS.batchCalls) break;
      if (calls.length > 0 && bytes + item.call.bytes > QUEUE_LIMITS.batchBytes) break;
      bytes += item.call.bytes;
      calls.push(item.call);
    }
    this.#waiting = this.#waiting.slice(calls.length);
    return calls;
  }

  #isLate(waiter: { readonly deadlineAt: number; reject(error: unknown): void }): boolean {
    if (waiter.deadlineAt > this.#options.now()) return false;
    this.#options.onAbandoned();
    waiter.reject(new CallError('TIMEOUT'));
    return true;
  }
}
