/** Sessions of the revisions of 2025: names of 128 random bits, each bound to who opened it, forgotten after an idle hour. */
import { randomBytes } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { Shared } from '@svc/runtime/platform.ts';
import { createShelf } from './shelf.ts';

export interface McpSession {
  /** Who opened it: a token that is bound to a workspace has sessions of its own. */
  readonly principal: string;
  /** The revision that was agreed on. */
  readonly revision: string;
  /** Addresses of the resources of whose updates the session wants to hear. */
  readonly resources: readonly string[];
  /** The event stream that is spoken to, the one opened last of all gateways; absent = none was opened yet. */
  readonly stream?: string;
}

export interface McpSessions {
  /**
   * Resolves with its name. `owner` counts for how many there are: it loses its own longest unused one, nobody else's.
   * Throws SERVICE_UNAVAILABLE when there are too many in all.
   */
  open(session: Pick<McpSession, 'principal' | 'revision'>, owner: string): Promise<string>;
  /** Null for a name that is none, or another principal's. Who asks keeps the session for another hour. */
  find(name: string, principal: string): Promise<McpSession | null>;
  /** Gives the session other resources. Null when it has ended. */
  want(name: string, step: (resources: readonly string[]) => readonly string[]): Promise<McpSession | null>;
  /** Makes a stream the one that is spoken to. Null when the session has ended. */
  speakThrough(name: string, stream: string): Promise<McpSession | null>;
  end(name: string): Promise<void>;
  /** How many there are, on all gateways. */
  count(): Promise<number>;
}

const NAME = /^[0-9a-f]{32}$/;
const SESSION_RULES = {
  kind: 'session',
  keptMs: 3_600_000,
  isRenewed: true,
  maxInAll: 100_000,
  maxEach: 1000,
  whenOwnerIsFull: 'forget-its-oldest',
} as const;

export function createMcpSessions(shared: Shared): McpSessions {
  const shelf = createShelf<McpSession>(shared, SESSION_RULES);
  return {
    async open(session, owner) {
      const name = randomBytes(16).toString('hex');
      if (await shelf.put(name, owner, { ...session, resources: [] })) return name;
      throw new CallError('SERVICE_UNAVAILABLE', 'There are too many open sessions.', { retryAfterMs: 1000 });
    },
    async find(name, principal) {
      if (!NAME.test(name)) return null;
      const session = await shelf.get(name);
      return session?.principal === principal ? session : null;
    },
    want: (name, step) => shelf.change(name, (session) => ({ ...session, resources: step(session.resources) })),
    speakThrough: (name, stream) => shelf.change(name, (session) => ({ ...session, stream })),
    end: (name) => shelf.remove(name),
    count: () => shelf.size(),
  };
}
