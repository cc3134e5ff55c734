/** What can be seen of a node without a call. */
import { type Connection, given } from './connection.ts';
import { CallError, UnreachableError } from './errors.ts';
import { type HttpReply, outcomeOf, parsed, type Send, strangeReply, type Unanswered } from './exchange.ts';
import { type Fields, isFields } from './json.ts';

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Fields;
  readonly outputSchema: Fields;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly area: string;
  readonly access: string;
  readonly effect: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail?: unknown }[];
  readonly degraded: readonly string[];
}

export interface Looks {
  /** The tools that the node lists for the caller. Throws CallError or UnreachableError. */
  tools(wanted?: { profile?: string; area?: string; signal?: AbortSignal }): Promise<readonly ListedTool[]>;
  /** Whether the node would serve now, and what it waits for. Throws UnreachableError. */
  ready(signal?: AbortSignal): Promise<Readiness>;
}

const LOOK_WITHIN_MS = 10_000;

export function createLooks(connection: Connection, send: Send): Looks {
  async function get(path: string, signal: AbortSignal | undefined): Promise<HttpReply> {
    const ending = { signal, withinMs: LOOK_WITHIN_MS };
    const reply = await send(`${connection.base}${path}`, { headers: connection.headers }, ending);
    if ('kind' in reply) throw unreachable(reply);
    return reply;
  }

  const unreachable = ({ reason, sent, cause }: Unanswered) =>
    new UnreachableError(connection.shown, reason, { sent, cause, idempotencyKey: null });

  return {
    async tools({ profile, area, signal } = {}) {
      const query = new URLSearchParams({ ...given('profile', profile), ...given('area', area) });
      const reply = await get(`tools?${query.toString()}`, signal);
      const body = parsed(reply.text);
      if (isFields(body) && Array.isArray(body.tools)) return body.tools as ListedTool[];
      const outcome = outcomeOf(reply);
      if (outcome.kind === 'failure') throw new CallError('tools/list', outcome.failure, null);
      throw unreachable(strangeReply(reply));
    },
    async ready(signal) {
      const reply = await get('ready', signal);
      const body = parsed(reply.text);
      if (!isFields(body) || !Array.isArray(body.checks)) throw unreachable(strangeReply(reply));
      return { ready: reply.status === 200, checks: body.checks, degraded: body.degraded as string[] };
    },
  };
}
