/** Turns a well-formed call into the envelope that the owning service obeys; nobody else builds one. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import { encodeEnvelope, MAX_HOPS } from '@svc/contract/rpc.ts';
import type { ToolCard } from '@svc/contract/tool.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { OutgoingCall } from './calls.ts';
import { assertActive, assertStaticAccess, assertTokenAllows } from './domain/access.ts';
import type { HttpDoor } from './domain/call-form.ts';
import { headerText } from './header-text.ts';
import { stampOf, type Visit } from './identity.ts';
import type { Ports } from './ports.ts';
import type { SessionKeys } from './session.ts';
import { subjectOf } from './subjects.ts';

/** What a call came with. */
export interface CallSource {
  readonly request: Pick<IncomingMessage, 'headers'>;
  readonly requestId: string;
  /** Under which the caller keeps its current values, as it was sent. */
  readonly sessionName: string | undefined;
  /** Of a call inside of another: the key of the session, and how far inside it is. */
  readonly within?: { readonly session: string; readonly hops: number; readonly only?: 'arguments' | undefined };
}

export interface Wanted {
  readonly card: ToolCard;
  readonly args: Record<string, unknown>;
  /** `_meta.idempotencyKey` as it came. */
  readonly metaKey: unknown;
  /** Goes before the keys that the request names. */
  readonly ownKey?: string | undefined;
  readonly visit: Visit;
  readonly exchange: CallSource;
  readonly door: HttpDoor | 'inner';
}

/** Throws what the door itself refuses: headers that do not fit, the limits of a token, quarantine, static access. */
export type EnvelopeBuilder = (wanted: Wanted) => Promise<OutgoingCall>;

const VISIBLE_KEY = /^[\x21-\x7e]{1,255}$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

interface EnvelopeParts {
  readonly platform: Pick<StatelessPlatform, 'clock' | 'config'>;
  readonly ports: Ports;
  readonly sessions: SessionKeys;
}

export function createEnvelopeBuilder({
  platform: { clock, config },
  ports,
  sessions,
}: EnvelopeParts): EnvelopeBuilder {
  return async function buildEnvelope({ card, args, metaKey, ownKey, visit, exchange, door }) {
    const { identity } = visit;
    const { headers } = exchange.request;
    const session = exchange.within?.session ?? sessions.of(identity.sessionOwner, exchange.sessionName);
    const idempotencyKey = keyOf(ownKey ?? headerText(headers, 'idempotency-key') ?? metaKey);
    const deadlineAt = clock.now() + Math.min(card.deadlineMs, timeoutMs(headerText(headers, 'x-svc-timeout-ms')));
    const traceparent = traceOf(headers);
    const profiles = await ports.profilesFor(identity.token?.limits.profile, () => stampOf(visit));
    assertTokenAllows(identity.token, card, profiles);
    const revision = await visit.revision;
    const agentId = headerText(headers, 'x-svc-agent') ?? config.SVC_AGENT_ID;
    const { subject, quarantined } = await subjectOf(ports, { identity, revision, args, agentId });
    assertActive(quarantined, card);
    assertStaticAccess(card, identity.operator, subject);
    const payload = encodeEnvelope({
      tool: card.name,
      args,
      subject,
      operator: identity.operator,
      token: identity.token?.limits,
      registry: revision?.stamp,
      principal: identity.principal,
      session,
      requestId: exchange.requestId,
      deadlineAt,
      door,
      hops: hopsOf(exchange),
      only: exchange.within?.only,
      traceparent,
      idempotencyKey: card.effect === 'read' ? undefined : idempotencyKey,
    });
    return { payload, deadlineAt, isKeyed: idempotencyKey !== undefined };
  };
}

/** Another node says how many it came through; saying more than is true only takes from oneself. */
function hopsOf({ within, request }: CallSource): number | undefined {
  if (within !== undefined) return within.hops;
  const header = headerText(request.headers, 'x-svc-hops');
  if (header === undefined || header === '0') return undefined;
  if (/^[1-9]\d{0,2}$/.test(header)) return Math.min(Number(header), MAX_HOPS);
  throw new CallError('INVALID_REQUEST', 'x-svc-hops must be a whole number.');
}

function traceOf(headers: IncomingHttpHeaders): string | undefined {
  const traceparent = headerText(headers, 'traceparent');
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

function keyOf(key: unknown): string | undefined {
  if (key === undefined) return undefined;
  if (typeof key === 'string' && VISIBLE_KEY.test(key)) return key;
  throw new CallError('INVALID_REQUEST', 'The idempotency key must be 1-255 visible ASCII characters.');
}

function timeoutMs(header: string | undefined): number {
  if (header === undefined) return Infinity;
  if (/^[1-9]\d{0,8}$/.test(header)) return Number(header);
  throw new CallError('INVALID_REQUEST', 'x-svc-timeout-ms must be a whole number of milliseconds.');
}
