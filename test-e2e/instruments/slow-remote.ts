/** Remotes that fall silent or answer slowly. */
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/**
 * `silent`: answers nothing after the connection is secure. `refs-only`: tells its branches and then nothing.
 * `half`: sends the first half of a pack. `slow`: sends 150 KB a second.
 */
export type Manner = 'silent' | 'refs-only' | 'half' | 'slow';

const SLOW_BYTES = 15_000;
const SLOW_EVERY_MS = 100;

/** True when the request is to stay without an answer. */
export function keepsSilent(manner: Manner | undefined, method: string | undefined): boolean {
  return manner === 'silent' || (manner === 'refs-only' && method === 'POST');
}

/** Makes the answer come as the manner says. */
export function spoil(response: ServerResponse, manner: Manner | undefined): void {
  if (manner === 'half') halve(response);
  if (manner === 'slow') slowDown(response);
}

/** An answer without a pack comes whole. */
function halve(response: ServerResponse): void {
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  let body = Buffer.alloc(0);
  response.write = ((chunk: Buffer) => {
    body = Buffer.concat([body, chunk]);
    return true;
  }) as typeof response.write;
  response.end = (() => {
    const hasPack = body.includes('PACK');
    write(hasPack ? body.subarray(0, body.length / 2) : body);
    return hasPack ? response : end();
  }) as typeof response.end;
}

function slowDown(response: ServerResponse): void {
  const [write, end] = [response.write.bind(response), response.end.bind(response)];
  let waiting = Buffer.alloc(0);
  let isWhole = false;
  const timer = setInterval(() => {
    if (waiting.length > 0) write(waiting.subarray(0, SLOW_BYTES));
    waiting = waiting.subarray(SLOW_BYTES);
    if (!isWhole || waiting.length > 0) return;
    clearInterval(timer);
    end();
  }, SLOW_EVERY_MS);
  response.on('close', () => clearInterval(timer));
  response.write = ((chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    return true;
  }) as typeof response.write;
  response.end = (() => {
    isWhole = true;
    return response;
  }) as typeof response.end;
}

/** A port that takes connections and never says a word. */
export class SilentPort implements AsyncDisposable {
  readonly port: number;
  readonly #close: () => Promise<void>;

  private constructor(port: number, close: () => Promise<void>) {
    this.port = port;
    this.#close = close;
  }

  static async open(): Promise<SilentPort> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new SilentPort((server.address() as AddressInfo).port, async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
