/** How much of this process each peer may take at once. */
import { type Bucket, draw, fullBucket, PEER_LIMITS } from '../domain/quota.ts';

interface Use {
  bucket: Bucket;
  open: number;
}

export type Quotas = ReturnType<typeof createQuotas>;

export function createQuotas(now: () => number) {
  const uses = new Map<string, Use>();
  return {
    /** Nothing more of it is taken now, whatever it is. */
    isSpent(peer: string): boolean {
      const use = uses.get(peer);
      return use !== undefined && (use.open >= PEER_LIMITS.openRoundTrips || draw(use.bucket, 0, now()) === null);
    },
    /** How to end what begins now; null = it is more than the peer may. Peers are few, so none is forgotten. */
    begin(peer: string, bytes: number): (() => void) | null {
      const use = uses.get(peer) ?? { bucket: fullBucket(now()), open: 0 };
      uses.set(peer, use);
      const left = use.open >= PEER_LIMITS.openRoundTrips ? null : draw(use.bucket, bytes, now());
      if (left === null) return null;
      use.bucket = left;
      use.open += 1;
      return () => {
        use.open -= 1;
      };
    },
  };
}
