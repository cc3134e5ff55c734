/** A server by a way on which connections can be made to carry nothing any more, as behind one that has moved. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

interface SilenceableWay {
  readonly url: string;
  /** Of every connection that there is, though it stays open; new ones carry what they should. */
  silence(): void;
  /** Every connection that there is. */
  drop(): void;
  close(): void;
}

export async function silenceable(target: string): Promise<SilenceableWay> {
  const url = new URL(target);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  const way = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  url.port = String((way.address() as AddressInfo).port);
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: url.href,
    silence() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    drop,
    close() {
      drop();
      way.close();
    },
  };
}
