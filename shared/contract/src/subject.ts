/** Who a call is judged as. */
import { z } from 'zod';
import { AgentIdText, BrainName, WorkspaceName } from './names.ts';

/** The subject of the row rules. `verified` = rebuilt by the registry from a token, never taken from an argument. */
export const Subject = z.strictObject({
  userId: z.string().min(1).max(100).optional(),
  agentId: AgentIdText.optional(),
  roles: z.array(z.string().min(1).max(64)).max(64).optional(),
  workspace: WorkspaceName.optional(),
  team: z.string().min(1).max(100).optional(),
  brain: BrainName.optional(),
  verified: z.boolean().optional(),
});
export type Subject = z.output<typeof Subject>;

/** Argument `userCtx`: believed only from an operator, and only to look as somebody. */
export const UserCtx = Subject.omit({ verified: true }).describe('Subject to look as; only an operator is believed.');
export type UserCtx = z.output<typeof UserCtx>;

/** A subject without any of these is anonymous, whatever its workspace. */
export function isAnonymous(subject: Subject): boolean {
  return subject.userId === undefined && subject.agentId === undefined;
}
