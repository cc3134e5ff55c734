/** Another node as this one knows it: when it was heard, whether two of them say that they are it. */

export const BEACON_EVERY_MS = 10_000;
/** Heard within this time = online. */
export const ONLINE_MS = 30_000;

export interface Beacon {
  readonly port: number;
  readonly agentId: string;
  /** Random, made with the node's database: two deployments of one name have two of them. */
  readonly instance: string;
}

/** A peer as it was heard; times of this node's clock. */
export interface HeardPeer {
  readonly node: string;
  readonly port: number | null;
  readonly agentId: string | null;
  readonly instance: string | null;
  readonly seenAt: number | null;
  /** Its clock less ours. */
  readonly skewMs: number | null;
  /** Another instance under the same name, and when it was heard. */
  readonly rival: string | null;
  readonly rivalSeenAt: number | null;
}

export function unheardPeer(node: string): HeardPeer {
  return {
    node,
    port: null,
    agentId: null,
    instance: null,
    seenAt: null,
    skewMs: null,
    rival: null,
    rivalSeenAt: null,
  };
}

export function isOnline({ seenAt }: Pick<HeardPeer, 'seenAt'>, now: number): boolean {
  return seenAt !== null && now - seenAt <= ONLINE_MS;
}

/** Two instances under one name that were both heard a moment ago. */
export function isInConflict({ seenAt, rivalSeenAt }: HeardPeer, now: number): boolean {
  return isOnline({ seenAt }, now) && isOnline({ seenAt: rivalSeenAt }, now);
}

/** What is known after a beacon; one that took the place of another is heard in its stead when that fell silent. */
export function afterBeacon(before: HeardPeer, beacon: Beacon, { ts, now }: { ts: number; now: number }): HeardPeer {
  const { node, instance, seenAt } = before;
  const heard = { node, ...beacon, seenAt: now, skewMs: ts - now };
  if (instance === null || instance === beacon.instance) {
    return { ...heard, rival: before.rival, rivalSeenAt: before.rivalSeenAt };
  }
  return { ...heard, rival: instance, rivalSeenAt: seenAt };
}
