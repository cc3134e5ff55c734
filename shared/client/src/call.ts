/** A call from its first attempt to what came of it. */
import { type Connection, header } from './connection.ts';
import { CallError, RefusalError, UnreachableError } from './errors.ts';
import { type Outcome, outcomeOf, type Send } from './exchange.ts';
import { DEFAULT_DEADLINE_MS, type Effect, TOOLS } from './generated/tools.ts';
import type { Fields } from './json.ts';
import { pauseBefore } from './repeats.ts';
import type { ToolName } from './tool-types.ts';
import { wait } from './wait.ts';

export interface CallParts {
  readonly connection: Connection;
  readonly send: Send;
  /** For how long it is tried to reach a node where none answers. */
  readonly reachWithinMs: number;
}

export interface WantedCall {
  readonly tool: string;
  readonly args: Readonly<Fields>;
  readonly signal: AbortSignal | undefined;
  /** For all attempts together; absent = what the tool declares. */
  readonly timeoutMs: number | undefined;
  readonly repeats: boolean;
  readonly idempotencyKey: string | undefined;
}

/** After the service's own time is up, its answer that says so may still be on its way. */
const GRACE_MS = 2000;

/** The tool's result. Throws RefusalError, CallError, UnreachableError, or the reason of the signal. */
export async function performCall(parts: CallParts, wanted: WantedCall): Promise<unknown> {
  const { signal, repeats } = wanted;
  const known = knownOf(wanted.tool);
  const key = wanted.idempotencyKey ?? (repeats && known.effect !== 'read' ? freshKey() : undefined);
  const attempt = attemptsOf(parts, wanted, key, known.deadlineMs);
  const call = { effect: known.effect, isKeyed: key !== undefined };
  const endsAt = performance.now() + (wanted.timeoutMs ?? known.deadlineMs);
  let reachedAt = performance.now();
  let inDoubt = false;
  for (let count = 1; ; count += 1) {
    const outcome = await attempt(endsAt - performance.now());
    const now = performance.now();
    if (outcome.kind === 'unanswered') inDoubt ||= outcome.sent && known.effect !== 'read';
    else reachedAt = now;
    const isPatient = inDoubt || now - reachedAt < parts.reachWithinMs;
    const attempts = { count, leftMs: endsAt - now, isPatient, chance: Math.random() };
    const pauseMs = repeats ? pauseBefore(outcome, call, attempts) : null;
    if (pauseMs === null) return resultOf(outcome, { tool: wanted.tool, url: parts.connection.shown, key, inDoubt });
    await wait(pauseMs, signal);
  }
}

/** Each attempt is the same request, with less time. */
function attemptsOf(
  { connection, send }: CallParts,
  { tool, args, signal }: WantedCall,
  key: string | undefined,
  deadlineMs: number,
): (leftMs: number) => Promise<Outcome> {
  const params = { name: tool, arguments: args };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = new Headers({
    ...connection.headers,
    'content-type': 'application/json',
    ...header('idempotency-key', { idempotencyKey: key }),
  });
  return async (left) => {
    const leftMs = Math.max(1, Math.ceil(left));
    if (leftMs < deadlineMs) headers.set('x-svc-timeout-ms', String(leftMs));
    const withinMs = Math.min(leftMs, deadlineMs) + GRACE_MS;
    const reply = await send(`${connection.base}call`, { method: 'POST', headers, body }, { signal, withinMs });
    return 'kind' in reply ? reply : outcomeOf(reply);
  };
}

interface Settled {
  readonly tool: string;
  readonly url: string;
  readonly key: string | undefined;
  /** Some attempt may have taken effect. */
  readonly inDoubt: boolean;
}

function resultOf(outcome: Outcome, { tool, url, key, inDoubt }: Settled): unknown {
  if (outcome.kind === 'result') return outcome.result;
  if (outcome.kind === 'refusal') {
    const { code, message, data } = outcome.refusal;
    throw new RefusalError(tool as ToolName, code, message, data, outcome.requestId);
  }
  if (outcome.kind === 'failure') throw new CallError(tool, outcome.failure, key ?? null);
  const { reason, sent, cause } = outcome;
  throw new UnreachableError(url, reason, { sent: sent || inDoubt, idempotencyKey: key ?? null, cause });
}

/** Of a tool that is newer than this client nothing is known, so it is taken for the one that needs most care. */
function knownOf(tool: string): { effect: Effect; deadlineMs: number } {
  const { effect, deadlineMs = DEFAULT_DEADLINE_MS } = Object.hasOwn(TOOLS, tool)
    ? TOOLS[tool as ToolName]
    : ({ effect: 'external' } as const);
  return { effect, deadlineMs };
}

/** 128 random bits; `randomUUID` is not there for pages that came without TLS. */
function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
