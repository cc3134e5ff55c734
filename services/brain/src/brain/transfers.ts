/**
 * The transfers with remotes that are under way in this process: a few at once, one of a kind at a time, outside every
 * queue. A call waits for its transfer as long as its deadline allows; the transfer goes on without it.
 */
import { CallError } from '@svc/contract/codes.ts';
import { LATE, within } from '@svc/runtime/within.ts';
import { RemoteError } from '../git/remote-error.ts';
import type { TransferWatch } from '../git/spawner.ts';
import type { TransferProgress } from '../git/transfer-output.ts';

export interface TransferWish<Result> {
  /** Whose transfer it is: a brain. */
  readonly owner: string;
  /** Transfers of an owner with the same key follow one another. */
  readonly key: string;
  readonly remote: string;
  /** How long the caller can wait. */
  readonly waitMs: number;
  readonly begin: (watch: Required<TransferWatch>) => Promise<Result>;
}

type Transferred<Result> =
  | { readonly state: 'ended'; readonly result: Result }
  /** It goes on; `end` is how it ends, which may be a failure. */
  | { readonly state: 'under-way'; readonly progress: TransferProgress | null; readonly end: Promise<unknown> }
  /** It had no turn and will have none. */
  | { readonly state: 'crowded' };

interface Running {
  readonly owner: string;
  readonly stop: () => void;
  readonly end: Promise<unknown>;
  readonly progress: () => TransferProgress | null;
}

export class Transfers {
  readonly #slots: Slots;
  readonly #now: () => number;
  readonly #running = new Map<string, Running>();

  /** `now`: ms on a clock that never goes back. */
  constructor(atOnce: number, now: () => number) {
    this.#slots = new Slots(atOnce);
    this.#now = now;
  }

  /** Fails as the transfer does; a remote that is away for the one before is away for this one too. */
  async run<Result>(wish: TransferWish<Result>): Promise<Transferred<Result>> {
    const until = this.#now() + wish.waitMs;
    const key = keyOf(wish);
    for (let other = this.#running.get(key); other !== undefined; other = this.#running.get(key)) {
      const seen = await within(until - this.#now(), other.end.then(isOver, isOverUnlessAway));
      if (seen === LATE) return { state: 'under-way', progress: other.progress(), end: other.end };
    }
    const turn = this.#slots.queue(wish.remote);
    const running = this.#begin(wish, turn);
    const result = await within(until - this.#now(), running.end);
    if (result !== LATE) return { state: 'ended', result };
    if (turn.giveUp()) return { state: 'crowded' };
    return { state: 'under-way', progress: running.progress(), end: running.end };
  }

  /** Ends what is under way for an owner; resolves when nothing of it is left. */
  async stop(owner: string): Promise<void> {
    const ended = [...this.#running.values()].filter((running) => running.owner === owner);
    for (const { stop } of ended) stop();
    await Promise.allSettled(ended.map(({ end }) => end));
  }

  #begin<Result>(wish: TransferWish<Result>, turn: Turn): Running & { readonly end: Promise<Result> } {
    const stopping = new AbortController();
    let last: TransferProgress | null = null;
    const onProgress = (progress: TransferProgress): void => {
      last = progress;
    };
    const work = async (): Promise<Result> => {
      try {
        await turn.come;
        return await wish.begin({ onProgress, signal: stopping.signal });
      } finally {
        this.#running.delete(keyOf(wish));
        turn.end();
      }
    };
    const stop = (): void => {
      if (!turn.giveUp()) stopping.abort();
    };
    const running = { owner: wish.owner, stop, end: work(), progress: () => last };
    running.end.catch(() => undefined); // whoever still waits hears of it
    this.#running.set(keyOf(wish), running);
    return running;
  }
}

function keyOf({ owner, key }: Pick<TransferWish<unknown>, 'owner' | 'key'>): string {
  return `${owner} ${key}`;
}

interface Turn {
  /** Rejects when it was given up. */
  readonly come: Promise<undefined>;
  /** False when the turn has come already. */
  giveUp(): boolean;
  end(): void;
}

/** One remote that hangs leaves room for the others: it gets half of the slots. */
class Slots {
  readonly #atOnce: number;
  readonly #taken = new Map<string, number>();
  #waiting: { readonly remote: string; readonly start: () => void }[] = [];

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  queue(remote: string): Turn {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    let hasStarted = false;
    const start = (): void => {
      hasStarted = true;
      this.#taken.set(remote, (this.#taken.get(remote) ?? 0) + 1);
      resolve(undefined);
    };
    const waiter = { remote, start };
    this.#waiting.push(waiter);
    this.#fill();
    return {
      come: promise,
      giveUp: () => {
        if (hasStarted) return false;
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(new CallError('SERVICE_UNAVAILABLE'));
        return true;
      },
      end: () => {
        if (hasStarted) this.#leave(remote);
      },
    };
  }

  #leave(remote: string): void {
    const left = (this.#taken.get(remote) ?? 1) - 1;
    if (left === 0) this.#taken.delete(remote);
    else this.#taken.set(remote, left);
    this.#fill();
  }

  #fill(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.remote)) continue;
      this.#waiting = this.#waiting.filter((other) => other !== waiter);
      waiter.start();
    }
  }

  #hasRoom(remote: string): boolean {
    const all = Array.from(this.#taken.values()).reduce((sum, count) => sum + count, 0);
    return all < this.#atOnce && (this.#taken.get(remote) ?? 0) < Math.ceil(this.#atOnce / 2);
  }
}

const isOver = (): true => true;

function isOverUnlessAway(error: unknown): true {
  if (error instanceof RemoteError && error.code === 'E_REMOTE_UNREACHABLE') throw error;
  return true;
}
