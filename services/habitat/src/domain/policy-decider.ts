/** Who decides about the boundary of a resource. */
import { workspaceOfHomeKey } from '@svc/contract/policy.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';

/** Container of what belongs to no workspace: nobody but operators decides about it. */
export const PUBLIC = 'public';

/** Workspaces: `own` = where the thing itself is at home, `brain` = where the brain is that it lies in; null = nowhere. */
export interface HomesOfResource {
  readonly own: string | null;
  readonly brain: string | null;
}

/** What brains hold, so that they tell where it is at home. */
export function isInBrains(resource: string): boolean {
  return /^(brain|_island):/.test(resource);
}

interface DeciderFacts {
  /** Null = brains were not asked. */
  readonly homes: HomesOfResource | null;
  /** Container of the nearest boundary around it. */
  readonly above: string | null;
}

/**
 * The workspace whose admins may attach a boundary where none is. What somebody made of its own is decided about at its
 * home, whatever lies around it. Null = cannot be told without asking the brains.
 */
export function deciderOf(resource: string, { homes, above }: DeciderFacts): string | null {
  const workspace = workspaceOfHomeKey(resource);
  if (workspace !== null) return workspace;
  if (homes !== null) return homes.own ?? above ?? homes.brain ?? PUBLIC;
  return isInBrains(resource) ? null : (above ?? DEFAULT_WORKSPACE);
}
