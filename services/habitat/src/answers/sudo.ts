/** What other services ask about scopes. */
import { readPermission } from '../store/sudo-permission.ts';
import type { Answers } from './answers.ts';

export const sudoAnswers: Pick<Answers, 'sudo'> = {
  sudo: ({ principal, scope }, deps) => readPermission(deps, principal, scope),
};
