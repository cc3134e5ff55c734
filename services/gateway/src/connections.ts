/** How many connections a gateway has, in all and from one client, so that nobody takes them from the others. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '@svc/runtime/config.ts';
import { type ClientAddresses, clientNetwork, peerOf } from './client-address.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

export type ConnectionLimits = Pick<Config, 'SVC_MAX_CONNECTIONS' | 'SVC_MAX_CONNECTIONS_PER_ADDRESS'>;

const BODY = JSON.stringify({
  error: { code: 'SERVICE_UNAVAILABLE', message: 'There are too many connections from this address.' },
});
const REFUSAL = [
  'HTTP/1.1 503 Service Unavailable',
  'Content-Type: application/json; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(BODY)}`,
  'Retry-After: 1',
  'Connection: close',
  '',
  BODY,
].join('\r\n');

/** Who comes through a proxy is counted where requests are, because the proxy's connections are everybody's. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  addresses: Pick<ClientAddresses, 'isProxy'>,
  metrics: Pick<GatewayMetrics, 'connections' | 'connectionRefused'>,
): void {
  const perClient = new Tally();
  server.maxConnections = limits.SVC_MAX_CONNECTIONS;
  server.on('drop', () => metrics.connectionRefused('all'));
  server.on('connection', (socket: Socket) => {
    metrics.connections(1);
    const peer = peerOf(socket);
    const client = addresses.isProxy(peer) ? null : clientNetwork(peer);
    if (client !== null) perClient.add(client);
    socket.once('close', () => {
      metrics.connections(-1);
      if (client !== null) perClient.remove(client);
    });
    if (client === null || perClient.of(client) <= limits.SVC_MAX_CONNECTIONS_PER_ADDRESS) return;
    metrics.connectionRefused('address');
    socket.write(REFUSAL);
    socket.destroySoon();
  });
}

/** How many of each there are; forgets who has none. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, amount = 1): void {
    this.#counts.set(key, this.of(key) + amount);
  }

  remove(key: string, amount = 1): void {
    const left = this.of(key) - amount;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}
