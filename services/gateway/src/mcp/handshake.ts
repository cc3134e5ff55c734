/** The revisions of 2025: they begin with `initialize`, and what follows belongs to a session of one principal. */
import { CallError } from '@svc/contract/codes.ts';
import { type Answered, joined, type RequestMessage, type ServerInfo } from '../domain/mcp-results.ts';
import { isAddress, MAX_WANTED_RESOURCES } from '../domain/mcp-subscriptions.ts';
import { INVALID_PARAMS, LEGACY, McpError, MODERN } from '../domain/mcp-wire.ts';
import { headerText } from '../header-text.ts';
import type { Calling } from '../tool-call.ts';
import type { Asked, Methods, Room } from './room.ts';
import type { SessionNews } from './session-news.ts';
import type { McpSession, McpSessions } from './sessions.ts';

export const SESSION_HEADER = 'mcp-session-id';

export interface Handshake {
  /** Opens a session. Throws McpError, SERVICE_UNAVAILABLE. */
  begin(
    message: RequestMessage,
    calling: Calling,
  ): Promise<{ readonly answered: Answered; readonly headers: readonly string[] }>;
  /** Resolves with the name. Throws INVALID_REQUEST without one, NOT_FOUND for one that is none of this principal. */
  sessionOf(calling: Calling): Promise<string>;
  end(session: string): Promise<void>;
  /** What only sessions have. */
  readonly methods: Methods;
}

interface HandshakeParts {
  readonly server: ServerInfo;
  readonly room: Pick<Room, 'capabilities' | 'instructions' | 'isResource'>;
  readonly sessions: McpSessions;
  readonly news: Pick<SessionNews, 'changed'>;
}

const NOTHING: Answered = { members: '' };

export function createHandshake({ server, room, sessions, news }: HandshakeParts): Handshake {
  async function found({ exchange, visit }: Calling): Promise<{ name: string; session: McpSession }> {
    const name = headerText(exchange.request.headers, SESSION_HEADER);
    if (name === undefined) {
      throw new CallError('INVALID_REQUEST', `Send initialize first, or name the revision ${MODERN} in _meta.`);
    }
    const session = await sessions.find(name, visit.identity.sessionOwner);
    if (session === null) throw new CallError('NOT_FOUND', 'There is no such session; send initialize again.');
    return { name, session };
  }

  async function want(asked: Asked, step: (uris: readonly string[], uri: string) => readonly string[]) {
    const { uri } = asked.message.params;
    if (!isAddress(uri) || !room.isResource(uri)) throw new McpError(INVALID_PARAMS, 'uri must be that of a resource.');
    const { name } = await found(asked);
    await sessions.want(name, (uris) => step(uris, uri));
    news.changed(name);
    return NOTHING;
  }

  return {
    async begin({ params }, { visit: { identity } }) {
      const { protocolVersion } = params;
      if (typeof protocolVersion !== 'string')
        throw new McpError(INVALID_PARAMS, 'params.protocolVersion must be a string.');
      const revision = LEGACY.find((known) => known === protocolVersion) ?? LEGACY[0];
      const name = await sessions.open({ principal: identity.sessionOwner, revision }, identity.bucket);
      const members = joined(
        `"protocolVersion":${JSON.stringify(revision)}`,
        `"capabilities":${JSON.stringify(room.capabilities.legacy)}`,
        `"serverInfo":${JSON.stringify(server)}`,
        `"instructions":${JSON.stringify(room.instructions)}`,
      );
      return { answered: { members }, headers: ['Mcp-Session-Id', name] };
    },
    sessionOf: async (calling) => (await found(calling)).name,
    async end(session) {
      await sessions.end(session);
      news.changed(session);
    },
    methods: {
      'resources/subscribe': (asked) => want(asked, withAddress),
      'resources/unsubscribe': (asked) => want(asked, (uris, uri) => uris.filter((each) => each !== uri)),
    },
  };
}

function withAddress(uris: readonly string[], uri: string): readonly string[] {
  if (uris.includes(uri)) return uris;
  if (uris.length < MAX_WANTED_RESOURCES) return [...uris, uri];
  throw new McpError(
    INVALID_PARAMS,
    `A session may subscribe to ${MAX_WANTED_RESOURCES} resources; unsubscribe from one.`,
  );
}
