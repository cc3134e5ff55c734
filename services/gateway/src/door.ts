/** The doors for calls, straight on node:http: from the bytes of a request to the bytes of its reply, in any protocol. */
import { CallError } from '@svc/contract/codes.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Admission } from './admission.ts';
import { assertReadable, type Bodies, endAfterDiscarding, isAsGoodAsRead } from './body.ts';
import { type DeniedCaller, type Denials, deniedCallerOf, strangerFrom } from './denials.ts';
import type { HttpDoor } from './domain/call-form.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { HttpExchange, ReplyWriter } from './http-exchange.ts';
import { stampOf } from './identity.ts';
import type { Ports } from './ports.ts';
import { sessionNameIn } from './session.ts';
import type { Calling, Tally } from './tool-call.ts';

/** What is said through a door, and how. */
export interface Protocol {
  /** Answers the request. Throws CallError. */
  perform(body: Buffer, calling: Calling): Promise<void>;
  /** A request without a body; absent = only POST is taken. */
  performBare?(calling: Calling): Promise<void>;
  failure(exchange: HttpExchange, error: CallError): FailureReply;
}

export interface FailureReply {
  readonly status: number;
  readonly body: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
}

export interface DoorParts {
  readonly log: StatelessPlatform['log'];
  readonly admission: Admission;
  readonly bodies: Bodies;
  readonly ports: Pick<Ports, 'settings'>;
  readonly protocols: Readonly<Record<HttpDoor, Protocol>>;
  readonly metrics: GatewayMetrics;
  readonly denials: Denials;
  readonly writer: ReplyWriter;
}

/** Never rejects. */
type DoorHandler = (exchange: HttpExchange, door: HttpDoor) => Promise<void>;

export function createDoor(parts: DoorParts): DoorHandler {
  const { admission, bodies, metrics, log, denials, ports, protocols } = parts;

  /** False = the client left, and nobody is told anything. */
  async function serve(exchange: HttpExchange, door: HttpDoor, tally: Tally): Promise<boolean> {
    const { request } = exchange;
    const protocol = protocols[door];
    const isBare = request.method !== 'POST' && protocol.performBare !== undefined;
    exchange.sessionName = sessionNameIn(request.headers, door);
    admission.assertOrigin(request);
    if (!isBare) assertReadable(request);
    // Nothing of the body is taken in before its sender is known and has a request left.
    const nobody = door === 'call' ? 'refused' : 'as-set';
    const visit = await admission.admit(exchange, nobody, 'call');
    tally.visit = visit;
    if (isBare) {
      await protocol.performBare?.({ exchange, door, visit, tally });
      return true;
    }
    const wasThere = request.complete;
    const body = await bodies.read(request, visit.identity.bucket);
    if ('gone' in body) return false;
    // Who kept it back may have lost meanwhile what it was admitted with.
    if (!wasThere) tally.visit = await admission.readmit(exchange, nobody);
    await protocol.perform(body.bytes, { exchange, door, visit: tally.visit, tally });
    return true;
  }

  function refuse(exchange: HttpExchange, door: HttpDoor, tally: Tally, error: unknown): void {
    const failure = error instanceof CallError ? error : new CallError('INTERNAL');
    if (failure !== error) log.error({ err: error, requestId: exchange.requestId }, 'the door failed');
    tally.code = failure.code;
    tally.failed = true;
    answerFailure(parts.writer, exchange, protocols[door].failure(exchange, failure));
  }

  return async function handle(exchange, door) {
    const tally: Tally = { route: null, code: 'ok', failed: false, visit: null };
    try {
      if (!(await serve(exchange, door, tally))) return;
    } catch (error) {
      refuse(exchange, door, tally, error);
    }
    if (tally.failed) {
      denials.note(callerOf(tally, exchange), tally.route?.card.name ?? NO_TOOL, tally.code, exchange.requestId);
    }
    const tookMs = performance.now() - exchange.startedAt;
    const meter = tally.route?.meter ?? metrics.unknownTool;
    meter.counted(tally.code, door);
    meter.took(tookMs / 1000);
    const stamp = tally.visit === null ? null : await stampOf(tally.visit);
    if (await ports.settings.read('gateway.logCalls', stamp)) log.info(lineOf(exchange, door, tally, tookMs), 'call');
  };
}

/** A connection on which much may still come is closed, after some of it was dropped. */
function answerFailure(writer: ReplyWriter, exchange: HttpExchange, { status, body, headers }: FailureReply): void {
  const { request, response } = exchange;
  if (isAsGoodAsRead(request)) return writer.json(exchange, status, body, headers);
  const all = writer.headersFor(exchange);
  all.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(body)));
  response.writeHead(status, [...all, ...headers, 'Connection', 'close']);
  endAfterDiscarding(request, response, body);
}

function lineOf({ requestId, address }: HttpExchange, door: HttpDoor, tally: Tally, tookMs: number): object {
  const { visit, route, code } = tally;
  const principal = visit?.identity.principal ?? `anon:${address}`;
  return { requestId, door, principal, tool: route?.card.name ?? NO_TOOL, code, ms: Math.round(tookMs * 10) / 10 };
}

const NO_TOOL = 'none';

function callerOf({ visit }: Tally, exchange: HttpExchange): DeniedCaller {
  return visit === null ? strangerFrom(exchange.address) : deniedCallerOf(visit.identity);
}
