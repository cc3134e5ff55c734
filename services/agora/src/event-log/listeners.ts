/** Whoever reads the log, as the listener that its sockets would have. */
import { actorOf } from '@svc/contract/actor.ts';
import {
  ANONYMOUS_LISTENER,
  type Listener,
  listenerOf,
  listenerOfToken,
  OPERATOR_LISTENER,
} from '@svc/contract/event-visibility.ts';
import type { RegistryStamp, VerifiedToken } from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createPolicyCache, type PolicyCache } from '@svc/runtime/policy-cache.ts';
import { createRegistryClient, createStampedCache } from '@svc/runtime/registry.ts';

export interface Listeners {
  /** With the stamp under which it is judged. Throws SERVICE_UNAVAILABLE. */
  of(caller: Reading): Promise<{ readonly listener: Listener; readonly stamp: RegistryStamp }>;
  readonly policiesOf: PolicyCache;
}

export type Reading = Pick<Caller, 'subject' | 'operator' | 'token' | 'registry'>;

interface Known extends Pick<VerifiedToken, 'roles' | 'accounts'> {
  readonly subject: Subject | null;
}

interface Asked {
  readonly agentId: string;
  readonly bound: string | null;
}

const REMEMBERED = 10_000;

export function createListeners(platform: Pick<Platform, 'bus' | 'clock'>): Listeners {
  const registry = createRegistryClient(platform, 'agora');
  const known = createStampedCache<Known, Asked>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: ({ agentId, bound }) => `${agentId} ${bound ?? ''}`,
    async read({ agentId, bound }) {
      const [{ stamp, subject, roles }, { accounts, stamp: other }] = await Promise.all([
        registry.context(bound === null ? { agentId } : { agentId, workspace: bound }),
        registry.accounts({ agentId }),
      ]);
      return { stamp: other.rev < stamp.rev ? other : stamp, value: { subject, roles, accounts } };
    },
  });
  return {
    policiesOf: createPolicyCache(registry),
    async of(caller) {
      const stamp = caller.registry ?? (await registry.revision()).stamp;
      const { identity, operator, token } = actorOf(caller);
      if (identity === null) return { listener: operator ? OPERATOR_LISTENER : ANONYMOUS_LISTENER, stamp };
      const asked = { agentId: identity, bound: token?.bound ?? null };
      return { listener: listenerOn(await known.get(asked, stamp), caller), stamp };
    },
  };
}

function listenerOn({ subject, roles, accounts }: Known, { operator, token }: Reading): Listener {
  const none = operator ? OPERATOR_LISTENER : ANONYMOUS_LISTENER;
  if (subject === null) return none;
  if (operator) return listenerOf(subject, { roles, accounts: [] }, true);
  if (token === null) return none;
  return listenerOfToken({ subject: { ...subject, verified: true }, roles, accounts, limits: token });
}
