/** Calls a tool of another node: one request to an address that was judged, and an answer that is bounded. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { isDeeperThan } from '../json-depth.ts';
import { readUpTo } from '../network/body.ts';
import { type NetworkPolicy, targetOf } from '../network/domain/target.ts';
import { decideReachable, ownAddresses, pinnedAgent, type Resolve, resolveAll } from '../network/pinned.ts';

export interface NodeCall {
  readonly url: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly token: string | null;
  readonly key: string | null;
  /** Through how many nodes it came when it arrives there. */
  readonly hops: number;
  readonly withinMs: number;
  readonly allowPrivate: NetworkPolicy['allowPrivate'];
}

type NodeDenial = 'E_ADDRESS_DENIED' | 'E_OUTCOME_UNKNOWN' | 'E_REMOTE_ERROR' | 'E_TOO_LARGE' | 'E_UNREACHABLE';

export interface NodeClient {
  /** The `result` of the other node. */
  call(call: NodeCall): Promise<Decision<unknown, NodeDenial>>;
  decideReachable(url: string, allowPrivate: NetworkPolicy['allowPrivate']): ReturnType<typeof decideReachable>;
}

export const REMOTE_LIMITS = { withinMs: 30_000, bytes: 1024 * 1024, depth: 64 } as const;

const Answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.union([z.string(), z.number()]), message: z.string().optional() }).optional(),
});

export function createNodeClient(resolve: Resolve = resolveAll): NodeClient {
  const reachable = (url: string, allowPrivate: NetworkPolicy['allowPrivate']) => {
    const target = targetOf(url);
    if (target === null) throw new Error('a remote without an address');
    return decideReachable(target, { allowPrivate, ownAddresses: ownAddresses() }, resolve);
  };
  return {
    decideReachable: reachable,
    async call(call) {
      const addresses = await reachable(call.url, call.allowPrivate);
      return addresses.ok ? post(call, addresses.value) : addresses;
    },
  };
}

async function post(call: NodeCall, addresses: readonly string[]): Promise<Decision<unknown, NodeDenial>> {
  const { url, tool, args, withinMs } = call;
  const agent = await pinnedAgent(addresses);
  const signal = AbortSignal.timeout(Math.max(1, withinMs));
  const { origin, pathname } = new URL(url);
  try {
    const answer = await agent.request({
      origin,
      path: `${pathname.replace(/\/$/, '')}/call`,
      method: 'POST',
      headers: headersOf(call),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }),
      headersTimeout: withinMs,
      signal,
    });
    return await outcomeOf(answer);
  } catch (error) {
    return deny(wasNotSent(error) ? 'E_UNREACHABLE' : 'E_OUTCOME_UNKNOWN');
  } finally {
    agent.destroy().catch(() => {}); // what it still waits for is of no interest any more
  }
}

function headersOf({ token, key, hops }: NodeCall): Record<string, string> {
  return {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'x-svc-hops': String(hops),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(key === null ? {} : { 'idempotency-key': key }),
  };
}

/** No connection came about, so nobody has the call. */
function wasNotSent(error: unknown): boolean {
  const { code = '' } = error as { readonly code?: string };
  return /^(ECONNREFUSED|EHOST|ENET|EADDR|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|EPROTO$|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(
    code,
  );
}

async function outcomeOf({ statusCode, body }: Dispatcher.ResponseData): Promise<Decision<unknown, NodeDenial>> {
  const bytes = await readUpTo(body, REMOTE_LIMITS.bytes);
  if (bytes === null) return deny('E_TOO_LARGE', { limit: REMOTE_LIMITS.bytes });
  const answer = Answer.safeParse(parsed(bytes.toString('utf8')));
  const said = (code: string, message: string) =>
    deny('E_REMOTE_ERROR', { remote: { code, message: message.slice(0, 500), status: statusCode } });
  if (!answer.success) return said(`HTTP_${statusCode}`, 'It did not answer as a node does.');
  const { error, result } = answer.data;
  if (error !== undefined) return said(String(error.code).slice(0, 64), error.message ?? '');
  return result === undefined ? said(`HTTP_${statusCode}`, 'It answered without a result.') : allow(result);
}

/** Undefined = no JSON of a depth that is read. */
function parsed(text: string): unknown {
  try {
    return isDeeperThan(text, REMOTE_LIMITS.depth) ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
