/** POST /call and POST /mcp/exec, straight on node:http: from the bytes of a request to the bytes of its reply. */
import { isUtf8 } from 'node:buffer';
import { CallError } from '@svc/contract/codes.ts';
import { callErrorOf } from '@svc/contract/rpc.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Admission } from './admission.ts';
import { assertReadable, type Bodies, endAfterDiscarding, isAsGoodAsRead } from './body.ts';
import type { SendCall } from './calls.ts';
import { type DeniedCaller, type Denials, deniedCallerOf, strangerFrom } from './denials.ts';
import { type CallForm, callFormOf, frameResult, type HttpDoor, innerCallOf, replyFormOf } from './domain/call-form.ts';
import { assertBounded } from './domain/json-limits.ts';
import { shownBy, type ToolPredicate } from './domain/profiles.ts';
import { type HttpExchange, failureHeaders, failureText, type ReplyWriter } from './http-exchange.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { headerText } from './header-text.ts';
import { stampOf, type Visit } from './identity.ts';
import type { EnvelopeBuilder } from './envelope-builder.ts';
import type { Ports } from './ports.ts';
import type { ServiceDirectory, ToolRoute } from './service-directory.ts';

export interface DoorParts {
  readonly log: StatelessPlatform['log'];
  readonly admission: Admission;
  readonly bodies: Bodies;
  readonly directory: ServiceDirectory;
  readonly ports: Pick<Ports, 'profilesFor' | 'settings'>;
  readonly buildEnvelope: EnvelopeBuilder;
  readonly sendCall: SendCall;
  readonly metrics: GatewayMetrics;
  readonly denials: Denials;
  readonly writer: ReplyWriter;
}

/** Never rejects. */
export type DoorHandler = (exchange: HttpExchange, door: HttpDoor) => Promise<void>;

/** What is known of a call when it ends. */
interface Tally {
  route: ToolRoute | null;
  code: string;
  visit: Visit | null;
}

export function createDoor(parts: DoorParts): DoorHandler {
  const { admission, bodies, metrics, log, denials, ports } = parts;

  /** False = the client left, and nobody is told anything. */
  async function serve(exchange: HttpExchange, door: HttpDoor, tally: Tally): Promise<boolean> {
    const { request } = exchange;
    admission.assertOrigin(request);
    assertReadable(request);
    // Nothing of the body is taken in before its sender is known and has a request left.
    const visit = await admission.admit(exchange, door === 'call' ? 'refused' : 'as-set', 'call');
    tally.visit = visit;
    const body = await bodies.read(request, visit.identity.bucket);
    if ('gone' in body) return false;
    await perform(parts, exchange, door, body.bytes, visit, tally);
    return true;
  }

  function refuse(exchange: HttpExchange, tally: Tally, error: unknown): void {
    const failure = error instanceof CallError ? error : new CallError('INTERNAL');
    if (failure !== error) log.error({ err: error, requestId: exchange.requestId }, 'the door failed');
    tally.code = failure.code;
    denials.note(callerOf(tally, exchange), tally.route?.card.name ?? NO_TOOL, failure.code, exchange.requestId);
    answerFailure(parts.writer, exchange, failure);
  }

  return async function handle(exchange, door) {
    const tally: Tally = { route: null, code: 'ok', visit: null };
    try {
      if (!(await serve(exchange, door, tally))) return;
    } catch (error) {
      refuse(exchange, tally, error);
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
function answerFailure(writer: ReplyWriter, exchange: HttpExchange, error: CallError): void {
  const { request, response } = exchange;
  if (isAsGoodAsRead(request)) return writer.failure(exchange, error);
  const body = failureText(exchange, error);
  const headers = writer.headersFor(exchange);
  headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(body)));
  response.writeHead(error.status, [...headers, ...failureHeaders(error), 'Connection', 'close']);
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

async function perform(
  { directory, ports, buildEnvelope, sendCall, writer }: DoorParts,
  exchange: HttpExchange,
  door: HttpDoor,
  body: Buffer,
  visit: Visit,
  tally: Tally,
): Promise<void> {
  const form = readCall(exchange, door, body);
  if (form.method === 'tools/list') {
    const profile = headerText(exchange.request.headers, 'x-svc-profile');
    const chosen = visit.identity.token?.limits.profile ?? profile;
    const { text } = directory.lists(chosen, undefined, await ports.profilesFor(chosen, () => stampOf(visit)));
    writer.json(exchange, 200, frameResult(exchange.form, `{"content":${text}}`));
    return;
  }
  const { name, args } = form.name === 'svc_call' ? innerCallOf(form.args) : form;
  const route = directory.route(name);
  if (route === undefined) {
    const profile = visit.identity.token?.limits.profile ?? null;
    throw unknownTool(directory, name, shownBy(profile, await ports.profilesFor(profile, () => stampOf(visit))));
  }
  tally.route = route;
  const call = await buildEnvelope({ card: route.card, args, metaKey: form.metaKey, visit, exchange, door });
  const reply = await sendCall(route, call);
  if (!reply.ok) throw callErrorOf(reply.failure);
  if (reply.refusal !== null) tally.code = reply.refusal;
  writer.json(exchange, 200, frameResult(exchange.form, reply.body), reply.replayed ? REPLAYED : undefined);
}

/** Services announce themselves when they are asked, else every few seconds. */
const RETRY_UNKNOWN_MS = 1000;
const REPLAYED = ['Idempotency-Replayed', 'true'];

function readCall(exchange: HttpExchange, door: HttpDoor, body: Buffer): CallForm {
  const parsed = parseJson(body);
  exchange.form = replyFormOf(parsed, door);
  assertBounded(parsed);
  return callFormOf(parsed, exchange.form);
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new CallError('PARSE_ERROR');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new CallError('PARSE_ERROR');
  }
}

/** While a service has not spoken, nobody can say that there is no such tool. */
function unknownTool(directory: ServiceDirectory, name: string, isShown: ToolPredicate): CallError {
  const missing = directory.missing();
  if (missing.length > 0) {
    const text = `The tools of ${missing.join(', ')} are not known yet.`;
    return new CallError('SERVICE_UNAVAILABLE', text, { retryAfterMs: RETRY_UNKNOWN_MS });
  }
  const nearest = directory.nearest(name, isShown);
  const hint = nearest.length === 0 ? '' : ` Nearest: ${nearest.join(', ')}.`;
  return new CallError('TOOL_NOT_FOUND', `There is no tool ${JSON.stringify(name.slice(0, 100))}.${hint}`);
}
