/** Clients of the event channel, which keep what they hear. */
import { io, type Socket } from 'socket.io-client';
import { KEY } from './platform.ts';

export interface Client {
  readonly socket: Socket;
  /** Numbers of the files, of the holds or of the work, of the events heard, in order. */
  readonly heard: number[];
  readonly payloads: Record<string, unknown>[];
  readonly errors: { readonly code: string }[];
  readonly endings: string[];
  ask(message: string, body?: unknown): Promise<Record<string, unknown>>;
}

export interface Opening {
  readonly url: string;
  readonly auth?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly query?: Record<string, string>;
  /** Runs as soon as it is connected, before anything else. */
  readonly first?: (socket: Socket) => void;
}

export function openClient({ url, auth = { apiKey: KEY }, headers = {}, query = {}, first }: Opening): Client {
  const socket = io(url, {
    auth,
    extraHeaders: headers,
    query,
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
  });
  const client: Client = {
    socket,
    heard: [],
    payloads: [],
    errors: [],
    endings: [],
    ask: (message, body) => socket.emitWithAck(message, body ?? {}) as Promise<Record<string, unknown>>,
  };
  if (first !== undefined) socket.on('connect', () => first(socket));
  const keep = (event: Record<string, unknown>, name: unknown): void => {
    client.payloads.push(event);
    client.heard.push(Number(/\d+/.exec(String(name))?.[0]));
  };
  socket.on('brain:change', (event: { file: string }) => keep(event, event.file));
  socket.on('escrow:held', (event: { holdId: string }) => keep(event, event.holdId));
  socket.on('stream:enqueued', (event: { id: string }) => keep(event, event.id));
  socket.on('error', (error: { code: string }) => client.errors.push(error));
  socket.on('disconnect', (reason) => client.endings.push(reason));
  return client;
}

export async function connectedClient(opening: Opening): Promise<Client> {
  const client = openClient(opening);
  await new Promise<void>((resolve, reject) => {
    client.socket.on('connect', resolve);
    client.socket.on('connect_error', reject);
  });
  return client;
}
