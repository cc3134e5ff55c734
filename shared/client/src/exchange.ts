/** One request and what came of it, without judging whether to send it again. */
import type { CallFailure } from './errors.ts';
import { type Fields, isFields } from './json.ts';

interface RefusalAnswer {
  readonly code: string;
  readonly message: string;
  readonly data: Fields;
}

export type Outcome =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'refusal'; readonly refusal: RefusalAnswer; readonly requestId: string | null }
  | { readonly kind: 'failure'; readonly failure: CallFailure }
  | {
      readonly kind: 'unanswered';
      /** It may have arrived. */
      readonly sent: boolean;
      /** Something else lives at that address, and will be there the next time. */
      readonly isStrange?: true;
      readonly reason: string;
      readonly cause?: unknown;
    };

export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export type Unanswered = Extract<Outcome, { kind: 'unanswered' }>;

/** What ends an exchange before its reply is there. */
export interface Ending {
  readonly signal?: AbortSignal | undefined;
  readonly withinMs: number;
}

/** Throws the reason of the signal. Everything else that goes wrong is an outcome. */
export type Send = (url: string, request: RequestInit, ending: Ending) => Promise<HttpReply | Unanswered>;

export function sendBy(fetchReply: typeof fetch): Send {
  return async (url, request, { signal, withinMs }) => {
    signal?.throwIfAborted();
    const ender = new AbortController();
    const end = (): void => ender.abort();
    const timer = setTimeout(end, withinMs);
    signal?.addEventListener('abort', end, { once: true });
    try {
      const response = await fetchReply(url, { ...request, redirect: 'error', signal: ender.signal });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      signal?.throwIfAborted();
      if (ender.signal.aborted) return { kind: 'unanswered', sent: true, reason: `it said nothing for ${withinMs} ms` };
      return { kind: 'unanswered', ...lossOf(error, url), cause: error };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  };
}

/** Codes of Node that say that nothing of the request left. A browser does not tell. */
const NOT_SENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name cannot be looked up',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  UND_ERR_CONNECT_TIMEOUT: 'it does not take connections',
};

/** Codes of Node for what TLS finds wrong before anything of the request leaves; it will find the same the next time. */
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH$)/;
const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** What Node says of a port that it calls for nobody. */
const NEVER_CALLED = 'bad port';

function tlsProblemOf(code: string | null, message: string): string | null {
  if (code === null) return null;
  if (UNTRUSTED.test(code)) return `its certificate is not trusted: ${message}`;
  return NO_TLS.test(code) ? 'it does not speak TLS' : null;
}

/** What became of a request for which `fetch` threw. */
export function lossOf(error: unknown, url: string): Pick<Unanswered, 'sent' | 'isStrange' | 'reason'> {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = isFields(cause) && typeof cause.code === 'string' ? cause.code : null;
  const told = code === null ? undefined : NOT_SENT[code];
  if (told !== undefined) return { sent: false, reason: told };
  const reason = cause instanceof Error ? cause.message : String(cause);
  const tlsProblem = tlsProblemOf(code, reason);
  if (tlsProblem !== null) return { sent: false, isStrange: true, reason: tlsProblem };
  // What Node names without a code is its own decision: a port it does not call, a redirect that is not followed.
  const isDecided = code === null && cause !== error;
  const sent = !(isDecided && reason === NEVER_CALLED);
  return { sent, reason: `${reason}${pageHint(url)}`, ...(isDecided ? { isStrange: true } : {}) };
}

/** A browser says the same of a node that is away and of one that does not let pages of this origin call. */
function pageHint(url: string): string {
  const origin = (globalThis as { location?: { origin?: string } }).location?.origin;
  if (origin === undefined || url.startsWith(`${origin}/`)) return '';
  return ` (a page of ${origin} may call it only where SVC_CORS_ORIGINS names that origin)`;
}

/** The reply of /call. What is no reply of ours comes from something else at that address. */
export function outcomeOf({ status, headers, text }: HttpReply): Outcome {
  const body = parsed(text);
  const requestId = headers.get('x-request-id');
  if (isFields(body) && isFields(body.error))
    return { kind: 'failure', failure: failureOf(body.error, status, headers) };
  if (status === TOO_MANY_REQUESTS) return turnedAway({ status, headers });
  if (status !== 200 || !isFields(body) || !isFields(body.result)) return strangeReply({ status, headers });
  const shown = shownIn(body.result);
  const { code, error, ...data } = shown;
  if (typeof code !== 'string') return { kind: 'result', result: shown };
  return { kind: 'refusal', refusal: { code, message: typeof error === 'string' ? error : code, data }, requestId };
}

/** What the tool answered. A bare one's answer is the result itself, and so is the code of a refusal that is null. */
function shownIn(result: Fields): Fields {
  const { content, ...beside } = result;
  if (isFields(content)) return content;
  return content === null && typeof beside.code === 'string' ? beside : result;
}

const TOO_MANY_REQUESTS = 429;

/** By a proxy that limits how much it lets through, in words of its own: the request went no further. */
function turnedAway({ status, headers }: Pick<HttpReply, 'status' | 'headers'>): Outcome {
  const message = 'What stands in front of the node lets no more requests through for now.';
  return { kind: 'failure', failure: failureOf({ code: 'RATE_LIMITED', message }, status, headers) };
}

/** A proxy that says so had nobody to hand the request to, or lost whom it had handed it to. */
export const NOBODY_BEHIND: ReadonlySet<number> = new Set([502, 503, 504]);

export function strangeReply({ status, headers }: Pick<HttpReply, 'status' | 'headers'>): Unanswered {
  const reason = `what is there answered ${status} (${headers.get('content-type') ?? 'no content type'})`;
  return { kind: 'unanswered', sent: true, reason, ...(NOBODY_BEHIND.has(status) ? {} : { isStrange: true }) };
}

function failureOf(error: Fields, status: number, headers: Headers): CallFailure {
  const { requestId, ...data } = isFields(error.data) ? error.data : {};
  return {
    code: String(error.code),
    message: String(error.message),
    status,
    data,
    requestId: typeof requestId === 'string' ? requestId : headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(data, headers),
  };
}

/** The header has whole seconds, or a date where a proxy wrote it; the body may know it better. */
export function retryAfterMs({ retryAfterMs: exact }: Fields, headers: Headers): number | null {
  if (typeof exact === 'number') return exact;
  const header = headers.get('retry-after');
  if (header === null || header === '') return null;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : null;
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
