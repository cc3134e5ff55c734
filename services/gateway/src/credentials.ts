/** Which credential a request presents and whose it is. A credential that is wrong in any way is never overlooked. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import type { Config } from '@svc/runtime/config.ts';
import { headerText } from './header-text.ts';
import type { Identity, VerifiedToken } from './identity.ts';
import type { Ports } from './ports.ts';

export interface Presented {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly token: string | undefined;
}

/** What a door does with a caller who presents nothing to a node that has a key. */
export type Nobody = 'refused' | 'anonymous';

export interface Credentials {
  readonly keyed: boolean;
  /** Throws UNAUTHORIZED; at once when no token is involved, else with the registry's answer. */
  identify(presented: Presented, address: string, nobody: Nobody): Identity | Promise<Identity>;
}

/** Tells a credential that was presented and is wrong from one that is missing. */
export class WrongCredential extends CallError {
  constructor() {
    super('UNAUTHORIZED', 'The credential is not valid.');
  }
}

const TOKEN_PREFIX = 'svc_';

export function presentedIn(headers: IncomingHttpHeaders): Presented {
  return {
    authorization: headers.authorization,
    apiKey: headerText(headers, 'x-api-key'),
    token: headerText(headers, 'x-habitat-token'),
  };
}

export function createCredentials(
  config: Pick<Config, 'SVC_API_KEY' | 'SVC_API_KEY_PREVIOUS' | 'SVC_PLAN'>,
  ports: Ports,
): Credentials {
  const keys = [config.SVC_API_KEY, config.SVC_API_KEY_PREVIOUS].filter((key) => key !== undefined).map(digest);
  const keyed = config.SVC_API_KEY !== undefined;
  const plan = config.SVC_PLAN;
  const operator: Identity = keyed
    ? { principal: 'key:node', operator: true, token: null, plan, bucket: 'key:node' }
    : { principal: 'local', operator: true, token: null, plan, bucket: 'local' };

  /** Every accepted key is compared, so that the time tells nothing. */
  function isKey(presented: string): boolean {
    const actual = digest(presented);
    return keys.reduce((found, key) => timingSafeEqual(key, actual) || found, false);
  }

  async function tokenIdentity(token: string): Promise<Identity> {
    const verified = token.startsWith(TOKEN_PREFIX) ? await ports.verifyToken(token) : null;
    if (verified === null) throw new WrongCredential();
    return identityOf(verified, plan);
  }

  /** The token that the Authorization header carries, or null when it carries the key or nothing that counts. */
  function bearerToken(authorization: string): string | null {
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (keyed && bearer !== undefined && isKey(bearer)) return null;
    if (bearer?.startsWith(TOKEN_PREFIX) === true) return bearer;
    if (keyed) throw new WrongCredential();
    return null;
  }

  /** Throws for what is wrong; null when no token is presented. */
  function tokenIn({ authorization, apiKey, token }: Presented): string | null {
    const fromBearer = authorization === undefined ? null : bearerToken(authorization);
    if (keyed && apiKey !== undefined && !isKey(apiKey)) throw new WrongCredential();
    if (fromBearer !== null && token !== undefined && fromBearer !== token) throw new WrongCredential();
    return token ?? fromBearer;
  }

  return {
    keyed,
    identify(presented, address, nobody) {
      const token = tokenIn(presented);
      if (token !== null) return tokenIdentity(token);
      if (!keyed || presented.authorization !== undefined || presented.apiKey !== undefined) return operator;
      if (nobody === 'refused') throw new CallError('UNAUTHORIZED');
      return anonymousAt(address);
    },
  };
}

function identityOf(token: VerifiedToken, nodePlan: Identity['plan']): Identity {
  return {
    principal: `tok:${token.agentId}`,
    operator: false,
    token,
    plan: token.plan ?? nodePlan,
    bucket: token.org === undefined ? `agent:${token.agentId}` : `org:${token.org}`,
  };
}

function anonymousAt(address: string): Identity {
  return { principal: `anon:${address}`, operator: false, token: null, plan: 'free', bucket: `address:${address}` };
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
