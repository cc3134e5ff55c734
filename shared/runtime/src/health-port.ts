/**
 * A small HTTP port of every process: `/health`, `/ready`, `/metrics`, without credentials. It is answered by the process
 * itself, so a hung one does not answer. Whoever reaches it may read how much is done here, never for whom or what.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import type { Check } from '@svc/contract/discovery.ts';
import type { Logger } from 'pino';
import { createServer } from './http-server.ts';
import type { Metrics } from './metrics.ts';
import type { Platform } from './platform.ts';
import { listenProblem } from './start-problem.ts';

export interface HealthPort {
  readonly address: string;
  readonly port: number;
  /** From now on the process is ready while none of these fails. */
  serve(checks: () => Promise<readonly Check[]>): void;
  /** From now on it is not ready. */
  leave(): void;
  close(): Promise<void>;
}

interface HealthPortOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly clock: Platform['clock'];
  readonly node: Platform['node'];
  readonly log: Pick<Logger, 'error'>;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const MAX_CONNECTIONS = 64;
const LIMITS = { maxHeaderSize: 8192, headersTimeout: 2000, requestTimeout: 5000, keepAliveTimeout: 30_000 };
const STARTING: readonly Check[] = [{ name: 'started', status: 'fail' }];
const LEAVING: readonly Check[] = [{ name: 'accepting', status: 'fail' }];

/** Resolves when it listens; throws StartProblem when it cannot. */
export async function openHealthPort(options: HealthPortOptions): Promise<HealthPort> {
  const { host, log } = options;
  let checks = async (): Promise<readonly Check[]> => STARTING;
  const server = createServer(LIMITS, (request, response) => {
    void answer(request, host, options, () => checks())
      .catch((error: unknown): Reply => {
        log.error({ err: error }, 'the health port failed');
        return refusal(500, 'INTERNAL');
      })
      .then((reply) => send(request, response, reply));
  });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(listenProblem(error, { ...options, settings: { host: 'SVC_HEALTH_BIND', port: 'SVC_HEALTH_PORT' } })),
    );
    server.listen(options.port, host, () => resolve((server.address() as AddressInfo).port));
  });
  return {
    address: host,
    port,
    serve(given) {
      checks = given;
    },
    leave() {
      checks = async () => LEAVING;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  { method, url = '', headers }: IncomingMessage,
  host: string,
  { metrics, clock, node }: HealthPortOptions,
  checks: () => Promise<readonly Check[]>,
): Promise<Reply> {
  if (isBrowser(headers, host)) return refusal(403, 'FORBIDDEN');
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'METHOD_NOT_ALLOWED');
  switch (url.split('?', 1)[0]) {
    case '/health': {
      const alive = { status: 'ok', uptime: process.uptime(), version: node.version };
      return { status: 200, type: JSON_TYPE, body: JSON.stringify(alive) };
    }
    case '/ready': {
      const found = await checks();
      const isReady = found.every(({ status }) => status !== 'fail');
      const body = JSON.stringify({ status: isReady ? 'ready' : 'not_ready', checks: found, at: clock.now() });
      return { status: isReady ? 200 : 503, type: JSON_TYPE, body };
    }
    case '/metrics':
      return { status: 200, type: metrics.registry.contentType, body: await metrics.registry.metrics() };
    default:
      return refusal(404, 'NOT_FOUND');
  }
}

/** A page in a browser on this machine gets nothing, under whatever name it found the way here. */
function isBrowser({ origin, host = '' }: IncomingMessage['headers'], bound: string): boolean {
  if (origin !== undefined) return true;
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return isLoopback(bound) && isIP(name) === 0 && name !== 'localhost';
}

function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address.startsWith('127.');
}

function refusal(status: number, code: string): Reply {
  return { status, type: JSON_TYPE, body: JSON.stringify({ error: { code } }) };
}

function send({ method }: IncomingMessage, response: ServerResponse, { status, type, body }: Reply): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  response.end(method === 'HEAD' ? undefined : body);
}
