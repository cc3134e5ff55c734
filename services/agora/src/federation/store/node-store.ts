/** The tables of other nodes, each change in one transaction. Nobody calls for it: it is the node itself that does it. */
import type { Decision } from '@svc/contract/decision.ts';
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ServiceStore } from '@svc/runtime/store.ts';
import { afterBeacon, type Beacon, ONLINE_MS } from '../domain/peer.ts';
import type { AgoraUnit } from '../ledgers.ts';
import {
  bindPrincipal,
  configurePrincipal,
  forgetNonces,
  lockPeer,
  type Named,
  ownInstance,
  type PeerRow,
  principalOf,
  releaseConfigured,
  takeLeft,
  writePeer,
} from './peer-rows.ts';

const THE_NODE: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

/** Who may be bound to the name that a beacon claims: nobody but a stranger. */
export type Claim = 'free' | 'taken' | 'unknown';

export type NodeStore = ReturnType<typeof createNodeStore>;

export function createNodeStore(store: ServiceStore<EventIn<typeof AGORA_EVENTS>>) {
  const { client } = store;
  async function change<Value>(work: (unit: AgoraUnit) => Promise<Decision<Value, never>>): Promise<Value> {
    const { decision } = await store.change<Value>(THE_NODE, work);
    if (!decision.ok) throw new Error('a change that denies nothing was denied');
    return decision.value;
  }
  return {
    client,
    change,
    principalOf: (node: string) => principalOf(client, node),
    ownInstance: (self: string, fresh: string) => ownInstance(client, self, fresh),
    /** These, and no others any more. */
    configure: (principals: readonly Named[], now: number) =>
      store.transact(async (tx) => {
        await releaseConfigured(tx, principals);
        for (const named of principals) await configurePrincipal(tx, named, now);
      }),
    forgetNonces: (before: number) => forgetNonces(client, before),
    /** Tells of those that are not heard any more. */
    async tellLeft(now: number): Promise<void> {
      await change(async ({ tx, emit }) => {
        for (const node of await takeLeft(tx, now - ONLINE_MS)) emit({ name: 'agora:left', payload: { node } });
        return { ok: true, value: null };
      });
    },
  };
}

interface HeardBeacon {
  readonly node: string;
  readonly beacon: Beacon;
  readonly ts: number;
  readonly now: number;
  /** Of the agent that the beacon names. */
  readonly claim: Claim;
}

/** What is known of the peer from now on. */
export async function hearBeacon({ tx, emit, audit }: AgoraUnit, heard: HeardBeacon): Promise<PeerRow> {
  const { node, beacon, ts, now, claim } = heard;
  const before = await lockPeer(tx, node);
  const peer = { ...afterBeacon(before, beacon, { ts, now }), isJoined: true };
  await writePeer(tx, peer);
  // One that was silent for long may not have left: only this node could not hear it.
  const isBack = !before.isJoined;
  if (isBack) emit({ name: 'agora:joined', payload: { node } });
  const bound = await principalOf(tx, node);
  const isRefused = bound === null && !(await bindFirst(tx, heard));
  if (isRefused && isBack && claim !== 'unknown') {
    audit({ event: 'node:claim-refused', workspace: null, data: { node, agentId: beacon.agentId } });
  }
  return peer;
}

async function bindFirst(tx: SqlClient, { node, beacon: { agentId }, claim, now }: HeardBeacon): Promise<boolean> {
  return claim === 'free' && bindPrincipal(tx, { node, agentId, isConfigured: false }, now);
}
