/** Who a call is judged as. */
import { z } from 'zod';
import { BrainName, SubjectId, WorkspaceName } from './names.ts';

/** The subject of the row rules. `verified` = rebuilt by the registry from a token, never taken from an argument. */
export const Subject = z.strictObject({
  userId: SubjectId.optional(),
  agentId: SubjectId.optional(),
  name: z.string().max(100).optional(),
  /** Roles in `workspace` alone. */
  roles: z.array(z.string().min(1).max(64)).max(64).optional(),
  workspace: WorkspaceName.optional(),
  team: z.string().min(1).max(128).optional(),
  brain: BrainName.optional(),
  verified: z.boolean().optional(),
  /** Root of the tree of spawns it belongs to: what spawning could multiply is counted under it. */
  family: SubjectId.optional(),
  /** The registry knows no workspace of that name: only what is public matches. */
  unknownWorkspace: z.literal(true).optional(),
});
export type Subject = z.output<typeof Subject>;

/** Argument `userCtx`: believed only from an operator, and only to look as somebody. */
export const UserCtx = Subject.omit({ verified: true, family: true, unknownWorkspace: true }).describe(
  'Subject to look as; only an operator is believed.',
);
export type UserCtx = z.output<typeof UserCtx>;

/** A subject as it is shown to others. */
export const ShownSubject = Subject.omit({ family: true });

export function shownSubject({ family: _family, ...shown }: Subject): z.output<typeof ShownSubject> {
  return shown;
}

/** The workspace that always exists, and the current one of a session that set none. */
export const DEFAULT_WORKSPACE = 'default';

/** A subject without any of these is anonymous, whatever its workspace. */
export function isAnonymous(subject: Subject): boolean {
  return subject.userId === undefined && subject.agentId === undefined;
}

/** The one name under which a subject acts; agents and users share a namespace. Null = anonymous. */
export function identityOf(subject: Subject): string | null {
  return subject.agentId ?? subject.userId ?? null;
}

/** Under which name counts what spawning could multiply. Null = anonymous. */
export function familyOf(subject: Subject): string | null {
  return subject.family ?? identityOf(subject);
}
