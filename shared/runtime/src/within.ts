/** Waiting for work no longer than there is time. */

export const LATE = Symbol('late');

/** What `work` comes to, or LATE when that takes longer; it goes on, and what comes of it then is told to nobody. */
export async function within<Value>(ms: number, work: Promise<Value>): Promise<Value | typeof LATE> {
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(() => resolve(LATE), Math.max(0, ms));
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
