/** Spaces for temporary files: whose a file is, who sees it, who may change it. */
import { holdsAtLeast } from '@svc/contract/registry.ts';

export const SPACES = ['dropbox', 'yourStuff', 'myStuff'] as const;
export type Space = (typeof SPACES)[number];

/** Owner of what belongs to the whole workspace. */
export const WORKSPACE_OWNS = '';

/** Who acts, and in which workspace. */
export interface Member {
  readonly workspace: string;
  readonly actor: string;
  /** Under which it counts; null = an operator. */
  readonly family: string | null;
  /** Held in that workspace. */
  readonly roles: readonly string[];
  /** An operator who stands for nobody else. */
  readonly operator: boolean;
}

/** Whoever holds roles needs one that may write. */
export function mayWriteIn({ roles }: Pick<Member, 'roles'>): boolean {
  return roles.length === 0 || holdsAtLeast(roles, 'editor');
}

/** What others put there is its to clear, too. */
export function isKeeper({ roles, operator }: Pick<Member, 'roles' | 'operator'>): boolean {
  return operator || holdsAtLeast(roles, 'admin');
}

/** Whose a file is that the member puts there. `to`: for whom it is meant; null = for everybody of the workspace. */
export function ownerOf(space: Space, { actor }: Pick<Member, 'actor'>, to: string | null): string {
  if (space === 'myStuff') return actor;
  return space === 'yourStuff' ? (to ?? WORKSPACE_OWNS) : WORKSPACE_OWNS;
}

/** Whose files a member sees in a space, those it looks at first in front; it also sees what it handed over to others. */
export function ownersSeen(space: Space, { actor }: Pick<Member, 'actor'>): readonly string[] {
  if (space === 'dropbox') return [WORKSPACE_OWNS];
  return space === 'myStuff' ? [actor] : [actor, WORKSPACE_OWNS];
}

/** A file that is there: whose it is and who wrote it. */
export interface Held {
  readonly owner: string;
  readonly by: string;
}

export function mayReplace({ by }: Pick<Held, 'by'>, member: Member): boolean {
  return by === member.actor || mayWriteIn(member);
}

/** What somebody was handed is its own to delete. */
export function mayDelete({ owner, by }: Held, member: Member): boolean {
  return by === member.actor || owner === member.actor || (owner === WORKSPACE_OWNS && mayWriteIn(member));
}

/** Who hears of a file. */
export function hearersOf({ workspace }: Pick<Member, 'workspace'>, { owner, by }: Held): string[] {
  return owner === WORKSPACE_OWNS ? [`ws:${workspace}`] : [...new Set([owner, by])];
}
