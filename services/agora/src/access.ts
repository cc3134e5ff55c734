/** For whom a topic is read, and of which scopes somebody is a member. No answer of the registry is never a yes. */
import { mayActIn } from '@svc/contract/actor.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Registry } from './registry.ts';
import type { Scope } from './ledger/domain/ledger.ts';

interface Membership {
  readonly registry: Pick<Registry, 'membership'>;
}

/** For whom a read is judged. Null = a stranger: somebody without identity, or whose token is not of whom it names. */
export function readerOf(caller: Caller, named?: string): string | null {
  const own = identityOf(caller.subject);
  if (caller.operator) return named ?? own;
  return caller.subject.verified === true && (named === undefined || named === own) ? own : null;
}

const WORKSPACE = 'workspace:';

/** The owner of the scope by its id when the agent belongs to it; null = it does not. Throws SERVICE_UNAVAILABLE. */
export async function membershipOf(
  { registry }: Membership,
  caller: Caller,
  { owner, agentId }: { readonly owner: string; readonly agentId: string },
): Promise<string | null> {
  const known = await registry.membership(owner, agentId, caller.registry);
  const workspace = known?.startsWith(WORKSPACE) === true ? known.slice(WORKSPACE.length) : null;
  return workspace === null || mayActIn(caller, workspace) ? known : null;
}

/** What only members read is not there for anybody else. */
export async function mayRead(
  deps: Membership,
  caller: Caller,
  { scope, viewer }: { readonly scope: Scope | null; readonly viewer: string | null },
): Promise<boolean> {
  if (scope === null || scope.visibility === 'public') return true;
  if (viewer === null) return false;
  return (await membershipOf(deps, caller, { owner: scope.owner, agentId: viewer })) !== null;
}

interface Scoped {
  readonly header: { readonly scope: Scope | null };
}

/** Of these topics those that are there for the viewer, in their order; each scope is asked for once. */
export async function readable<Row extends Scoped>(
  deps: Membership,
  caller: Caller,
  { rows, viewer }: { readonly rows: readonly Row[]; readonly viewer: string | null },
): Promise<Row[]> {
  const judged = new Map<string | null, Promise<boolean>>();
  const mayReadRow = ({ header: { scope } }: Row): Promise<boolean> => {
    const key = scope?.visibility === 'scope' ? scope.owner : null;
    const answer = judged.get(key) ?? mayRead(deps, caller, { scope, viewer });
    judged.set(key, answer);
    return answer;
  };
  const shown = await Promise.all(rows.map(mayReadRow));
  return rows.filter((_, index) => shown[index] === true);
}

/** What somebody wrote is its own, but not for a token that is bound to another workspace. */
export function isOwnTopic(
  caller: Caller,
  agentId: string | null,
  { author, scope }: { readonly author: string; readonly scope: Scope | null },
): boolean {
  if (agentId !== author) return false;
  return scope?.owner.startsWith(WORKSPACE) !== true || mayActIn(caller, scope.owner.slice(WORKSPACE.length));
}

/**
 * Of whom a topic is taken to be that is not there: whoever asks for it waits for the registry as for one that is hidden, and
 * hears the same while that does not answer.
 */
export function scopeOfNothing(topic: string): Scope {
  return { owner: `agent:${topic}`, visibility: 'scope' };
}

/** The topic, where it is there for whoever looks. */
export async function shownTo<Row extends Scoped>(
  deps: Membership,
  caller: Caller,
  { topic, row, viewer }: { readonly topic: string; readonly row: Row | null; readonly viewer: string | null },
): Promise<Row | null> {
  const scope = row === null ? scopeOfNothing(topic) : row.header.scope;
  return (await mayRead(deps, caller, { scope, viewer })) ? row : null;
}
