/** Every route but the calls: lists, probes, metrics, and typed answers for what is not there. */
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { CallError } from '@svc/contract/codes.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Admission } from './admission.ts';
import { presentedIn } from './credentials.ts';
import { type HttpExchange, failureHeaders, type ReplyWriter } from './http-exchange.ts';
import type { Ports } from './ports.ts';
import type { Readiness } from './readiness.ts';
import type { ServiceDirectory } from './service-directory.ts';

interface HttpParts {
  readonly platform: Pick<StatelessPlatform, 'clock' | 'log' | 'metrics' | 'node'>;
  readonly admission: Admission;
  readonly directory: ServiceDirectory;
  readonly ports: Pick<Ports, 'profilesFor' | 'revision'>;
  readonly readiness: Readiness;
  readonly writer: ReplyWriter;
  readonly corsOrigins: readonly string[] | undefined;
}

type Route = (exchange: HttpExchange, request: Request, response: Response) => Promise<void>;

const TOOLS_PATHS = ['/tools', '/mcp/tools'];
const NO_SUCH_ADDRESS =
  'No such address. Tools are called by POST /call, or over MCP at /mcp; GET /tools lists them, GET /health and GET /ready tell how the node is.';
const PREFLIGHT_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id, traceparent, x-api-key, x-habitat-token, x-request-id, x-svc-agent, x-svc-profile, x-svc-session, x-svc-timeout-ms';

/** What helmet sets on every reply, as names and values in turn, for the door that runs without it. */
export function securityHeaders(): string[] {
  const headers: string[] = [];
  const collector = { setHeader: (name: string, value: string) => headers.push(name, value), removeHeader: () => {} };
  helmet()({} as Request, collector as unknown as Response, () => {});
  return headers;
}

/** `exchangeOf` gives each request its id. */
export function createHttpApp(
  parts: HttpParts,
  exchangeOf: (request: Request, response: Response) => HttpExchange,
): Express {
  const { admission } = parts;
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('strict routing').enable('case sensitive routing');
  const answer =
    (route: Route): RequestHandler =>
    async (request, response) => {
      const exchange = exchangeOf(request, response);
      try {
        await route(exchange, request, response);
      } catch (error) {
        fail(parts, exchange, error);
      }
    };

  app.use(helmet());
  app.options(/.*/, preflight(parts.corsOrigins));
  app.get('/health', answer(health(parts)));
  app.get('/ready', answer(ready(parts)));
  app.get(TOOLS_PATHS, answer(tools(parts)));
  app.get('/metrics', answer(metrics(parts)));
  app.all(['/health', '/ready', '/metrics', ...TOOLS_PATHS], answer(wrongVerb('GET, HEAD')));
  app.all(['/call', '/mcp/exec'], answer(wrongVerb('POST')));
  app.all('/mcp', answer(wrongVerb('POST, GET, DELETE')));
  app.use(
    answer(async (_exchange, request) => {
      admission.assertOrigin(request);
      throw new CallError('NOT_FOUND', NO_SUCH_ADDRESS);
    }),
  );
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    fail(parts, exchangeOf(request, response), error);
  });
  return app;
}

/** Errors outside a call have no JSON-RPC frame. */
function fail({ platform, writer }: HttpParts, exchange: HttpExchange, error: unknown): void {
  const failure = error instanceof CallError ? error : failureOfExpress(error);
  if (failure.code === 'INTERNAL') {
    platform.log.error({ err: error, requestId: exchange.requestId }, 'a route failed');
  }
  const { code, message, details } = failure;
  const body = JSON.stringify({ error: { code, message, data: { requestId: exchange.requestId, ...details } } });
  writer.json(exchange, failure.status, body, failureHeaders(failure));
}

/** Express refuses malformed percent-encoding in an address with a status of its own. */
function failureOfExpress(error: unknown): CallError {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return new CallError(status === 400 ? 'NOT_FOUND' : 'INTERNAL');
}

function health({ platform, admission, writer }: HttpParts): Route {
  return async (exchange, request) => {
    admission.assertProbeOrigin(request);
    const { version } = platform.node;
    writer.json(exchange, 200, JSON.stringify({ status: 'ok', uptime: process.uptime(), version }));
  };
}

function ready({ platform, admission, readiness, writer }: HttpParts): Route {
  return async (exchange, request) => {
    admission.assertProbeOrigin(request);
    const { ready: isReady, checks, degraded } = await readiness.check();
    const status = isReady ? 'ready' : 'not_ready';
    const body = JSON.stringify({ status, degraded, checks, at: platform.clock.now() });
    writer.json(exchange, isReady ? 200 : 503, body);
  };
}

function tools({ admission, directory, ports, writer }: HttpParts): Route {
  return async (exchange, request, response) => {
    admission.assertOrigin(request);
    const visit = await admission.admit(exchange, 'anonymous', 'look');
    const { token } = visit.identity;
    // The profile of a token is authority, any other is a wish.
    const profile = token?.limits.profile ?? single(request.query.profile) ?? single(request.headers['x-svc-profile']);
    // A look is not judged by the registry, unless it names what only the registry knows.
    const revision = () => (token === null ? ports.revision(undefined) : visit.revision);
    const known = ports.profilesFor(profile, async () => (await revision())?.stamp ?? null);
    const { text, etag } = directory.lists(profile, single(request.query.area), await known);
    const headers = ['ETag', etag, 'Cache-Control', 'no-cache'];
    if (!matchesEtag(request.headers['if-none-match'], etag)) return writer.json(exchange, 200, text, headers);
    response.writeHead(304, [...writer.headersFor(exchange), ...headers]).end();
  };
}

function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}

function single(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') return value;
  throw new CallError('INVALID_REQUEST', 'profile and area may be given once.');
}

function metrics({ platform, admission, writer }: HttpParts): Route {
  return async (exchange, request, response) => {
    admission.assertOrigin(request);
    const arrival = { address: exchange.address, nobody: 'refused' as const };
    const { identity } = await admission.identify(presentedIn(request.headers), arrival);
    if (!identity.operator) throw new CallError('FORBIDDEN', 'Metrics are for operators.');
    const { registry } = platform.metrics;
    const text = await registry.metrics();
    const headers = [...writer.headersFor(exchange), 'Content-Type', registry.contentType];
    response.writeHead(200, [...headers, 'Content-Length', String(Buffer.byteLength(text))]).end(text);
  };
}

function wrongVerb(allowed: string): Route {
  return async (_exchange, _request, response) => {
    response.setHeader('Allow', allowed);
    throw new CallError('METHOD_NOT_ALLOWED');
  };
}

/** Browsers of listed origins ask first; nobody else gets an answer to OPTIONS. */
function preflight(origins: readonly string[] | undefined): RequestHandler {
  return (request, response, next) => {
    const { origin } = request.headers;
    if (origin === undefined || origins?.includes(origin) !== true) return next();
    response.writeHead(204, {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': 'GET, HEAD, POST, DELETE',
      'Access-Control-Allow-Headers': PREFLIGHT_HEADERS,
      'Access-Control-Max-Age': '600',
      Vary: 'Origin',
    });
    response.end();
  };
}
