/** Work of one process that must not run at the same time as other work. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs `work` when all earlier work has ended, however it ended. */
export type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>;

export function createTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
}

/** The same, where work under one key does not wait for that under another. */
export type InTurnOf = <Value>(key: string, work: () => Promise<Value>) => Promise<Value>;

export function createTurns(): InTurnOf {
  const turns = new Map<string, { readonly inTurn: InTurn; waiting: number }>();
  return async (key, work) => {
    const turn = turns.get(key) ?? { inTurn: createTurn(), waiting: 0 };
    turns.set(key, turn);
    turn.waiting += 1;
    try {
      return await turn.inTurn(work);
    } finally {
      turn.waiting -= 1;
      if (turn.waiting === 0) turns.delete(key);
    }
  };
}

/** Whoever asks while `work` is under way gets what comes of it. */
export function shareRun<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
}

export interface Repeated {
  /** There is something to do. */
  kick(): void;
  /** Resolves when everything is done that there was to do. */
  flush(): Promise<void>;
}

/** As `repeatWhileWanted`, where a round waits for so long for more to come, unless somebody waits for the end. */
export function repeatGathered(round: () => Promise<void>, gatherMs: number): Repeated {
  return repeatAfter(round, () => gatherMs);
}

/** As `repeatWhileWanted`, where a round begins so long after the end of the last one, unless somebody waits for the end. */
export function repeatSpaced(round: () => Promise<void>, spaceMs: number): Repeated {
  let endedAt = Number.NEGATIVE_INFINITY;
  const spaced = async () => {
    await round();
    endedAt = performance.now();
  };
  return repeatAfter(spaced, () => endedAt + spaceMs - performance.now());
}

function repeatAfter(round: () => Promise<void>, waitMs: () => number): Repeated {
  let waitedFor = 0;
  let hurry = new AbortController();
  const repeated = repeatWhileWanted(round, async () => {
    const ms = waitMs();
    if (waitedFor === 0 && ms > 0) await sleep(ms, undefined, { signal: hurry.signal }).catch(() => {});
  });
  return {
    kick: repeated.kick,
    async flush() {
      waitedFor += 1;
      hurry.abort();
      hurry = new AbortController();
      await repeated.flush();
      waitedFor -= 1;
    },
  };
}

/** Runs `round`, which does not throw, once more whenever it was kicked since it began; never twice at once. `gather` waits for more to come. */
export function repeatWhileWanted(round: () => Promise<void>, gather?: () => Promise<void>): Repeated {
  let isWanted = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (isWanted) {
      await gather?.();
      isWanted = false;
      await round();
    }
    running = null;
  };
  const kick = (): void => {
    isWanted = true;
    running ??= run();
  };
  return {
    kick,
    async flush() {
      kick();
      while (running !== null) await running;
    },
  };
}
