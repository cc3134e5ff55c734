/** What the stream that answers a request tells, also when it is asked for again. */
import { isObject } from '@svc/gateway/domain/call-form.ts';
import { ALL_LISTS, honouredLists } from '@svc/gateway/domain/mcp-subscriptions.ts';

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

interface Relay {
  take(line: string): void;
  /** Its result, or why there is none, was told. */
  isAnswered(): boolean;
}

/** For the lines of one request that is answered once. */
export function createRelay(write: (line: string) => void): Relay {
  let isAnswered = false;
  return {
    take(line) {
      write(line);
      isAnswered ||= read(line).method === undefined;
    },
    isAnswered: () => isAnswered,
  };
}

/**
 * For the lines of one request, however often it is sent. The client sees no end of the stream that was lost, nor of one
 * that its node ended when it left, and nobody told what changed meanwhile: where the next one is acknowledged, it is told
 * to read again.
 */
export function createListenRelay(write: (line: string) => void): Relay {
  let [isAcknowledged, isListened, isAnswered] = [false, false, false];
  return {
    take(line) {
      const { method, params } = read(line);
      if (method === undefined && isListened) return;
      if (method === undefined) isAnswered = true;
      if (method !== ACKNOWLEDGED || !isObject(params)) return write(line);
      if (isAcknowledged) for (const notice of noticesOf(params)) write(notice);
      else write(line);
      isAcknowledged = true;
      // What acknowledges nothing is answered at once.
      isListened = isObject(params['notifications']) && Object.keys(params['notifications']).length > 0;
    },
    isAnswered: () => isAnswered,
  };
}

interface Told {
  readonly method?: unknown;
  readonly params?: unknown;
}

function read(line: string): Told {
  return JSON.parse(line) as Told;
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
