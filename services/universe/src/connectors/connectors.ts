/** What is outside and can be configured: listed as it stands, and reached on request. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { type OutsideSystem, REACHED_WITHIN_MS, type Reached, type ReachDenial } from '@svc/contract/outside.ts';
import type { Outside } from '../doors-ports.ts';
import { answerWithin } from '../within.ts';
import type { Contact, ContactStore } from './contact-store.ts';
import { type ConnectorState, stateOf } from './domain/connector.ts';
import type { Server, serversOf } from './servers.ts';

interface Connector {
  readonly service: string;
  readonly kind: string;
  readonly configured: boolean;
  readonly missing: readonly string[];
  readonly state: ConnectorState;
  readonly checkedAt: number | null;
}

/** What another room has to reach, such as a node that operators added. */
export interface MoreConnectors {
  list(): Promise<readonly Omit<Connector, 'state' | 'checkedAt'>[]>;
  /** Null = not one of these. */
  reach(service: string): Promise<Decision<Reached, ReachDenial> | null>;
}

export interface Connectors {
  list(): Promise<Connector[]>;
  reach(service: string): Promise<Decision<Reached, ReachDenial | 'E_CONNECTOR_ABSENT'>>;
}

interface ConnectorParts {
  readonly servers: ReturnType<typeof serversOf>;
  readonly outside: Outside;
  readonly contacts: Pick<ContactStore, 'all'>;
  readonly more: MoreConnectors;
  now(): number;
}

/** Of a list; a single attempt takes as long as it may. */
const LISTED_WITHIN_MS = 500;

export function createConnectors({ servers, outside, contacts, more, now }: ConnectorParts): Connectors {
  const { brain, agora } = outside;
  const reachable: Readonly<Record<string, () => Promise<Decision<Reached, ReachDenial>>>> = {
    'remote-host': () => brain.reach({ system: 'remote-host' }),
    postgres: () => reachServer(servers.postgres),
    bus: () => reachServer(servers.bus),
    queue: () => reachServer(servers.queue),
    embedder: () => brain.reach({ system: 'embedder' }),
    peers: () => agora.reach({}),
  };
  return {
    async list() {
      const [ofBrain, ofAgora, ofMore, known] = await Promise.all([
        systemsOf(BRAIN_SYSTEMS, brain.outside({})),
        systemsOf(AGORA_SYSTEMS, agora.outside({})),
        more.list(),
        contacts.all(),
      ]);
      const shown = await Promise.all(Object.values(servers).map((server) => listedServer(server, now)));
      const others = [...ofBrain, ...ofAgora, ...ofMore.map(told)];
      return [...shown, ...others.map((each) => withState(each, known.get(each.one.service)))];
    },
    async reach(service) {
      const reach = Object.hasOwn(reachable, service) ? reachable[service] : undefined;
      return (await (reach === undefined ? more.reach(service) : reach())) ?? deny('E_CONNECTOR_ABSENT');
    },
  };
}

type Listed = Omit<Connector, 'state' | 'checkedAt'>;

/** `isKnown` false = whoever is configured to reach it does not say so now. */
interface Told {
  readonly one: Listed;
  readonly isKnown: boolean;
}

const BRAIN_SYSTEMS = { 'remote-host': 'git', embedder: 'http' } as const;
const AGORA_SYSTEMS = { peers: 'node' } as const;

/** What a service reaches outside, which it alone knows. */
async function systemsOf(
  kinds: Readonly<Record<string, string>>,
  asked: Promise<{ readonly systems: readonly OutsideSystem[] }>,
): Promise<readonly Told[]> {
  try {
    const { systems } = await asked;
    return systems.map(({ name, ...system }) => told({ service: name, ...system }));
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return Object.entries(kinds).map(([service, kind]) => ({
      one: { service, kind, configured: false, missing: [] },
      isKnown: false,
    }));
  }
}

function told(one: Listed): Told {
  return { one, isKnown: true };
}

function withState({ one, isKnown }: Told, contact: Contact | undefined): Connector {
  const state = isKnown ? stateOf(one.configured, contact) : 'unknown';
  return { ...one, state, checkedAt: contact?.checkedAt ?? null };
}

async function listedServer(server: Server, now: () => number): Promise<Connector> {
  const { name, kind, configured, variable } = server;
  const answers = configured
    ? await answerWithin(LISTED_WITHIN_MS, server.probe(LISTED_WITHIN_MS)).then(
        () => true,
        () => false,
      )
    : null;
  return {
    service: name,
    kind,
    configured,
    missing: configured ? [] : [variable],
    state: answers === null ? 'off' : answers ? 'up' : 'down',
    checkedAt: answers === null ? null : now(),
  };
}

async function reachServer({ configured, variable, probe }: Server): Promise<Decision<Reached, ReachDenial>> {
  if (!configured) return deny('E_NOT_CONFIGURED', { missing: [variable] });
  const begunAt = performance.now();
  try {
    const detail = await answerWithin(REACHED_WITHIN_MS, probe(REACHED_WITHIN_MS));
    return allow({ latencyMs: Math.round(performance.now() - begunAt), detail });
  } catch {
    // What a driver says may name addresses and users.
    return deny('E_UNREACHABLE');
  }
}
