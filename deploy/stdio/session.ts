/** The session of a client of the earlier era: opened by its own `initialize`, and opened again when the node forgot it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { retryAfterMs } from '@svc/client/exchange.ts';
import { ANSWER_WITHIN_MS, type Door } from './door.ts';
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
  renew(stale: string | null): Promise<boolean>;
  /** Its name, or null. */
  name(): string | null;
  /** The files that the client wants to hear of. */
  wanted(): Iterable<string>;
}

const SESSION_HEADER = 'mcp-session-id';

/** A limit that is reached, a service that does not answer. */
const NOT_NOW = new Set([429, 503]);
const MAX_SAID = 3;
const SAY_AGAIN_MS = 500;
const SAY_AGAIN_AT_MOST_MS = 10_000;

interface Said {
  readonly reply: Response;
  readonly text: string;
}

interface OpenSession {
  readonly name: string;
  readonly revision: string;
}

/** `signal`: of the end of all; who asked first and cancels does not take the session from the others. */
export function createLegacySession(door: Door, signal: AbortSignal): LegacySession {
  let open: OpenSession | null = null;
  const said = rememberSaid();
  let renewing: Promise<boolean> | null = null;

  /** What is refused for now is said again after a while: nobody else would, and what was subscribed to is not heard of. */
  async function say(message: ClientMessage, to: OpenSession | null): Promise<Said> {
    const headers: Record<string, string> = { ...headersOf(message, ''), ...headersIn(to) };
    const request = { method: 'POST' as const, body: message.text, headers };
    const read = async (reply: Response) => ({ reply, text: await reply.text() });
    for (let count = 1; ; count += 1) {
      const answer = await door.exchange({ request, signal, answerWithinMs: ANSWER_WITHIN_MS, read });
      if (!NOT_NOW.has(answer.reply.status) || count === MAX_SAID) return answer;
      await sleep(pauseMs(answer.reply), null, { signal, ref: false });
    }
  }

  /** The old one stays until the new one is as it was: what is asked with its name is told again that it is gone. */
  async function again(): Promise<boolean> {
    let fresh: OpenSession | null = null;
    for (const message of said.again()) {
      const { reply, text } = await say(message, fresh);
      if (NOT_NOW.has(reply.status))
        throw new Error(
          `the session cannot be opened anew yet: the node answered ${message.method} with ${reply.status}`,
        );
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
    async renew(stale) {
      if (said.again().length === 0) return false;
      // Another request has renewed it already.
      if (open !== null && open.name !== stale) return true;
      renewing ??= again().finally(() => (renewing = null));
      return renewing;
    },
    name: () => open?.name ?? null,
    wanted: said.wanted,
  };
}

function pauseMs({ headers }: Response): number {
  return Math.min(Math.max(retryAfterMs({}, headers) ?? 0, SAY_AGAIN_MS), SAY_AGAIN_AT_MOST_MS);
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
