/** Event streams of the Model Context Protocol: long replies that tell when lists and resources changed. */
import { randomUUID } from 'node:crypto';
import type { EventHub } from '../event-hub.ts';
import type { RequestMessage } from '../domain/mcp-results.ts';
import { ALL_LISTS, honouredLists, type ListName, wantedPart } from '../domain/mcp-subscriptions.ts';
import { SUBSCRIPTION_KEY } from '../domain/mcp-wire.ts';
import type { Calling } from '../tool-call.ts';
import type { OpenStream } from './event-stream.ts';
import type { Room } from './room.ts';
import type { SessionNews } from './session-news.ts';
import type { McpSessions } from './sessions.ts';
import { StreamMember } from './stream-member.ts';
import type { StreamRights } from './stream-rights.ts';

export interface McpStreams {
  /** `subscriptions/listen`: acknowledged first, open until either side leaves. */
  listen(message: RequestMessage, calling: Calling): Promise<void>;
  /** The stream of a session of the earlier era; ends with the session. */
  follow(session: string, calling: Calling): Promise<void>;
  /** Ends all streams, each with its result. */
  leave(): void;
}

interface StreamParts {
  readonly room: Pick<Room, 'lists' | 'isResource'>;
  readonly sessions: Pick<McpSessions, 'find' | 'speakThrough'>;
  readonly news: Pick<SessionNews, 'onChanged' | 'changed'>;
  readonly hub: Pick<EventHub, 'join' | 'leave'>;
  readonly rightsOf: (calling: Calling) => Promise<StreamRights>;
  readonly open: OpenStream;
}

const SIGN_OF_LIFE_MS = 20_000;
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

export function createMcpStreams(parts: StreamParts): McpStreams {
  const members = new Set<StreamMember>();
  const keep = keeping(parts, members);
  return {
    async listen(message, calling) {
      const wanted = wantedPart(message, parts.room);
      const rights = await parts.rightsOf(calling);
      const resources = rights.rights.mayRead ? wanted.resources : [];
      const lists = wanted.lists.filter((list) => list !== 'resources' || rights.rights.mayRead);
      const _meta = { [SUBSCRIPTION_KEY]: message.id };
      const bye = { jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', _meta } };
      const named = resources.length === 0 ? {} : { resourceSubscriptions: resources };
      const notifications = { ...honouredLists(lists), ...named };
      const stream = parts.open(calling);
      stream.send({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: { notifications, _meta } });
      if (lists.length === 0 && resources.length === 0) return stream.end(bye);
      const member = new StreamMember(stream, rights, lists, { _meta }, bye);
      member.want(resources);
      keep(member, calling, lists);
    },
    follow: following(parts, keep),
    leave() {
      for (const member of members) member.leave();
    },
  };
}

type Keep = (member: StreamMember, calling: Calling, lists: readonly ListName[], stay?: () => void) => void;

/** Tells of changes and shows life until the client has left. `stay` is called now and then. */
function keeping({ room, hub }: StreamParts, members: Set<StreamMember>): Keep {
  return (member, { exchange }, lists, stay) => {
    const stops = lists.flatMap((list) => room.lists[list]?.(() => member.tellList(list)) ?? []);
    const pulse = setInterval(() => {
      member.stream.comment();
      stay?.();
    }, SIGN_OF_LIFE_MS);
    members.add(member);
    hub.join(member);
    exchange.response.once('close', () => {
      for (const stop of stops) stop();
      clearInterval(pulse);
      hub.leave(member);
      members.delete(member);
    });
  };
}

/** A message of a session goes to one stream: that which was opened last, at whichever gateway. */
function following({ sessions, news, open, rightsOf }: StreamParts, keep: Keep): McpStreams['follow'] {
  return async (session, calling) => {
    const { sessionOwner } = calling.visit.identity;
    const rights = await rightsOf(calling);
    const member = new StreamMember(open(calling), rights, ALL_LISTS, {});
    const stream = randomUUID();
    const isKnown = sessions.speakThrough(session, stream);
    const refresh = (): void => {
      isKnown
        .then(() => sessions.find(session, sessionOwner))
        .then(
          (now) => (now?.stream === stream ? member.want(now.resources) : member.leave()),
          // Not now; it is looked at again after a while.
          () => {},
        );
    };
    const stop = news.onChanged(session, refresh);
    calling.exchange.response.once('close', stop);
    keep(member, calling, ALL_LISTS, refresh);
    // The one that was spoken to until now leaves when it hears of it, and this one hears what it is to tell.
    isKnown.then(
      () => news.changed(session),
      () => member.leave(),
    );
  };
}
