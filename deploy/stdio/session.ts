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
  /** Resolves once it is not being opened anew, whatever came of that. */
  settled(): Promise<void>;
  /** Opens it anew with what it was opened with before; false = there is nothing to open, or it was refused. */
  renew(stale: string | null, signal: AbortSignal): Promise<boolean>;
  /** Its name, or null. */
  name(): string | null;
  /** The files that the client wants to hear of. */
  wanted(): Iterable<string>;
}

const SESSION_HEADER = 'mcp-session-id';

interface OpenSession {
  readonly name: string;
  readonly revision: string;
}

export function createLegacySession(door: Door): LegacySession {
  let open: OpenSession | null = null;
  const said = rememberSaid();
  let renewing: Promise<boolean> | null = null;

  /** The old one stays until the new one is as it was: what is asked with its name is told again that it is gone. */
  async function again(signal: AbortSignal): Promise<boolean> {
    let fresh: OpenSession | null = null;
    for (const message of said.again()) {
      const headers: Record<string, string> = { ...headersOf(message, ''), ...headersIn(fresh) };
      const request = { method: 'POST' as const, body: message.text, headers };
      const read = async (reply: Response) => ({ reply, text: await reply.text() });
      const { reply, text } = await door.exchange({ request, signal, read });
      if (message.method === 'initialize') fresh = reply.ok ? sessionIn(reply, text) : null;
      if (fresh === null) return false;
    }
    open = fresh;
    return true;
  }

  return {
    headers: () => headersIn(open),
    opened(reply, text) {
      open = sessionIn(reply, text) ?? open;
    },
    note: said.note,
    async settled() {
      await renewing?.catch(() => {});
    },
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

function headersIn(session: OpenSession | null): Record<string, string> {
  return session === null ? {} : { [SESSION_HEADER]: session.name, 'mcp-protocol-version': session.revision };
}

/** What the reply to `initialize` opened. */
function sessionIn({ headers }: Response, text: string): OpenSession | null {
  const name = headers.get(SESSION_HEADER);
  const { result } = JSON.parse(text) as { result?: { protocolVersion?: string } };
  return name === null || result?.protocolVersion === undefined ? null : { name, revision: result.protocolVersion };
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
