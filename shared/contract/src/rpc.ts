/** What crosses the bus: the envelope of a call, which the gateway alone builds, and the frame of its reply. */
import { z } from 'zod';
import { CALL_ERRORS, CallError, type CallErrorCode, LateCall } from './codes.ts';
import { RegistryStamp, TokenLimits } from './registry.ts';
import { Subject } from './subject.ts';

/** Who calls, under which limits, and what the registry stood at: the same from call to call until one of them changes. */
const EnvelopeCaller = z.strictObject({
  subject: Subject,
  operator: z.boolean(),
  /** The token the call was made with, as the registry knows it; operator status is suspended beside one. */
  token: TokenLimits.optional(),
  /** What the registry of identities stood at when this request began; absent when it did not answer. */
  registry: RegistryStamp.optional(),
  /** Credential owner: `tok:<agentId>`, `key:<id>`, `local` or `anon:<address>`. */
  principal: z.string().min(1).max(200),
  /** SHA-256 of principal and session header; every "current" value hangs on it. */
  session: z.string().regex(/^[0-9a-f]{64}$/),
});
type EnvelopeCaller = Readonly<z.output<typeof EnvelopeCaller>>;

/** So many calls may stand behind a call that came out of another one. */
export const MAX_HOPS = 8;

/** What is called, and by when. `deadlineAt` in ms since the epoch. */
const EnvelopeCall = z.strictObject({
  tool: z.string().min(1).max(100),
  args: z.record(z.string(), z.unknown()),
  requestId: z.string().min(1).max(64),
  traceparent: z.string().max(100).optional(),
  deadlineAt: z.number(),
  idempotencyKey: z.string().min(1).max(255).optional(),
  /** `inner`: a service asked for it in the name of a caller. */
  door: z.enum(['call', 'exec', 'mcp', 'socket', 'inner']),
  hops: z.int().min(1).max(MAX_HOPS).optional(),
  /** Only whether the arguments fit; nothing is done. */
  only: z.literal('arguments').optional(),
});

/** A call on its way to the service that owns the tool. */
export type Envelope = EnvelopeCaller & Readonly<z.output<typeof EnvelopeCall>>;

/** Two lines of JSON, so that whoever reads many knows the caller's line again: who calls, and what. */
export function encodeEnvelope({ subject, operator, token, registry, principal, session, ...call }: Envelope): string {
  return `${JSON.stringify({ subject, operator, token, registry, principal, session })}\n${JSON.stringify(call)}`;
}

const REMEMBERED_CALLERS = 1000;

/** Checks every envelope strictly, each caller's line once while it is remembered. Throws for whatever is none. */
export function createEnvelopeDecoder(): (payload: string) => Envelope {
  const callers = new Map<string, EnvelopeCaller>();

  function callerOf(line: string): EnvelopeCaller {
    const known = callers.get(line);
    if (known !== undefined) return known;
    const caller = frozen(EnvelopeCaller.parse(JSON.parse(line)));
    if (callers.size >= REMEMBERED_CALLERS) callers.clear();
    // A copy, because a part of a text keeps the whole of it in memory.
    callers.set(Buffer.from(line).toString(), caller);
    return caller;
  }

  return (payload) => {
    const end = payload.indexOf('\n');
    return { ...callerOf(payload.slice(0, end)), ...EnvelopeCall.parse(JSON.parse(payload.slice(end + 1))) };
  };
}

/** Deeply, because all calls of a caller share it. */
function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(value);
}

export interface CallFailure {
  readonly code: CallErrorCode;
  readonly message: string;
  readonly status: number;
  readonly data: Record<string, unknown>;
  /** Of a `LateCall`: whoever still waits for it may send it again. */
  readonly late?: true | undefined;
}

/** `body` is the JSON text of the call's `result` member; `code` is the refusal inside it, if it is one. */
export type Reply =
  | { readonly ok: true; readonly body: string; readonly replayed: boolean; readonly refusal: string | null }
  | { readonly ok: false; readonly failure: CallFailure };

/**
 * Frame: a status line, a newline, the body. The body stays text from the service to the socket, so that a reply is
 * never parsed on its way and a replayed one is byte-equal.
 */
export function encodeReply(reply: Reply): string {
  if (!reply.ok) return `error\n${JSON.stringify(reply.failure)}`;
  return `${reply.replayed ? 'replayed' : 'result'}${reply.refusal === null ? '' : ` ${reply.refusal}`}\n${reply.body}`;
}

export function decodeReply(frame: string): Reply {
  const end = frame.indexOf('\n');
  const status = frame.slice(0, end);
  const body = frame.slice(end + 1);
  if (status === 'error') return { ok: false, failure: JSON.parse(body) as CallFailure };
  const [kind, refusal = null] = status.split(' ');
  if (kind !== 'result' && kind !== 'replayed') throw new Error('a reply without a status line');
  return { ok: true, body, replayed: kind === 'replayed', refusal };
}

export function failureOf(error: CallError): CallFailure {
  const { code, message, status, details } = error;
  const entry: { readonly status: number; readonly meaning: string; readonly hint?: string } = CALL_ERRORS[code];
  const saysMore = message !== entry.meaning || status !== entry.status;
  const hint = entry.hint === undefined || saysMore ? {} : { hint: entry.hint };
  const late = error instanceof LateCall ? { late: true as const } : {};
  return { code, message, status, data: { ...hint, ...details }, ...late };
}

/** The other direction of `failureOf`, for a service that asked another one. */
export function callErrorOf(failure: CallFailure): CallError {
  if (failure.late) return new LateCall();
  const code: CallErrorCode = Object.hasOwn(CALL_ERRORS, failure.code) ? failure.code : 'INTERNAL';
  return new CallError(code, failure.message, failure.data, failure.status);
}
