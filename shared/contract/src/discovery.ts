/** How services and gateways find each other: subjects and messages on the bus. */
import type { PositionedEvent } from './events.ts';

export const SUBJECTS = {
  /** Request: an `Envelope` as `encodeEnvelope` (rpc.ts) writes it; reply: a frame of `encodeReply`. Queue group = service name. */
  tool: (service: string, tool: string) => `tool.${service}.${tool}`,
  tools: (service: string) => `tool.${service}.*`,
  /** Message: `Announcement`, at start, every 5 s, and in answer to `who`. */
  announce: 'directory.announce',
  /** Message without content: every service announces itself at once. */
  who: 'directory.who',
  /** Message: `{instance}`; that process is going away. */
  leave: 'directory.leave',
  /** Request without content; reply: `ToolCard[]`. Queue group = service name. */
  cards: (service: string) => `directory.cards.${service}`,
  /** Request without content; reply: `{node, ground}`, where that process stands. Between processes of one service. */
  common: (service: string) => `op.${service}.${service}.common.ground`,
  /** Request without content; reply: `Check[]`. Every instance answers for itself. */
  checks: (service: string) => `directory.checks.${service}`,
  /** Message: `EventBatch`; an empty one every second tells how far the service's events go. */
  events: (service: string) => `event.${service}`,
  allEvents: 'event.*',
  /** Request: `EventsAfter`; reply: `EventPage`. Queue group = service name. */
  eventsAfter: (service: string) => `events.after.${service}`,
} as const;

/** Message between gateways: the name of a session of the Model Context Protocol that was changed or has ended. */
export const MCP_SESSION_CHANGED = 'gateway.mcp-session';

export const ANNOUNCE_EVERY_MS = 5000;
export const STALE_AFTER_MS = 15_000;
export const FORGET_AFTER_MS = 60_000;
/** Calls carry the moment until which they may be answered: clocks further apart than that cost calls. */
export const CLOCKS_DIFFER_MS = 10_000;

export interface Announcement {
  readonly service: string;
  readonly instance: string;
  readonly nodeId: string;
  readonly version: string;
  readonly startedAt: number;
  readonly ready: boolean;
  /** SHA-256 of the service's cards; equal digests need no new fetch. Services without tools have the digest of `[]`. */
  readonly toolsDigest: string;
  readonly host?: string;
  readonly port?: number;
  /** By the clock of its process, ms since the epoch; older versions do not tell. */
  readonly sentAt?: number;
  /** Older versions do not tell. */
  readonly common?: CommonGround;
}

/**
 * By the variables that name or hold it, digests of what all processes of a service need alike: of a secret that takes the
 * place of another one both, of which two processes need one in common.
 */
export type CommonGround = Readonly<Record<string, readonly string[]>>;

/** The variable of the one thing without which nothing that two processes say can both be true. */
export const DATABASE = 'DATABASE_URL';

/**
 * One thing a process looks after. `fail`: it cannot serve without it. `degraded`: something is wrong that concerns one
 * account, brain or tenant, or that it can do without; everybody else is served.
 */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'degraded' | 'fail';
}

export interface EventBatch {
  readonly service: string;
  /** Position of the newest published event; 0 before the first. */
  readonly head: number;
  readonly events: readonly PositionedEvent[];
}

/**
 * `since`: the id of an event of any service. What may have been told after it is answered, and a little of what was told
 * before: services share no order but that of time.
 */
export type EventsAfter =
  | { readonly position: number; readonly limit: number }
  | { readonly id: string; readonly limit: number }
  | { readonly since: string; readonly limit: number };

/**
 * `gone`: the event asked for is older than what is kept, or was never there; of `since`, some that followed may be so.
 * `head`: position of the newest published event; where no events follow, that of what was asked for.
 */
export type EventPage =
  | { readonly head: number; readonly events: readonly PositionedEvent[] }
  | { readonly gone: true };
