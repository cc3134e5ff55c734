/** Fetches what an address names. Each name is resolved once, judged, and the connection goes to what was judged. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Dispatcher } from 'undici';
import { type Body, readBody } from './body.ts';
import { decideHost, type NetworkPolicy, type Target, targetOf } from './domain/target.ts';
import { decideReachable, ownAddresses, pinnedAgent, type Resolve, resolveAll } from './pinned.ts';

const MIB = 1024 * 1024;

/** `toldBytes`: as JSON, in which a control character takes six and 1e20 takes 21; a reply of the service carries 8 MiB. */
export const NETWORK_LIMITS = { timeMs: 10_000, bodyBytes: 2 * MIB, toldBytes: 6 * MIB, redirects: 3 } as const;

export type NetworkDenial =
  | 'E_ADDRESS_DENIED'
  | 'E_HOST_DENIED'
  | 'E_REDIRECT'
  | 'E_TIMEOUT'
  | 'E_TLS'
  | 'E_TOO_LARGE'
  | 'E_TYPE'
  | 'E_UNREACHABLE';

export interface Fetched extends Body {
  readonly status: number;
  readonly finalUrl: string;
  readonly redirects: number;
}

export type ListedHosts = Omit<NetworkPolicy, 'ownAddresses'>;

export interface Fetcher {
  /** The addresses of a target, when each of them may be reached. */
  where(target: Target, listed: ListedHosts): ReturnType<typeof decideWhere>;
  /** `mayVisit`: whether the caller may go where a redirect leads; the first target it has judged itself. */
  fetch(
    target: Target,
    listed: ListedHosts,
    mayVisit?: (target: Target) => Promise<boolean>,
  ): Promise<Decision<Fetched, NetworkDenial>>;
}

interface FetcherParts {
  readonly resolve?: Resolve;
  readonly timeMs?: number;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const HEADERS = {
  accept: 'text/*, application/json, application/xml;q=0.9',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'svc',
};

export function createFetcher({ resolve = resolveAll, timeMs = NETWORK_LIMITS.timeMs }: FetcherParts = {}): Fetcher {
  return {
    where: (target, listed) => decideWhere(target, { ...listed, ownAddresses: ownAddresses() }, resolve),
    async fetch(first, listed, mayVisit = async () => true) {
      const policy = { ...listed, ownAddresses: ownAddresses() };
      const signal = AbortSignal.timeout(timeMs);
      let target = first;
      for (let redirects = 0; redirects <= NETWORK_LIMITS.redirects; redirects += 1) {
        const addresses = await within(signal, decideWhere(target, policy, resolve));
        if (!addresses.ok) return addresses;
        const visited = await visit(target, addresses.value, signal);
        if (!visited.ok) return visited;
        if (!('location' in visited.value)) {
          return allow({ ...visited.value, finalUrl: target.url.href, redirects });
        }
        const next = targetOf(visited.value.location, target.url);
        if (next === null) return deny('E_REDIRECT');
        if (!(await mayVisit(next))) return deny('E_HOST_DENIED', { host: next.host, port: next.port });
        target = next;
      }
      return deny('E_REDIRECT', { limit: NETWORK_LIMITS.redirects });
    },
  };
}

/** Whether there is room for it in what is answered. */
export function decideTold<Told>(value: Told): Decision<Told, 'E_TOO_LARGE'> {
  const limit = NETWORK_LIMITS.toldBytes;
  return Buffer.byteLength(JSON.stringify(value)) > limit ? deny('E_TOO_LARGE', { limit }) : allow(value);
}

/** A look-up cannot be broken off; whoever waits for it can. */
async function within<Value, Code extends string>(
  signal: AbortSignal,
  work: Promise<Decision<Value, Code>>,
): Promise<Decision<Value, Code | 'E_TIMEOUT'>> {
  const { promise, resolve } = Promise.withResolvers<Decision<never, 'E_TIMEOUT'>>();
  const late = (): void => resolve(deny('E_TIMEOUT'));
  if (signal.aborted) return deny('E_TIMEOUT');
  signal.addEventListener('abort', late, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', late);
  }
}

/** Addresses that were judged; the list of hosts is asked first, so that what is not in it is not even looked up. */
async function decideWhere(
  target: Target,
  policy: NetworkPolicy,
  resolve: Resolve,
): Promise<Decision<readonly string[], 'E_ADDRESS_DENIED' | 'E_HOST_DENIED' | 'E_UNREACHABLE'>> {
  const listed = decideHost(target, policy);
  if (!listed.ok) return listed;
  return decideReachable(target, policy, resolve);
}

type Visited = (Body & { readonly status: number }) | { readonly location: string };

async function visit(
  { url }: Target,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Decision<Visited, NetworkDenial>> {
  const agent = await pinnedAgent(addresses);
  try {
    const path = `${url.pathname}${url.search}`;
    const answer = await agent.request({ origin: url.origin, path, method: 'GET', headers: HEADERS, signal });
    const location = locationOf(answer);
    if (location !== null) return allow({ location });
    const body = await readBody(answer, NETWORK_LIMITS.bodyBytes);
    if (!body.ok) return body;
    const told = decideTold(body.value.body);
    return told.ok ? allow({ status: answer.statusCode, ...body.value }) : told;
  } catch (error) {
    return deny(signal.aborted ? 'E_TIMEOUT' : codeOf(error));
  } finally {
    agent.destroy().catch(() => {}); // what it still waits for is of no interest any more
  }
}

function locationOf({ statusCode, headers }: Dispatcher.ResponseData): string | null {
  const { location } = headers;
  return REDIRECTS.includes(statusCode) && typeof location === 'string' ? location : null;
}

function codeOf(error: unknown): 'E_TLS' | 'E_UNREACHABLE' {
  const { code = '' } = error as { readonly code?: string };
  return /^(CERT_|ERR_TLS|ERR_SSL|EPROTO$|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code) ? 'E_TLS' : 'E_UNREACHABLE';
}
