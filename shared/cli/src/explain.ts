/** An error as the person reads it, and as a script does. */
import { CallError, RefusalError, UnreachableError } from '@svc/client/client.ts';
import type { ExitName } from './exit-codes.ts';
import { Problem } from './problems.ts';
import { oneLine } from './visible.ts';

export interface Explanation {
  readonly exit: ExitName;
  readonly message: string;
  /** Of the service; null = the command line itself says it. */
  readonly code: string | null;
  /** What is known beside the sentence, and what to do: a line each. */
  readonly advice: readonly string[];
  /** Everything that a script may want. */
  readonly data: Readonly<Record<string, unknown>>;
}

const EXIT_OF_CODE: Readonly<Record<string, ExitName>> = {
  VAF_INPUT_INVALID: 'usage',
  VAF_PATH_BLOCKED: 'usage',
  TOOL_NOT_FOUND: 'usage',
  NOT_FOUND: 'unreachable',
  INVALID_REQUEST: 'usage',
  IDEMPOTENCY_KEY_REUSED: 'usage',
  PAYLOAD_TOO_LARGE: 'usage',
  AGENT_NOT_FOUND: 'refused',
  UNAUTHORIZED: 'denied',
  FORBIDDEN: 'denied',
  RLS_DENIED: 'denied',
  E_QUARANTINED: 'denied',
  E_ISLAND_WRITE_DENIED: 'denied',
  RATE_LIMITED: 'later',
  SERVICE_UNAVAILABLE: 'later',
  E_BUSY: 'later',
  TIMEOUT: 'unknown',
  E_OUTCOME_UNKNOWN: 'unknown',
  INTERNAL: 'unknown',
};

export function explain(error: unknown): Explanation {
  if (error instanceof Problem) {
    const { message, exit, advice } = error;
    return { exit, message, code: null, advice, data: {} };
  }
  if (error instanceof RefusalError) return explainRefusal(error);
  if (error instanceof CallError) return explainCallError(error);
  if (error instanceof UnreachableError) return explainSilence(error);
  const message = error instanceof Error ? error.message : String(error);
  return { exit: 'failed', message, code: null, advice: [], data: {} };
}

/** Some tools refuse what a call of others ends with as an error: that they are busy. */
function explainRefusal({ code, message, data, requestId }: RefusalError): Explanation {
  const exit = code === 'E_BUSY' ? 'later' : 'refused';
  return { exit, message: oneLine(message), code, advice: detailsOf(data), data: { ...data, requestId } };
}

function explainCallError(error: CallError): Explanation {
  const { code, message, data, requestId, retryAfterMs, idempotencyKey } = error;
  const advice = [
    ...problemsOf(data.problems),
    ...(typeof data.hint === 'string' ? [oneLine(data.hint)] : []),
    ...nearestOf(data.nearest),
    ...adviceFor(error),
  ];
  return {
    exit: exitOf(error),
    message: Array.isArray(data.problems) ? 'The arguments do not fit the tool.' : oneLine(message),
    code,
    advice,
    data: { ...data, requestId, ...(retryAfterMs === null ? {} : { retryAfterMs }), ...keyOf(idempotencyKey) },
  };
}

/**
 * Whoever names a brain that is not there is told no; one that cannot be opened is something wrong in the node. Only
 * changes have a key: after a question that was lost nothing is in doubt.
 */
function exitOf({ code, status, idempotencyKey }: CallError): ExitName {
  if (code === 'BRAIN_LOAD_FAIL' && status === 404) return 'refused';
  const exit = EXIT_OF_CODE[code] ?? 'failed';
  if (exit !== 'unknown' || idempotencyKey !== null) return exit;
  return code === 'INTERNAL' ? 'failed' : 'later';
}

function keyOf(idempotencyKey: string | null): Record<string, string> {
  return idempotencyKey === null ? {} : { idempotencyKey };
}

function adviceFor({ tool, code, requestId, retryAfterMs, idempotencyKey }: CallError): string[] {
  switch (code) {
    case 'NOT_FOUND':
      return ['The doors of the node are somewhere else: is SVC_URL or --url right, with its port and path?'];
    case 'UNAUTHORIZED':
      return ['Set SVC_KEY (the key of the node) or SVC_TOKEN (a token, see `svc token mint`).'];
    case 'RATE_LIMITED':
    case 'SERVICE_UNAVAILABLE':
    case 'E_BUSY':
      return retryAfterMs === null ? [] : [`Try again in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`];
    case 'E_OUTCOME_UNKNOWN':
    case 'TIMEOUT':
      return idempotencyKey === null
        ? []
        : [`Whether it happened: svc call ${tool} with the same arguments and --idempotency-key ${idempotencyKey}`];
    case 'INTERNAL':
      return [`The log of the node says why: request ${requestId ?? 'unknown'}.`];
    default:
      return [];
  }
}

/** Only changes have a key: after a question that was lost nothing is in doubt. */
function explainSilence({ message, url, sent, idempotencyKey }: UnreachableError): Explanation {
  const isInDoubt = sent && idempotencyKey !== null;
  const advice = isInDoubt
    ? ['The change may have happened: look before you do it again.']
    : ['Start one with `svc start`, or say where it is with SVC_URL or --url. `svc doctor` looks closer.'];
  return {
    exit: isInDoubt ? 'unknown' : 'unreachable',
    message,
    code: null,
    advice,
    data: { url, ...keyOf(idempotencyKey) },
  };
}

function problemsOf(problems: unknown): string[] {
  if (!Array.isArray(problems)) return [];
  return problems.map(({ path = '', message = '' }: { path?: string; message?: string }) =>
    oneLine(`${path} ${message}`),
  );
}

function nearestOf(nearest: unknown): string[] {
  return Array.isArray(nearest) && nearest.length > 0 ? [`Nearest: ${oneLine(nearest.join(', '))}`] : [];
}

const MAX_DETAIL = 200;

/** Small facts of a refusal; the rest is in its JSON. */
function detailsOf(data: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    if (value === false || value === null) return [];
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.length > MAX_DETAIL ? [] : [oneLine(`${name}: ${text}`)];
  });
}
