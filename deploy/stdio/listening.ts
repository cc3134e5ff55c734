/** What a stream of the newer era tells, also when it is asked for again. */
import { isObject } from '@svc/gateway/domain/call-form.ts';
import { ALL_LISTS, honouredLists } from '@svc/gateway/domain/mcp-subscriptions.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

interface ListenRelay {
  take(line: string): void;
  /** Its result was told. */
  isAnswered(): boolean;
}

/**
 * For the lines of one request, however often it is sent. The client sees no end of the stream that was lost, and nobody
 * told what changed meanwhile: where the next one is acknowledged, it is told to read again.
 */
export function createListenRelay(write: (line: string) => void): ListenRelay {
  let [isAcknowledged, isAnswered] = [false, false];
  return {
    take(line) {
      const told = JSON.parse(line) as { readonly method?: unknown; readonly params?: unknown };
      if (told.method === undefined) isAnswered = true;
      if (told.method !== ACKNOWLEDGED || !isObject(told.params)) return write(line);
      if (isAcknowledged) for (const notice of noticesOf(told.params)) write(notice);
      else write(line);
      isAcknowledged = true;
    },
    isAnswered: () => isAnswered,
  };
}

/** Of all that was acknowledged. */
function noticesOf({ notifications, _meta }: Readonly<Record<string, unknown>>): string[] {
  if (!isObject(notifications)) return [];
  const { resourceSubscriptions } = notifications;
  const uris: readonly unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : [];
  const lists = ALL_LISTS.filter((list) => Object.keys(honouredLists([list])).every((name) => notifications[name]));
  return [
    ...lists.map((list) => notice(`notifications/${list}/list_changed`, { _meta })),
    ...uris.map((uri) => notice('notifications/resources/updated', { uri, _meta })),
  ];
}

function notice(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
