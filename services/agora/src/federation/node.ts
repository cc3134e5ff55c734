/** This deployment among others: heard and hearing while it is configured, and silent otherwise. */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { type MeetingBus, openMeetingBus } from '@svc/runtime/bus.between.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createDispatch } from './dispatchers.ts';
import { EVERYBODY } from './domain/envelope.ts';
import { createKeyring, type Keyring } from './domain/keyring.ts';
import { PRESENCE } from './domain/messages.ts';
import type { Beacon } from './domain/peer.ts';
import { identityOf, missingOf, type NodeIdentity } from './domain/settings.ts';
import type { AgoraUnit, Ledgers } from './ledgers.ts';
import { type Claim, createNodeStore, hearBeacon, type NodeStore } from './store/node-store.ts';
import { createAsker, type Asker } from './transport/asker.ts';
import { createOwnDouble, type OwnDouble } from './transport/double.ts';
import { createPeers, type Peers } from './transport/peers.ts';
import { type Presence, startPresence } from './transport/presence.ts';
import { createQuotas } from './transport/quotas.ts';
import { Receiver } from './transport/receiver.ts';
import { createRecentNonces } from './transport/recent-nonces.ts';
import { Traffic } from './transport/traffic.ts';
import { Upkeep } from './transport/upkeep.ts';
import { createSeal, type Seal } from './transport/wire.ts';

const INSTANCE_BYTES = 16;

interface NodeParts {
  readonly platform: Platform;
  readonly store: Parameters<typeof createNodeStore>[0];
  readonly ledgers: Ledgers;
  isMember(owner: string, agentId: string, stamp: RegistryStamp | null): Promise<boolean>;
  /** Whether the registry of this node knows the agent as its own. */
  isLocal(agentId: string): Promise<boolean>;
}

/** What the tools work with. */
export interface FederatedNode {
  readonly missing: readonly string[];
  /** Null while something is missing. */
  readonly member: NodeMember | null;
  /** Hears others, and is heard. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface NodeMember {
  readonly identity: NodeIdentity;
  readonly keyring: Keyring;
  readonly store: NodeStore;
  readonly peers: Peers;
  readonly asker: Asker;
  readonly traffic: Traffic;
  isListening(): boolean;
  /** Another deployment is this node, too. */
  hasDouble(): boolean;
}

export function createNode(parts: NodeParts): FederatedNode {
  const { config } = parts.platform;
  const identity = identityOf(config);
  if (identity === null) {
    return { missing: missingOf(config), member: null, start: async () => {}, close: async () => {} };
  }
  return new Member(parts, identity);
}

class Member implements FederatedNode {
  readonly missing = [];
  readonly member: NodeMember;
  readonly #parts: NodeParts;
  readonly #seal: Seal;
  readonly #receiver: Receiver;
  readonly #upkeep: Upkeep;
  readonly #double: OwnDouble;
  #meeting: MeetingBus | null = null;
  #presence: Presence | null = null;

  constructor(parts: NodeParts, identity: NodeIdentity) {
    const { platform, ledgers, isMember, isLocal } = parts;
    const now = (): number => platform.clock.now();
    const keyring = createKeyring(identity);
    const store = createNodeStore(parts.store);
    const peers = createPeers(identity, store.client, now);
    const traffic = new Traffic(now);
    this.#parts = parts;
    this.#seal = createSeal(keyring, platform);
    this.#double = createOwnDouble({ keyring, client: store.client, log: platform.log, now });
    this.#receiver = new Receiver({
      keyring,
      now,
      store,
      peers,
      quotas: createQuotas(now),
      nonces: createRecentNonces(now),
      traffic,
      seal: this.#seal,
      double: this.#double,
      dispatch: createDispatch({ self: identity.name, ledgers, store, isMember, isLocal }),
      onBeacon: (node, beacon, ts) => this.#onBeacon(node, beacon, ts),
    });
    const [seal, receiver] = [this.#seal, this.#receiver];
    const asker = createAsker({ now, bus: () => this.#meeting?.current() ?? null, seal, receiver, traffic });
    const hears = (): boolean => this.#presence !== null && this.#meeting?.current()?.connected === true;
    this.#upkeep = new Upkeep({ store, peers, traffic, log: platform.log, hears, now });
    const isListening = (): boolean => this.#presence !== null;
    this.member = { identity, keyring, store, peers, asker, traffic, isListening, hasDouble: this.#double.isThere };
  }

  async start(): Promise<void> {
    const { platform } = this.#parts;
    const { identity, store, peers, traffic } = this.member;
    const configured = [...identity.peers.values()].flatMap(({ name: node, agentId }) =>
      agentId === undefined || node === identity.name ? [] : [{ node, agentId }],
    );
    await store.configure(configured, platform.clock.now());
    await peers.refresh();
    const fresh = platform.random.bytes(INSTANCE_BYTES).toString('hex');
    const instance = await store.ownInstance(identity.name, fresh);
    const { name: self, port, agentId } = identity;
    const beacon = () => this.#double.noted(this.#seal(EVERYBODY, PRESENCE, { port, agentId, instance }));
    this.#meeting = await openMeetingBus(platform);
    await this.#meeting.onReached(async (bus) => {
      this.#presence = await startPresence({ bus, receiver: this.#receiver, beacon, self, traffic, log: platform.log });
    });
    this.#upkeep.start();
  }

  async close(): Promise<void> {
    await this.#presence?.close();
    this.#presence = null;
    await this.#upkeep.close();
    await this.#meeting?.close();
  }

  async #onBeacon(node: string, beacon: Beacon, ts: number): Promise<(unit: AgoraUnit) => Promise<void>> {
    const { peers } = this.member;
    const claim = await this.#claimOf(node, beacon.agentId);
    const isNew = !peers.isOnline(node);
    return async (unit) => {
      const now = this.#parts.platform.clock.now();
      peers.heardOf(await hearBeacon(unit, { node, beacon, ts, now, claim }));
      if (isNew) this.#presence?.welcome();
    };
  }

  async #claimOf(node: string, agentId: string): Promise<Claim> {
    const { store, identity } = this.member;
    if ((await store.principalOf(node)) !== null) return 'unknown';
    if (agentId === identity.agentId) return 'taken';
    try {
      return (await this.#parts.isLocal(agentId)) ? 'taken' : 'free';
    } catch {
      return 'unknown';
    }
  }
}
