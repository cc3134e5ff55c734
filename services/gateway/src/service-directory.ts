/**
 * Which services are there and which tools they offer, learnt from their announcements.
 * An instance that falls silent is forgotten; the tools of its service stay known, because a caller of a stopped
 * service must hear that nobody answers, not that there is no such tool.
 */
import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { type Announcement, FORGET_AFTER_MS, STALE_AFTER_MS, SUBJECTS } from '@svc/contract/discovery.ts';
import { CallError } from '@svc/contract/codes.ts';
import { isAlike, nearestNames } from '@svc/contract/nearest.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import { BusError, type Subscription } from '@svc/runtime/bus.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createToolIndex, type ToolIndex } from './domain/tool-search.ts';
import type { GatewayMetrics, ToolMeter } from './gateway-metrics.ts';
import { usableCards } from './tool-cards.ts';
import { createToolPages, type ToolPages } from './mcp/tool-pages.ts';
import { createToolLists, type ToolLists } from './tool-list.ts';

export interface ToolRoute {
  readonly card: ToolCard;
  readonly subject: string;
  readonly meter: ToolMeter;
}

export interface Instance extends Announcement {
  readonly lastSeenAt: number;
}

/** Services announce themselves when they are asked, else every few seconds. */
const RETRY_UNKNOWN_MS = 1000;

/** While a service has not spoken, nobody can say that there is no such tool. Throws SERVICE_UNAVAILABLE. */
export function assertAllSpoke(directory: Pick<ServiceDirectory, 'missing'>): void {
  const missing = directory.missing();
  if (missing.length === 0) return;
  const text = `The tools of ${missing.join(', ')} are not known yet.`;
  throw new CallError('SERVICE_UNAVAILABLE', text, { retryAfterMs: RETRY_UNKNOWN_MS });
}

/** Everything that follows from the known tools; replaced as a whole when they change. */
interface Catalog {
  readonly routes: ReadonlyMap<string, ToolRoute>;
  readonly cards: readonly ToolCard[];
  readonly lists: ToolLists;
  readonly pages: ToolPages;
  readonly index: ToolIndex;
}

export interface ServiceDirectory {
  route(tool: string): ToolRoute | undefined;
  /** Names that a misspelt one may mean, of the tools that `isShown` lets through. */
  nearest(tool: string, isShown: (card: ToolCard) => boolean): string[];
  /** Sorted by name. */
  cards(): readonly ToolCard[];
  readonly lists: ToolLists;
  readonly pages: ToolPages;
  readonly index: ToolIndex;
  /** Answers how to stop listening. */
  onToolsChanged(listener: () => void): () => void;
  /** Sorted by service and start; alive or stale. */
  instances(): Instance[];
  isAlive(instance: Instance): boolean;
  /** Names of all services that were ever heard of. */
  services(): string[];
  /** Whether the tools of that service are known. */
  knows(service: string): boolean;
  /** Services that are to be there and have not told their tools yet. */
  missing(): string[];
  close(): Promise<void>;
}

const CARDS_WITHIN_MS = 5000;
const SWEEP_EVERY_MS = 5000;

const CHANGED = 'changed';

interface KnownTools {
  readonly digest: string;
  readonly cards: readonly ToolCard[];
}

type DirectoryPlatform = Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;

export async function startServiceDirectory(
  platform: DirectoryPlatform,
  metrics: GatewayMetrics,
  expectedServices: readonly string[] = [],
): Promise<ServiceDirectory> {
  const { bus } = platform;
  const processes = createInstanceBook(platform.clock);
  const tools = createToolBook(platform, metrics);
  const subscriptions: Subscription[] = [
    await bus.subscribe(SUBJECTS.announce, (payload) => {
      const announcement = JSON.parse(payload) as Announcement;
      processes.saw(announcement);
      if (processes.isNewest(announcement)) tools.offer(announcement);
    }),
    await bus.subscribe(SUBJECTS.leave, (payload) => processes.left(JSON.parse(payload) as ProcessKey)),
  ];
  const askWho = (): void => bus.publish(SUBJECTS.who, '');
  const stopListening = bus.onConnection((connected) => {
    if (connected) askWho();
  });
  if (bus.connected) askWho();
  const sweeper = setInterval(processes.sweep, SWEEP_EVERY_MS);
  sweeper.unref();

  return {
    route: (tool) => tools.catalog().routes.get(tool),
    nearest: (tool, isShown) => meantNames(tool, tools.catalog(), isShown),
    cards: () => tools.catalog().cards,
    get lists() {
      return tools.catalog().lists;
    },
    get pages() {
      return tools.catalog().pages;
    },
    get index() {
      return tools.catalog().index;
    },
    onToolsChanged: tools.onChanged,
    instances: processes.all,
    isAlive: processes.isAlive,
    services: processes.services,
    knows: tools.knows,
    missing: () => expectedServices.filter((service) => !tools.knows(service)),
    async close() {
      clearInterval(sweeper);
      stopListening();
      await Promise.all(subscriptions.map((subscription) => subscription.drain()));
    },
  };
}

const MEANT = 3;
/** Longer ones are no names. */
const LONGEST_WANTED = 100;

/** Names that the wanted one is a misspelling of, then those of tools that do what it says, then the nearest others. */
function meantNames(
  wanted: string,
  { cards, index }: Pick<Catalog, 'cards' | 'index'>,
  isShown: (card: ToolCard) => boolean,
): string[] {
  const nearest = nearestNames(
    wanted,
    cards.filter(isShown).map(({ name }) => name),
    MEANT,
  );
  const misspelt = nearest.filter((name) => isAlike(wanted, name));
  const found = index.find(wanted.slice(0, LONGEST_WANTED), { limit: MEANT, includes: isShown });
  return [...new Set([...misspelt, ...found.map(({ card }) => card.name), ...nearest])].slice(0, MEANT);
}

type ProcessKey = Pick<Announcement, 'service' | 'instance'>;

/** Who was heard of, and when. */
function createInstanceBook(clock: Clock) {
  const instances = new Map<string, Instance>();
  const services = new Set<string>();
  const keyOf = ({ service, instance }: ProcessKey): string => `${service}/${instance}`;
  const isAlive = (instance: Instance): boolean => clock.now() - instance.lastSeenAt < STALE_AFTER_MS;
  return {
    saw(announcement: Announcement): void {
      services.add(announcement.service);
      instances.set(keyOf(announcement), { ...announcement, lastSeenAt: clock.now() });
    },
    left(key: ProcessKey): void {
      instances.delete(keyOf(key));
    },
    sweep(): void {
      for (const [key, { lastSeenAt }] of instances) {
        if (clock.now() - lastSeenAt >= FORGET_AFTER_MS) instances.delete(key);
      }
    },
    /** In a rolling change the newest living instance says which tools a service has. */
    isNewest: ({ service, startedAt }: Announcement): boolean =>
      [...instances.values()].every(
        (other) => other.service !== service || other.startedAt <= startedAt || !isAlive(other),
      ),
    isAlive,
    all: (): Instance[] => [...instances.values()].sort(byServiceAndStart),
    services: (): string[] => [...services].sort(),
  };
}

function byServiceAndStart(a: Instance, b: Instance): number {
  if (a.service !== b.service) return a.service < b.service ? -1 : 1;
  return a.startedAt - b.startedAt || (a.instance < b.instance ? -1 : 1);
}

/** Fetches the cards of each service once per digest. */
function createToolBook({ bus, clock, log }: DirectoryPlatform, metrics: GatewayMetrics) {
  const known = new Map<string, KnownTools>();
  const fetching = new Set<string>();
  const changes = new EventEmitter().setMaxListeners(0);
  let catalog = buildCatalog(known, metrics);

  async function fetchCards({ service, toolsDigest }: Announcement): Promise<void> {
    const reply = await bus.request(SUBJECTS.cards(service), '', {
      deadlineAt: clock.now() + CARDS_WITHIN_MS,
      isRepeatable: true,
    });
    const { cards, problems } = usableCards(service, JSON.parse(reply));
    for (const problem of problems) log.error({ service, problem }, 'a tool is not loaded');
    // Another instance may have answered with other tools: its digest makes the next announcement ask again.
    const digest = hash('sha256', reply, 'hex');
    if (digest !== toolsDigest) log.debug({ service }, 'the cards are of another version');
    known.set(service, { digest, cards });
    catalog = buildCatalog(known, metrics);
    changes.emit(CHANGED);
  }

  function offer(announcement: Announcement): void {
    const { service, toolsDigest } = announcement;
    if (known.get(service)?.digest === toolsDigest || fetching.has(service)) return;
    fetching.add(service);
    fetchCards(announcement)
      .catch((error: unknown) => {
        // It announced itself and went: when it is back it announces itself again.
        if (error instanceof BusError && error.undelivered) return log.debug({ service }, 'a service went away');
        log.warn({ err: error, service }, 'the tools of a service could not be read');
      })
      .finally(() => fetching.delete(service));
  }

  function onChanged(listener: () => void): () => void {
    changes.on(CHANGED, listener);
    return () => changes.off(CHANGED, listener);
  }

  return { offer, onChanged, catalog: () => catalog, knows: (service: string) => known.has(service) };
}

/** Of two services that offer one name, the first by name has it, on every replica. */
function buildCatalog(known: ReadonlyMap<string, KnownTools>, metrics: GatewayMetrics): Catalog {
  const routes = new Map<string, ToolRoute>();
  for (const service of [...known.keys()].sort()) {
    for (const card of known.get(service)?.cards ?? []) {
      if (routes.has(card.name)) continue;
      routes.set(card.name, {
        card,
        subject: SUBJECTS.tool(service, card.name),
        meter: metrics.toolMeter(service, card.name),
      });
    }
  }
  const cards = [...routes.values()].map(({ card }) => card).sort((a, b) => (a.name < b.name ? -1 : 1));
  return { routes, cards, lists: createToolLists(cards), pages: createToolPages(cards), index: createToolIndex(cards) };
}
