/** Which node a command speaks to, and as whom. */
import { type Client, createClient } from '@svc/client/client.ts';
import type { OptionDeclaration } from './command.ts';
import { UsageProblem } from './problems.ts';
import type { Surroundings } from './surroundings.ts';

export const CONNECTION_OPTIONS: readonly OptionDeclaration[] = [
  { form: '--url <address>', meaning: 'The node (SVC_URL).' },
  { form: '--session <name>', meaning: 'Whose current brain and branch are meant (SVC_SESSION).' },
  { form: '--agent <id>', meaning: 'As this agent; for operators.' },
  { form: '--timeout <seconds>', meaning: 'How long a call may take; default: what its tool declares.' },
];

const DEFAULT_PORT = '3457';
const SESSION = 'cli';
/** A node that is being restarted is there again in a moment; one that is off is said to be off at once. */
const REACH_WITHIN_MS = 500;

type ConnectionValues = Readonly<Record<string, string | boolean | undefined>>;

export function addressOf(env: Surroundings['env'], url: string | undefined): string {
  return url ?? nonEmpty(env['SVC_URL']) ?? `http://127.0.0.1:${nonEmpty(env['SVC_MCP_PORT']) ?? DEFAULT_PORT}`;
}

export interface Credential {
  readonly key?: string;
  readonly token?: string;
}

export function credentialOf(env: Surroundings['env']): Credential {
  const token = nonEmpty(env['SVC_TOKEN']);
  if (token !== undefined) return { token };
  const key = nonEmpty(env['SVC_KEY']) ?? nonEmpty(env['SVC_API_KEY']);
  return key === undefined ? {} : { key };
}

/** Throws UsageProblem. */
export function connect(env: Surroundings['env'], options: ConnectionValues, until?: AbortSignal): Client {
  const text = (name: string): string | undefined => {
    const value = options[name];
    // What a script left empty would be another session than was meant, or the operator in place of an agent.
    if (value === '') throw new UsageProblem(`--${name}: is empty.`);
    return typeof value === 'string' ? value : undefined;
  };
  try {
    return createClient({
      url: addressOf(env, text('url')),
      ...credentialOf(env),
      session: text('session') ?? nonEmpty(env['SVC_SESSION']) ?? SESSION,
      agent: text('agent'),
      timeoutMs: timeoutMs(text('timeout')),
      reachWithinMs: REACH_WITHIN_MS,
      fetch: until === undefined ? undefined : fetchUntil(until),
    });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageProblem(error.message);
    throw error;
  }
}

/** A request that nobody waits for any more would keep the process. */
function fetchUntil(until: AbortSignal): typeof fetch {
  return (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.any([until, ...(init?.signal ? [init.signal] : [])]) });
}

function timeoutMs(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined;
  const value = Number(seconds);
  if (Number.isFinite(value) && value > 0) return Math.ceil(value * 1000);
  throw new UsageProblem(`--timeout: "${seconds}" is no number of seconds.`);
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value;
}
