/** What a peer may ask of this node in a while: token buckets, filled by the time that passed. */

export const PEER_LIMITS = {
  messagesPerSecond: 50,
  burst: 100,
  bytesPerSecond: 1024 * 1024,
  openRoundTrips: 64,
  /** That it sends; a family here fetches as many. */
  replicas: 1000,
} as const;

/** What is left at `at`. */
export interface Bucket {
  readonly messages: number;
  readonly bytes: number;
  readonly at: number;
}

export function fullBucket(at: number): Bucket {
  return { messages: PEER_LIMITS.burst, bytes: PEER_LIMITS.bytesPerSecond, at };
}

/** Null = that is more than it may. */
export function draw({ messages, bytes, at }: Bucket, size: number, now: number): Bucket | null {
  const seconds = Math.max(0, now - at) / 1000;
  const left = {
    messages: Math.min(PEER_LIMITS.burst, messages + seconds * PEER_LIMITS.messagesPerSecond) - 1,
    bytes: Math.min(PEER_LIMITS.bytesPerSecond, bytes + seconds * PEER_LIMITS.bytesPerSecond) - size,
    at: Math.max(at, now),
  };
  return left.messages < 0 || left.bytes < 0 ? null : left;
}
