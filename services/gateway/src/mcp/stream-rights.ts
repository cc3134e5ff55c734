/** As whom an event stream hears: asked for when it opens, and judged anew whenever the registry of identities changed. */
import { CallError } from '@svc/contract/codes.ts';
import { type Credentials, presentedIn } from '../credentials.ts';
import { isAllowedBy } from '../domain/profiles.ts';
import { headerText } from '../header-text.ts';
import { stampOf } from '../identity.ts';
import type { Ports } from '../ports.ts';
import { rightsOf, type SocketCredential, type SocketRights } from '../socket-rights.ts';
import type { Calling } from '../tool-call.ts';

export interface StreamRights {
  readonly credential: SocketCredential;
  readonly rights: SocketRights;
  /** Whether a profile that the token is held to lets it read files, and so hear of them. */
  readonly mayRead: boolean;
}

interface StreamRightsParts {
  readonly ports: Ports;
  readonly credentials: Pick<Credentials, 'tokenIn'>;
  /** The agent of an operator who names none. */
  readonly agentId: string | undefined;
}

/** Whoever may not read a file in the ordinary way hears nothing of it. */
const READING = { name: 'brain_read', service: 'brain' };

/** Throws UNAUTHORIZED, SERVICE_UNAVAILABLE. */
export async function streamRights(
  { ports, credentials, agentId }: StreamRightsParts,
  { exchange, visit }: Calling,
): Promise<StreamRights> {
  const { headers } = exchange.request;
  const token = credentials.tokenIn(presentedIn(headers));
  const credential: SocketCredential =
    token !== null
      ? { kind: 'token', token }
      : visit.identity.operator
        ? { kind: 'operator', agentId: headerText(headers, 'x-svc-agent') ?? agentId }
        : { kind: 'anonymous' };
  const rights = await rightsOf(ports, credential, await ports.requireRevision());
  if (rights === null) throw new CallError('UNAUTHORIZED');
  const profile = visit.identity.token?.limits.profile ?? null;
  const set = await ports.profilesFor(profile, () => stampOf(visit));
  return { credential, rights, mayRead: isAllowedBy(profile, READING, set) };
}
