/** Free ports for private servers. */
import { type Socket, createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Below the range from which Linux takes ports for outgoing connections (32768 and up), so that no connection of this
 * machine can take the port of a server that is being restarted.
 */
const LOWEST_PORT = 20_000;
const HIGHEST_PORT = 32_000;
const ATTEMPTS = 200;
const HOST = '127.0.0.1';

/**
 * A server opens its port long after it was chosen, and leaves it free while it starts again. What keeps the other
 * workers of the machine away meanwhile is the UDP port of the same number, held until this process ends.
 */
const claims = new Set<Socket>();

/** A port that nobody listens on and that nobody else is given while this process lives. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT));
    const claim = await claimed(port);
    if (claim === null) continue;
    if (await isFree(port)) {
      claims.add(claim);
      return port;
    }
    claim.close();
  }
  throw new Error(`no free port between ${LOWEST_PORT} and ${HIGHEST_PORT}`);
}

function claimed(port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const claim = createSocket('udp4');
    claim.once('error', () => {
      claim.close();
      resolve(null);
    });
    claim.bind({ port, address: HOST, exclusive: true }, () => resolve(claim.unref()));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: HOST, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
