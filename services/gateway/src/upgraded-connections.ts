/** Connections that are no HTTP any more: what waits to be sent over them is bounded, and all end with the gateway. */
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * More than what sockets leave waiting, of which each batch is handed on whole. What is above it are answers of the
 * protocol below, which nobody else counts.
 */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
const LOOK_EVERY_MS = 500;

export class UpgradedConnections {
  readonly #open = new Set<Duplex>();
  readonly #timer: NodeJS.Timeout;

  constructor(server: Pick<Server, 'on'>) {
    server.on('upgrade', (_request, connection: Duplex) => {
      this.#open.add(connection);
      connection.once('close', () => this.#open.delete(connection));
    });
    this.#timer = setInterval(() => this.#cutOff(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Also those whose client is gone without a word. */
  endAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #cutOff(): void {
    for (const connection of this.#open) if (connection.writableLength > MAX_UNSENT_BYTES) connection.destroy();
  }
}
