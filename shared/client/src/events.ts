/** Events as they happen, each once and in order, also across connections that break. */
import { io, type Socket } from 'socket.io-client';
import { type ConnectionOptions, connectionOf } from './connection.ts';
import type { EventPayloads } from './generated/events.ts';
import { wait } from './wait.ts';

export type EventName = keyof EventPayloads;
type AreaOf<Name extends string> = Name extends `${infer Area}:${string}` ? Area : never;
type EventArea = AreaOf<EventName>;
/** A name, or all of an area. */
type EventChoice = EventName | `${EventArea}:*`;
type Chosen<Choice extends EventChoice> = Choice extends EventName
  ? Choice
  : Choice extends `${infer Area}:*`
    ? Extract<EventName, `${Area}:${string}`>
    : never;

/** What an event tells under names that every event has: of the thing, not of the event. */
type Own<Payload> = Pick<Payload, Extract<keyof Payload, 'id' | 'name'>>;

/** Fields that a row rule hides from the listener are masked or absent, whatever the type says. */
export type HeardEvent<Name extends EventName = EventName> = Name extends EventName
  ? {
      /** Opaque; what to resume `after`. */
      readonly id: string;
      readonly name: Name;
      /** Ms since the epoch. */
      readonly at: number;
      /** Process that emitted it. */
      readonly node: string;
      readonly workspace?: string;
      /** Absent where the event tells neither an `id` nor a `name` of its own. */
      readonly own?: Readonly<Own<EventPayloads[Name]>>;
    } & Readonly<Omit<EventPayloads[Name], 'id' | 'name'>>
  : never;

/** As it comes: what an event tells itself hides what all have. */
type SentEvent = Readonly<Record<string, unknown>> & { readonly eventId?: string };

function heardOf(name: string, { eventId, ...sent }: SentEvent): HeardEvent {
  const own = {
    ...(eventId === undefined ? {} : { id: sent['id'] }),
    ...(sent['name'] === name ? {} : { name: sent['name'] }),
  };
  const event = { ...sent, id: eventId ?? sent['id'], name, ...(Object.keys(own).length === 0 ? {} : { own }) };
  return event as unknown as HeardEvent;
}

interface ListenOptions<Choice extends EventChoice> extends Omit<ConnectionOptions, 'session'> {
  /** Default: all that the listener may hear. */
  readonly events?: readonly Choice[] | undefined;
  /** Only events of this workspace. */
  readonly workspace?: string | undefined;
  /** Id of the last event that was dealt with; what came since is heard first. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Must return soon: what it leaves waiting too long ends the connection, and is heard after the next one. */
  onEvent(event: HeardEvent<Chosen<Choice>>): void;
  /** What was missed is not kept any more: read again what you need. Live events follow. */
  onGap?(): void;
  /** The channel itself: lost, made again, slow. It goes on by itself. */
  onChannel?(state: ChannelState): void;
}

export interface ChannelState {
  readonly code: 'CONNECTED' | 'DISCONNECTED' | (string & {});
  readonly message: string;
}

/** The service does not let the listener go on: its credential, its workspace, or what it asked for. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Listening {
  /** Of the last event that was heard; null before the first. */
  lastId(): string | null;
  close(): void;
  /** Resolves when it was closed or its signal given. Throws ListenError. */
  readonly ended: Promise<void>;
}

interface Refusal {
  readonly code?: string;
  readonly retryAfterMs?: number;
}

interface Answer extends Refusal {
  readonly ok: boolean;
  readonly message?: string;
}

const ANSWER_WITHIN_MS = 10_000;
const AGAIN_AFTER_MS = 1000;
/** Events that are known when they come a second time: more than a connection may leave waiting. */
const MAX_KNOWN = 10_000;
/** What repeating does not mend. */
const LASTING = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'VAF_INPUT_INVALID', 'INVALID_REQUEST']);

/** Connects, and again whenever the connection is lost. Throws TypeError for what cannot be an address. */
export function listen<Choice extends EventChoice = EventChoice>(options: ListenOptions<Choice>): Listening {
  const { key, token, signal } = options;
  const { base, headers } = connectionOf(options);
  const { origin, pathname } = new URL(base);
  const auth = token === undefined ? (key === undefined ? {} : { apiKey: key }) : { token };
  const socket = io(origin, {
    path: `${pathname}socket.io`,
    auth,
    // A browser cannot send them; the credential is in `auth`.
    extraHeaders: headers,
    transports: ['websocket'],
    forceNew: true,
    autoConnect: false,
  });
  let lastId = options.after ?? null;
  const ending = new AbortController();
  let end = (_error?: ListenError): void => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => {
      socket.removeAllListeners();
      ending.abort();
      socket.close();
      signal?.removeEventListener('abort', close);
      if (error === undefined) resolve();
      else reject(error);
    };
  });
  const close = (): void => end();
  const heard = (event: HeardEvent, isLast: boolean): void => {
    options.onEvent(event as HeardEvent<Chosen<Choice>>);
    if (isLast) lastId = event.id;
  };
  attend(socket, options, { end: (error) => end(error), ending: ending.signal, lastId: () => lastId, heard });
  if (signal?.aborted === true) close();
  else {
    signal?.addEventListener('abort', close, { once: true });
    socket.connect();
  }
  return { lastId: () => lastId, close, ended };
}

interface Listener {
  end(error: ListenError): void;
  /** Given when nobody listens any more. */
  readonly ending: AbortSignal;
  lastId(): string | null;
  /** `isLast`: all before it were heard. */
  heard(event: HeardEvent, isLast: boolean): void;
}

type Wishes = Pick<ListenOptions<never>, 'workspace' | 'onGap' | 'onChannel'> & {
  readonly events?: readonly string[] | undefined;
};

function attend(socket: Socket, wishes: Wishes, listener: Listener): void {
  const { onGap, onChannel } = wishes;
  const hear = hearing(wishes, listener);
  const again = (afterMs = AGAIN_AFTER_MS): void =>
    void wait(afterMs, listener.ending).then(
      () => socket.connect(),
      () => {},
    );
  const refuse = ({ code = 'INTERNAL', retryAfterMs }: Refusal, message: string): void => {
    if (LASTING.has(code)) return listener.end(new ListenError(code, message));
    onChannel?.({ code, message });
    socket.disconnect();
    again(retryAfterMs);
  };
  const begin = async (): Promise<void> => {
    const answer = await subscribe(socket, wishes, listener.lastId());
    if (answer === null) return void (socket.connected && socket.disconnect().connect());
    if (!answer.ok) return refuse(answer, answer.message ?? 'The service does not take the subscription.');
    hear.begin();
    onChannel?.({ code: 'CONNECTED', message: 'connected' });
  };

  socket.on('connect', () => {
    hear.wait();
    void begin();
  });
  socket.on('connect_error', (error) => {
    // Whom the service turned away is not connected again by the library.
    if (!socket.active) refuse((error as Error & { data?: Refusal }).data ?? {}, error.message);
    else onChannel?.({ code: 'DISCONNECTED', message: error.message });
  });
  socket.on('disconnect', (reason) => {
    onChannel?.({ code: 'DISCONNECTED', message: reason });
    if (reason === 'io server disconnect') again();
  });
  socket.on('error', ({ code = '', message = '' }: Refusal & { message?: string }) => {
    if (code === 'E_EVENT_GONE') onGap?.();
    else if (LASTING.has(code)) listener.end(new ListenError(code, message));
    else onChannel?.({ code, message });
  });
  socket.onAny((name: string, event: SentEvent) => {
    if (name !== 'error') hear.event(heardOf(name, event));
  });
}

/** Null = the connection was lost meanwhile, or is as good as lost. */
async function subscribe(socket: Socket, wishes: Wishes, after: string | null): Promise<Answer | null> {
  const { events, workspace } = wishes;
  const asked = { events, workspace, ...(after === null ? {} : { after }) };
  return socket
    .timeout(ANSWER_WITHIN_MS)
    .emitWithAck('subscribe', asked)
    .then(
      (answer: Answer) => answer,
      () => null,
    );
}

/**
 * On a slow line live events come before the service has heard where to resume, and what was missed after them: they are
 * no place to resume from. These come a second time, and after a resume so may what other services told shortly before.
 */
function hearing({ events, workspace }: Wishes, listener: Listener) {
  const known = new Set<string>();
  let isBegun = false;
  const isWanted = (event: HeardEvent): boolean =>
    (workspace === undefined || event.workspace === workspace) &&
    (events === undefined || events.includes(event.name) || events.includes(`${event.name.split(':')[0]}:*`));
  return {
    wait(): void {
      isBegun = false;
    },
    begin(): void {
      isBegun = true;
    },
    event(event: HeardEvent): void {
      if (known.has(event.id) || !(isBegun || isWanted(event))) return;
      known.add(event.id);
      const [oldest] = known;
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
      listener.heard(event, isBegun || listener.lastId() === null);
    },
  };
}
