/** Where what somebody makes is at home. */
import type { Subject } from '@svc/contract/subject.ts';

/**
 * The workspace of a verified subject that holds a role there; null = what it makes is at home where the brain is,
 * because operators, people with editors and nobody in particular make for everybody.
 */
export function homeOfMaker({ verified, workspace, roles = [] }: Subject): string | null {
  return verified === true && workspace !== undefined && roles.length > 0 ? workspace : null;
}
