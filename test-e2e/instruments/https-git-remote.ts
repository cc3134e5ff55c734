/** A remote host: `git http-backend` behind https, which wants a token. */
import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from './certificate.ts';
import { keepsSilent, type Manner, spoil } from './slow-remote.ts';

export class HttpsGitRemote {
  readonly certificate: string;
  /** The token that callers must send as the password; changed by scenarios. */
  token: string;
  /** `<method> <path>` of everything that was asked. */
  readonly asked: string[] = [];
  /** `owner/repo` -> how it behaves; others answer at once. */
  readonly manners = new Map<string, Manner>();
  readonly #folder: string;
  readonly #server: Server;

  private constructor(folder: string, token: string) {
    const { key, certificate } = selfSigned();
    this.#folder = folder;
    this.token = token;
    this.certificate = certificate;
    this.#server = createServer({ key, cert: certificate }, (request, response) => this.#answer(request, response));
  }

  static async start(folder: string, token: string): Promise<HttpsGitRemote> {
    const remote = new HttpsGitRemote(folder, token);
    await new Promise<void>((resolve) => remote.#server.listen(0, '127.0.0.1', resolve));
    return remote;
  }

  get url(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'https://localhost');
    this.asked.push(`${request.method} ${request.url}`);
    const password = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
      .toString()
      .split(':')[1];
    if (password !== this.token) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const manner = this.manners.get(
      url.pathname
        .split('/')
        .slice(1, 3)
        .join('/')
        .replace(/\.git$/, ''),
    );
    if (keepsSilent(manner, request.method)) return;
    spoil(response, manner);
    const {
      'content-type': type = '',
      'content-encoding': encoding = '',
      'git-protocol': protocol = '',
    } = request.headers;
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.#folder,
        GIT_HTTP_EXPORT_ALL: '1',
        REMOTE_USER: 'token',
        REMOTE_ADDR: '127.0.0.1',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname.replace(/^\/([^/]+\/[^/]+?)(?:\.git)?\//, '/$1.git/'),
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: type,
        HTTP_CONTENT_ENCODING: encoding,
        GIT_PROTOCOL: String(protocol),
        ...(request.headers['content-length'] === undefined
          ? {}
          : { CONTENT_LENGTH: request.headers['content-length'] }),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    backend.stdin.on('error', () => {});
    request.pipe(backend.stdin);
    relay(backend.stdout, response);
  }
}

/** Header lines, an empty line, the body, as a CGI program writes them. */
function relay(output: NodeJS.ReadableStream, response: ServerResponse): void {
  let head: Buffer | null = Buffer.alloc(0);
  output.on('data', (chunk: Buffer) => {
    if (head === null) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const headers = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      });
    const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name.toLowerCase() !== 'status')),
    );
    response.write(head.subarray(end + 4));
    head = null;
  });
  output.on('end', () => response.end());
}
