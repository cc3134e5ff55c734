/** What the holder of a socket or an event stream may hear, judged anew whenever the registry of identities changed. */
import { ENDED } from '@svc/contract/registry.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Revision } from '@svc/runtime/registry.ts';
import { createTurn } from '@svc/runtime/turns.ts';
import {
  ANONYMOUS_LISTENER,
  type Listener,
  listenerOf,
  listenerOfToken,
  OPERATOR_LISTENER,
} from '@svc/contract/event-visibility.ts';
import { isAllowedBy } from './domain/profiles.ts';
import type { Ports } from './ports.ts';
import { agentSubject } from './subjects.ts';
import type { PresentedToken } from './token-cache.ts';

/** What a socket was opened with; what it is worth is asked again and again. */
export type SocketCredential =
  | { readonly kind: 'token'; readonly token: PresentedToken }
  | { readonly kind: 'operator'; readonly agentId: string | undefined }
  /** Whom a node with a key lets in without one; a stream of the Model Context Protocol can be opened so. */
  | { readonly kind: 'anonymous' };

/** `rev`: the revision under which it was judged. `expiresAt`: by the registry's clock. */
export interface SocketRights {
  readonly listener: Listener;
  /** Whether a profile that the token is held to lets it read files, and so hear of them. */
  readonly mayRead: boolean;
  readonly rev: number;
  readonly expiresAt: number;
}

/** A socket, as far as its rights go. */
export interface RightsHolder {
  readonly credential: SocketCredential;
  rights: SocketRights;
  /** Takes over new rights. */
  grant(rights: SocketRights): void;
  /** The credential is no longer good. */
  expel(): void;
}

/** Null = the credential is not good (any more). Throws SERVICE_UNAVAILABLE. */
export async function rightsOf(
  ports: Ports,
  credential: SocketCredential,
  revision: Revision,
): Promise<SocketRights | null> {
  const { rev } = revision.stamp;
  if (credential.kind === 'anonymous') {
    const isOpen = (await ports.settings.read('mcp.requireKey', revision.stamp)) === false;
    return isOpen ? { ...HELD_TO_NOTHING, listener: ANONYMOUS_LISTENER, rev } : null;
  }
  if (credential.kind === 'token') {
    const verified = await ports.tokens.verify(credential.token, revision);
    if (verified === null) return null;
    const { profile, expiresAt } = verified.limits;
    const set = await ports.profilesFor(profile, async () => revision.stamp);
    return { listener: listenerOfToken(verified), mayRead: isAllowedBy(profile, READING, set), rev, expiresAt };
  }
  if (credential.agentId === undefined) return { ...HELD_TO_NOTHING, listener: OPERATOR_LISTENER, rev };
  const agent = await ports.agentContext(credential.agentId, null, revision.stamp);
  const subject = agentSubject(agent);
  const listener =
    subject === null ? OPERATOR_LISTENER : listenerOf(subject, { roles: agent.roles, accounts: [] }, true);
  return { ...HELD_TO_NOTHING, listener, rev };
}

/** Whoever may not read a file in the ordinary way hears nothing of it. */
const READING = { name: 'brain_read', service: 'brain' };
const HELD_TO_NOTHING = { mayRead: true, expiresAt: Infinity } as const;

/** Of an operator who names no agent; renewed like all others before the first event. */
export const UNCHECKED_OPERATOR: SocketRights = { ...HELD_TO_NOTHING, listener: OPERATOR_LISTENER, rev: -1 };

const RECHECK_EVERY_MS = 1000;
const RECHECKED_AT_ONCE = 64;

type KeeperPlatform = Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;

/** `turn`: who asked later read what is as new or newer. */
interface ReadRevision {
  readonly turn: number;
  readonly revision: Revision;
}

/** `holders`: the sockets that are open now. */
export async function startRightsKeeper(
  platform: KeeperPlatform,
  ports: Ports,
  holders: () => Iterable<RightsHolder>,
): Promise<RightsKeeper> {
  const keeper = new RightsKeeper(platform, ports, holders);
  await keeper.start();
  return keeper;
}

export class RightsKeeper {
  readonly #platform: KeeperPlatform;
  readonly #ports: Ports;
  readonly #holders: () => Iterable<RightsHolder>;
  readonly #inTurn = createTurn();
  #turns = 0;
  /** Of the last who asked and was answered. */
  #newest: ReadRevision | null = null;
  /** What rights were renewed to. */
  #renewed: ReadRevision | null = null;
  /** How far the registry's clock is ahead of this one. */
  #aheadMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #ended: Subscription | null = null;

  constructor(platform: KeeperPlatform, ports: Ports, holders: () => Iterable<RightsHolder>) {
    this.#platform = platform;
    this.#ports = ports;
    this.#holders = holders;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.#recheck(), RECHECK_EVERY_MS);
    this.#timer.unref();
    this.#ended = await this.#platform.bus.subscribe(ENDED, () => void this.#recheck());
  }

  /**
   * What the registry stands at, read after this call began; when it resolves, no socket has rights that are older.
   * Throws SERVICE_UNAVAILABLE. Renewals run one after the other, so that an older answer never replaces a newer one, and
   * one serves all that wait for it: while they take longer than changes take to come, nobody waits for more than two.
   */
  async current(): Promise<Revision> {
    const turn = (this.#turns += 1);
    const read = { turn, revision: await this.#ports.requireRevision() };
    if (this.#newest === null || this.#newest.turn < turn) this.#newest = read;
    return this.#inTurn(() => this.#renewedFor(read));
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#ended?.drain();
  }

  async #renewedFor(read: ReadRevision): Promise<Revision> {
    const isServed = this.#renewed !== null && this.#renewed.turn >= read.turn;
    const aim = (isServed ? this.#renewed : this.#newest) ?? read;
    await this.#renew(aim.revision);
    this.#renewed = aim;
    return aim.revision;
  }

  async #renew(revision: Revision): Promise<void> {
    this.#aheadMs = revision.at - this.#platform.clock.now();
    const due = [...this.#holders()].filter(({ rights }) => rights.rev !== revision.stamp.rev);
    for (let from = 0; from < due.length; from += RECHECKED_AT_ONCE) {
      await Promise.all(due.slice(from, from + RECHECKED_AT_ONCE).map((holder) => this.#renewOne(holder, revision)));
    }
    this.#expelExpired(revision.at);
  }

  async #renewOne(holder: RightsHolder, revision: Revision): Promise<void> {
    const rights = await rightsOf(this.#ports, holder.credential, revision);
    if (rights === null) holder.expel();
    else holder.grant(rights);
  }

  async #recheck(): Promise<void> {
    const [first] = this.#holders();
    if (first === undefined) return;
    try {
      await this.current();
    } catch (error) {
      this.#platform.log.debug({ err: error }, 'the rights of sockets could not be rechecked');
      this.#expelExpired(this.#platform.clock.now() + this.#aheadMs);
    }
  }

  /** Tokens end at their time, also while the registry does not answer. */
  #expelExpired(at: number): void {
    for (const holder of this.#holders()) if (holder.rights.expiresAt <= at) holder.expel();
  }
}
