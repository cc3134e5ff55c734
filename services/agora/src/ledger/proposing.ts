/** Who may open a topic, and for whom. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { familyOf, identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { membershipOf } from '../access.ts';
import type { AgoraDeps } from '../deps.ts';
import type { Scope } from './domain/ledger.ts';

interface Wanted {
  readonly owner: string;
  readonly visibility?: Scope['visibility'] | undefined;
}

/** The scope with its owner named by id. Throws SERVICE_UNAVAILABLE. */
export async function decideScope(
  deps: Pick<AgoraDeps, 'registry'>,
  caller: Caller,
  { author, scope }: { readonly author: string; readonly scope: Wanted | undefined },
): Promise<Decision<Scope | null, 'E_SCOPE'>> {
  if (scope === undefined) return allow(null);
  const owner = await membershipOf(deps, caller, { owner: scope.owner, agentId: author });
  return owner === null ? deny('E_SCOPE') : allow({ owner, visibility: scope.visibility ?? 'scope' });
}

/** Under whom the topics of an author are counted. */
export function familyOfAuthor(caller: Caller, author: string): string {
  return identityOf(caller.subject) === author ? (familyOf(caller.subject) ?? author) : author;
}
