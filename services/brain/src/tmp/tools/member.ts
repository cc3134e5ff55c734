/** As whom a call uses the temporary spaces, and where. */
import { actorName } from '@svc/contract/actor.ts';
import { DEFAULT_WORKSPACE, familyOf, identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { Member } from '../domain/space.ts';

/** Throws VAF_INPUT_INVALID when an operator looks as somebody of a workspace that does not exist. */
export function memberOf({ subject, operator }: Pick<Caller, 'subject' | 'operator'>): Member {
  const { workspace = DEFAULT_WORKSPACE, roles = [], unknownWorkspace = false } = subject;
  if (unknownWorkspace) throw invalidArguments([{ path: 'userCtx.workspace', message: 'is no workspace' }]);
  return {
    workspace,
    actor: actorName({ subject, operator }),
    family: familyOf(subject),
    roles,
    operator: operator && identityOf(subject) === null,
  };
}
