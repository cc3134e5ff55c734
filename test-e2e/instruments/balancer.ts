/**
 * A load balancer of the simplest honest kind: it asks /ready, sends each request to one ready backend over a new
 * connection, and tries another backend only when the connection was refused, that is when nothing was sent.
 */
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';

const CHECK_EVERY_MS = 100;
const CHECK_WITHIN_MS = 1000;

export class Balancer implements AsyncDisposable {
  readonly #backends: readonly string[];
  readonly #ready: Set<string>;
  readonly #server: Server;
  readonly #end = new AbortController();
  #next = 0;

  private constructor(backends: readonly string[]) {
    this.#backends = backends;
    this.#ready = new Set(backends);
    this.#server = createServer(
      { keepAliveTimeout: 60_000 },
      (incoming, outgoing) => void this.#take(incoming, outgoing),
    );
    for (const backend of backends) void this.#watch(backend);
  }

  static async start(backends: readonly string[]): Promise<Balancer> {
    const balancer = new Balancer(backends);
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** One check after the other, so that an old answer never overrules a newer one. */
  async #watch(backend: string): Promise<void> {
    while (!this.#end.signal.aborted) {
      await this.#check(backend);
      await delay(CHECK_EVERY_MS);
    }
  }

  async #check(backend: string): Promise<void> {
    try {
      const reply = await request(`${backend}/ready`, { headersTimeout: CHECK_WITHIN_MS });
      await reply.body.dump();
      if (reply.statusCode === 200) this.#ready.add(backend);
      else this.#ready.delete(backend);
    } catch {
      this.#ready.delete(backend);
    }
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const order = this.#order();
    const tryNext = (): void => {
      const backend = order.shift();
      if (backend === undefined) {
        outgoing.writeHead(502).end('no backend');
        return;
      }
      this.#forward(backend, incoming, body, outgoing, (error) => {
        if (error.code === 'ECONNREFUSED') {
          this.#ready.delete(backend);
          tryNext();
        } else if (!outgoing.headersSent) outgoing.writeHead(502).end(`${error.code} ${error.message}`);
        else outgoing.destroy();
      });
    };
    tryNext();
  }

  /** Ready ones in turn, then the others as a last resort. */
  #order(): string[] {
    this.#next += 1;
    const ready = this.#backends.filter((backend) => this.#ready.has(backend));
    const turned = ready.map((_, index) => ready[(index + this.#next) % ready.length] ?? '');
    return [...turned, ...this.#backends.filter((backend) => !this.#ready.has(backend))];
  }

  #forward(
    backend: string,
    { method, url, headers }: IncomingMessage,
    body: Buffer,
    outgoing: ServerResponse,
    failed: (error: NodeJS.ErrnoException) => void,
  ): void {
    const { connection: _connection, host: _host, ...rest } = headers;
    const outward = httpRequest(
      `${backend}${url}`,
      { method, headers: { ...rest, 'content-length': body.length }, agent: false },
      (reply) => {
        const { connection: _close, ...replyHeaders } = reply.headers;
        outgoing.writeHead(reply.statusCode ?? 502, replyHeaders);
        reply.pipe(outgoing);
        reply.once('error', () => outgoing.destroy());
      },
    );
    outward.once('error', failed);
    outward.end(body);
  }
}
