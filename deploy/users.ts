/** Who uses a node that ends when nobody does: each keeps a connection for as long as it lives, which a kill ends too. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import type { NodeAddress } from './node-address.ts';

export const COUNTED = 'counted\n';
const HOST = '127.0.0.1';
const SECRET_WITHIN_MS = 5000;

export interface Users {
  readonly address: NonNullable<NodeAddress['users']>;
  close(): void;
}

interface Lingering {
  readonly lingerMs: number;
  /** When somebody was connected to the doors last, of `performance.now()`. */
  usedAt(): Promise<number>;
  /** Called once: nobody was there for `lingerMs`, and nobody is counted any more. */
  onDeserted(): void;
}

export async function countUsers({ lingerMs, usedAt, onDeserted }: Lingering): Promise<Users> {
  const secret = randomBytes(16).toString('hex');
  const users = new Set<Socket>();
  let leftAt = performance.now();
  const server = createServer((socket) => {
    takeIn(socket, secret, () => users.add(socket));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      if (users.delete(socket)) leftAt = performance.now();
    });
  });
  await listen(server);

  const close = (): void => {
    clearInterval(watch);
    server.close();
    for (const user of users) user.destroy();
  };
  const watch = setInterval(() => void endWhenDeserted(), Math.min(1000, lingerMs / 4));
  async function endWhenDeserted(): Promise<void> {
    const lastUse = await usedAt();
    // Judged and closed in one turn, so that who was counted is never left alone.
    if (users.size > 0 || performance.now() - Math.max(lastUse, leftAt) < lingerMs || !server.listening) return;
    close();
    onDeserted();
  }

  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return { address: { port, secret }, close };
}

/** Only who could read the address file is counted. */
function takeIn(socket: Socket, secret: string, count: () => void): void {
  const late = setTimeout(() => socket.destroy(), SECRET_WITHIN_MS);
  let said = '';
  const hear = (text: string): void => {
    said += text;
    if (said.length <= secret.length) return;
    clearTimeout(late);
    socket.off('data', hear);
    if (!isSecret(said, `${secret}\n`)) return void socket.destroy();
    socket.resume();
    count();
    socket.write(COUNTED);
  };
  socket.setEncoding('utf8').on('data', hear);
  socket.once('close', () => clearTimeout(late));
}

function isSecret(said: string, secret: string): boolean {
  const [one, other] = [Buffer.from(said), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, HOST, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
