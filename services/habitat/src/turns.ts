/** Work on one thing comes in turn within a process, so that whoever waits for it holds no connection meanwhile. */

/** Runs `work` when all earlier work under the same key has ended, however it ended. */
export type Turns = <Value>(key: string, work: () => Promise<Value>) => Promise<Value>;

export function createTurns(): Turns {
  const ends = new Map<string, Promise<void>>();
  return async function inTurn<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const earlier = ends.get(key);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    ends.set(key, end);
    try {
      await earlier;
      return await work();
    } finally {
      resolve();
      if (ends.get(key) === end) ends.delete(key);
    }
  };
}
