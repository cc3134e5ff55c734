/** An https server with a certificate of its own, for the tests of this folder. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const KEY = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'cert.pem', '-days', '2'];
const NAMES = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];

export class TestHost {
  handler: RequestListener = (_, response) => response.writeHead(404).end();
  readonly #folder: string;
  readonly #server: Server;

  private constructor(folder: string, key: Buffer, cert: Buffer) {
    this.#folder = folder;
    this.#server = createServer({ key, cert }, (request, response) => this.handler(request, response));
  }

  static async start(): Promise<TestHost> {
    const folder = await mkdtemp(join(tmpdir(), 'brain-tls-'));
    execFileSync('openssl', [...KEY, ...NAMES], { cwd: folder, stdio: 'ignore' });
    const host = new TestHost(
      folder,
      await readFile(join(folder, 'key.pem')),
      await readFile(join(folder, 'cert.pem')),
    );
    await new Promise<void>((resolve) => {
      host.#server.listen(0, '127.0.0.1', resolve);
    });
    return host;
  }

  get origin(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  get certificateFile(): string {
    return join(this.#folder, 'cert.pem');
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Serves the repositories below `folder` by `git http-backend`; the body is sent at once. */
export function serveRepositories(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
  send: (body: Buffer) => void = (body) => response.end(body),
): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      REMOTE_USER: 'someone',
    },
  });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.on('close', () => {
    const whole = Buffer.concat(chunks);
    const split = whole.indexOf('\r\n\r\n');
    for (const line of whole.toString('latin1', 0, split).split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    send(whole.subarray(split + 4));
  });
}
