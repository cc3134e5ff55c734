/** The checks that every HTTP route shares, in the order of the contract: host and origin, credential, rate. */
import type { IncomingMessage } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import type { Config } from '@svc/runtime/config.ts';
import {
  type Arrival,
  type Credentials,
  type Nobody,
  type Presented,
  presentedIn,
  WrongCredential,
} from './credentials.ts';
import { isHostAllowed, isOriginAllowed } from './domain/addresses.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Visit } from './identity.ts';
import { type Limits, rateLimited } from './limits.ts';

export interface Admission {
  /** Throws FORBIDDEN. */
  assertOrigin(request: IncomingMessage): void;
  /** Probes of an orchestrator name an address, not a host: on an open bind any host may ask for health. */
  assertProbeOrigin(request: IncomingMessage): void;
  /** Throws UNAUTHORIZED, RATE_LIMITED after too many wrong credentials from one address, SERVICE_UNAVAILABLE. */
  identify(presented: Presented, arrival: Arrival): Promise<Visit>;
  /** Identifies the caller and counts the request on the exchange; throws RATE_LIMITED beyond the limit. */
  admit(exchange: HttpExchange, nobody: Nobody, what: 'call' | 'look'): Promise<Visit>;
  /** Who the caller of an admitted call is now; counts nothing. Throws as `identify` does. */
  readmit(exchange: HttpExchange, nobody: Nobody): Promise<Visit>;
}

interface AdmissionParts {
  readonly config: Pick<Config, 'SVC_ALLOWED_HOSTS' | 'SVC_CORS_ORIGINS'>;
  readonly loopback: boolean;
  readonly credentials: Credentials;
  readonly limits: Limits;
  readonly metrics: GatewayMetrics;
}

const REMEMBERED_HOSTS = 100;

export function createAdmission(parts: AdmissionParts): Admission {
  const { config, loopback, credentials, limits, metrics } = parts;
  const isGoodHost = hostCheck(parts);

  function assertProbeOrigin({ headers: { host, origin } }: IncomingMessage): void {
    if (loopback && !isGoodHost(host)) throw new CallError('FORBIDDEN', 'This host name is not served here.');
    if (origin !== undefined && !isOriginAllowed(origin, loopback, config.SVC_CORS_ORIGINS)) {
      throw new CallError('FORBIDDEN', 'This web origin may not call.');
    }
  }

  async function identify(presented: Presented, arrival: Arrival): Promise<Visit> {
    try {
      return await credentials.identify(presented, arrival);
    } catch (error) {
      if (error instanceof WrongCredential) await countWrong(parts, arrival.address);
      throw error;
    }
  }

  function visitOf(exchange: HttpExchange, nobody: Nobody, what: 'call' | 'look'): Promise<Visit> {
    const { address, request, sessionName } = exchange;
    const call = what === 'call' ? { sessionName } : undefined;
    return identify(presentedIn(request.headers), { address, nobody, call });
  }

  return {
    assertOrigin(request) {
      if (!isGoodHost(request.headers.host)) throw new CallError('FORBIDDEN', 'This host name is not served here.');
      assertProbeOrigin(request);
    },
    assertProbeOrigin,
    identify,
    async admit(exchange, nobody, what) {
      const visit = await visitOf(exchange, nobody, what);
      exchange.rate = await limits.count(visit.identity);
      if (exchange.rate !== null && exchange.rate.exceededForMs !== null) {
        metrics.rateLimited(visit.identity.plan);
        throw rateLimited(exchange.rate.exceededForMs);
      }
      return visit;
    },
    readmit: (exchange, nobody) => visitOf(exchange, nobody, 'call'),
  };
}

/** Remembers good hosts, because nearly every request names the same. */
function hostCheck({ config, loopback }: AdmissionParts): (host: string | undefined) => boolean {
  const good = new Set<string>();
  return (host) => {
    if (host === undefined) return !loopback && config.SVC_ALLOWED_HOSTS === undefined;
    if (good.has(host)) return true;
    if (!isHostAllowed(host, loopback, config.SVC_ALLOWED_HOSTS)) return false;
    if (good.size >= REMEMBERED_HOSTS) good.clear();
    good.add(host);
    return true;
  };
}

/** Throws RATE_LIMITED when the address tried too often. */
async function countWrong({ limits, metrics }: AdmissionParts, address: string): Promise<void> {
  metrics.authFailed();
  const blockedForMs = await limits.countFailure(address);
  if (blockedForMs === null) return;
  metrics.rateLimited('failed-credentials');
  throw rateLimited(blockedForMs);
}
