/** Which credential a request presents and whose it is. A credential that is wrong in any way is never overlooked. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import type { Config } from '@svc/runtime/config.ts';
import type { RegistryStamp, VerifiedToken } from '@svc/contract/registry.ts';
import { familyOf } from '@svc/contract/subject.ts';
import type { Revision } from '@svc/runtime/registry.ts';
import { clientNetwork } from './client-address.ts';
import { headerText } from './header-text.ts';
import { type Identity, ownerOf, sessionOwnerOf, stampOf, type Visit } from './identity.ts';
import type { Ports } from './ports.ts';
import type { SessionKeys } from './session.ts';
import { type PresentedToken, presentedToken } from './token-cache.ts';

export interface Presented {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly token: string | undefined;
}

/** Where a request comes from, and what it is asked at this door. */
export interface Arrival {
  readonly address: string;
  readonly nobody: Nobody;
  /** Of a call: the name of its session, or null. Absent = nothing is called, so the registry judges tokens alone. */
  readonly call?: { readonly sessionName: string | undefined } | undefined;
}

/** What a door does with a caller who presents nothing to a node that has a key; `as-set` = as `mcp.requireKey` says. */
export type Nobody = 'refused' | 'anonymous' | 'as-set';

export interface Credentials {
  /** Who holds the key of this node, or calls one without a key. */
  readonly operator: Identity;
  readonly keyed: boolean;
  /** Whether doors that go by `mcp.requireKey` turn away whoever presents nothing. */
  requiresKey(stamp: RegistryStamp | null): Promise<boolean>;
  /** Throws UNAUTHORIZED; SERVICE_UNAVAILABLE for a token that nobody can verify now. */
  identify(presented: Presented, arrival: Arrival): Visit | Promise<Visit>;
  /** The token in what is presented, or null. Throws UNAUTHORIZED. */
  tokenIn(presented: Presented): PresentedToken | null;
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

interface CredentialParts {
  readonly config: Pick<Config, 'SVC_API_KEY' | 'SVC_API_KEY_PREVIOUS' | 'SVC_PLAN'>;
  readonly ports: Ports;
  readonly sessions: SessionKeys;
}

export function createCredentials(parts: CredentialParts): Credentials {
  const { config, ports, sessions } = parts;
  const keyed = config.SVC_API_KEY !== undefined;
  const tokenIn = tokenReader(config);
  const principal = keyed ? 'key:node' : 'local';
  const operator: Identity = {
    ...ownSession(principal),
    operator: true,
    token: null,
    plan: config.SVC_PLAN,
    bucket: principal,
  };

  function identityWithoutToken({ authorization, apiKey }: Presented, { address, nobody }: Arrival): Identity {
    if (!keyed || authorization !== undefined || apiKey !== undefined) return operator;
    if (nobody === 'refused') throw new CallError('UNAUTHORIZED');
    return anonymousAt(address);
  }

  function visitWithoutToken(presented: Presented, arrival: Arrival): Visit {
    const identity = identityWithoutToken(presented, arrival);
    if (arrival.call === undefined) return { identity, revision: NOT_ASKED };
    return { identity, revision: ports.revision(sessions.find(identity.sessionOwner, arrival.call.sessionName)) };
  }

  async function requiresKey(stamp: RegistryStamp | null): Promise<boolean> {
    return (await ports.settings.read('mcp.requireKey', stamp)) ?? keyed;
  }

  /** On a node without a key, what is no token counts for nothing. */
  const presentsNothing = ({ authorization, apiKey }: Presented) =>
    !keyed || (authorization === undefined && apiKey === undefined);

  async function nobodyAsSet(presented: Presented, arrival: Arrival): Promise<Visit> {
    const visit = visitWithoutToken(presented, arrival);
    if (await requiresKey(await stampOf(visit))) throw new CallError('UNAUTHORIZED');
    return visit;
  }

  return {
    keyed,
    operator,
    requiresKey,
    tokenIn,
    identify(presented, arrival) {
      const token = tokenIn(presented);
      if (token !== null) return tokenVisit(parts, token, arrival);
      if (arrival.nobody === 'as-set' && presentsNothing(presented)) return nobodyAsSet(presented, arrival);
      return visitWithoutToken(presented, arrival);
    },
  };
}

/** Finds the token in what is presented; throws for whatever is wrong beside it too. */
function tokenReader(config: CredentialParts['config']): Credentials['tokenIn'] {
  const keys = [config.SVC_API_KEY, config.SVC_API_KEY_PREVIOUS].filter((key) => key !== undefined).map(keyMatcher);
  const keyed = config.SVC_API_KEY !== undefined;

  /** Every accepted key is compared, so that the time tells nothing. */
  function isKey(presented: string): boolean {
    return keys.reduce((found, matches) => matches(presented) || found, false);
  }

  /** The token that the Authorization header carries, or null when it carries the key or nothing that counts. */
  function bearerToken(authorization: string): string | null {
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (keyed && bearer !== undefined && isKey(bearer)) return null;
    if (bearer?.startsWith(TOKEN_PREFIX) === true) return bearer;
    if (keyed) throw new WrongCredential();
    return null;
  }

  return ({ authorization, apiKey, token }) => {
    const fromBearer = authorization === undefined ? null : bearerToken(authorization);
    if (keyed && apiKey !== undefined && !isKey(apiKey)) throw new WrongCredential();
    if (fromBearer !== null && token !== undefined && fromBearer !== token) throw new WrongCredential();
    const raw = token ?? fromBearer;
    if (raw === null) return null;
    const presented = presentedToken(raw);
    if (presented === null) throw new WrongCredential();
    return presented;
  };
}

/** A session hangs on the agent, so a token seen for the first time is verified before its session is known. */
async function tokenVisit(
  { config, ports, sessions }: CredentialParts,
  token: PresentedToken,
  { call }: Arrival,
): Promise<Visit> {
  let owner = ports.tokens.sessionOwnerOf(token);
  if (owner === undefined) {
    const seen = await ports.tokens.verify(token, await ports.requireRevision());
    if (seen === null) throw new WrongCredential();
    owner = sessionOwnerOf(seen);
  }
  const session = call === undefined ? undefined : sessions.find(owner, call.sessionName);
  const revision = await ports.requireRevision(session);
  const verified = await ports.tokens.verify(token, revision);
  if (verified === null) throw new WrongCredential();
  return { identity: tokenIdentity(verified, config.SVC_PLAN), revision: Promise.resolve(revision) };
}

const NOT_ASKED: Promise<Revision | null> = Promise.resolve(null);

function ownSession(principal: string): Pick<Identity, 'principal' | 'sessionOwner'> {
  return { principal, sessionOwner: principal };
}

/** Who acts with the rights of a token. */
export function tokenIdentity(token: VerifiedToken, nodePlan: Identity['plan']): Identity {
  const owner = ownerOf(token);
  return {
    principal: `tok:${owner}`,
    sessionOwner: sessionOwnerOf(token),
    operator: false,
    token,
    plan: token.plan ?? nodePlan,
    bucket: token.org === null ? `family:${familyOf(token.subject) ?? owner}` : `org:${token.org}`,
  };
}

/** Who presents nothing. */
export function anonymousAt(address: string): Identity {
  const bucket = `address:${clientNetwork(address)}`;
  return { ...ownSession(`anon:${address}`), operator: false, token: null, plan: 'free', bucket };
}

/** Takes as long for a wrong key as for a right one, wherever they differ. */
function keyMatcher(key: string): (presented: string) => boolean {
  const expected = Buffer.from(key);
  const actual = Buffer.alloc(expected.length);
  return (presented) => {
    // What is longer is cut off, and what is shorter leaves the end as it was: only the length tells those apart. It is
    // looked at in any case, before the contents, or the time would tell who guessed a beginning.
    const fits = Buffer.byteLength(presented) === expected.length;
    actual.write(presented);
    return timingSafeEqual(actual, expected) && fits;
  };
}
