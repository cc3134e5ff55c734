/** The session of a client of the earlier era: opened by its own `initialize`, and opened again when the node forgot it. */
import type { Door } from './door.ts';
import { type ClientMessage, headersOf } from './message.ts';

export interface LegacySession {
  /** For a request of the session; none before there is one. */
  headers(): Readonly<Record<string, string>>;
  /** Remembers what the client opens its session with, and which files it wants to hear of. */
  note(message: ClientMessage): void;
  /** What the reply to `initialize` said. */
  opened(reply: Response, text: string): void;
  /** Opens it anew with what it was opened with before; false = there is nothing to open. */
  renew(stale: string | null, signal: AbortSignal): Promise<boolean>;
  /** Its name, or null. */
  name(): string | null;
  /** The files that the client wants to hear of. */
  wanted(): Iterable<string>;
}

const SESSION_HEADER = 'mcp-session-id';

export function createLegacySession(door: Door): LegacySession {
  let open: { readonly name: string; readonly revision: string } | null = null;
  const said = rememberSaid();
  let renewing: Promise<boolean> | null = null;

  const headers = (): Record<string, string> =>
    open === null ? {} : { [SESSION_HEADER]: open.name, 'mcp-protocol-version': open.revision };

  function opened(reply: Response, text: string): void {
    const name = reply.headers.get(SESSION_HEADER);
    const { result } = JSON.parse(text) as { result?: { protocolVersion?: string } };
    if (name !== null && result?.protocolVersion !== undefined) open = { name, revision: result.protocolVersion };
  }

  async function again(signal: AbortSignal): Promise<boolean> {
    open = null;
    for (const message of said.again()) {
      const request = {
        method: 'POST' as const,
        body: message.text,
        headers: { ...headersOf(message, ''), ...headers() },
      };
      await door.exchange({
        request,
        signal,
        async read(reply) {
          const text = await reply.text();
          if (message.method === 'initialize' && reply.ok) opened(reply, text);
        },
      });
    }
    return open !== null;
  }

  return {
    headers,
    opened,
    note: said.note,
    async renew(stale, signal) {
      if (said.again().length === 0) return false;
      // Another request has renewed it already.
      if (open !== null && open.name !== stale) return true;
      renewing ??= again(signal).finally(() => (renewing = null));
      return renewing;
    },
    name: () => open?.name ?? null,
    wanted: said.wanted,
  };
}

/** What a session needs to be as it was. */
function rememberSaid() {
  let beginning: readonly ClientMessage[] = [];
  /** URI -> what asked for it. */
  const subscriptions = new Map<string, ClientMessage>();

  function note(message: ClientMessage): void {
    const { method, params } = message;
    const { uri } = params;
    if (method === 'initialize') {
      beginning = [message];
      subscriptions.clear();
    } else if (method === 'notifications/initialized') beginning = [...beginning.slice(0, 1), message];
    else if (method === 'resources/subscribe' && typeof uri === 'string') subscriptions.set(uri, message);
    else if (method === 'resources/unsubscribe' && typeof uri === 'string') subscriptions.delete(uri);
  }

  return {
    note,
    again: (): readonly ClientMessage[] => [...beginning, ...subscriptions.values()],
    wanted: (): Iterable<string> => subscriptions.keys(),
  };
}
