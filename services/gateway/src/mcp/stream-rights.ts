/** As whom an event stream hears: asked for when it opens, and judged anew whenever the registry of identities changed. */
import { CallError } from '@svc/contract/codes.ts';
import { type Credentials, presentedIn } from '../credentials.ts';
import { headerText } from '../header-text.ts';
import type { Ports } from '../ports.ts';
import { rightsOf, type SocketCredential, type SocketRights } from '../socket-rights.ts';
import type { Calling } from '../tool-call.ts';

export interface StreamRights {
  readonly credential: SocketCredential;
  readonly rights: SocketRights;
}

interface StreamRightsParts {
  readonly ports: Ports;
  readonly credentials: Pick<Credentials, 'tokenIn'>;
  /** The agent of an operator who names none. */
  readonly agentId: string | undefined;
}

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
  return { credential, rights };
}
