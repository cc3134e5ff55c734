/** What other services ask about scopes. */
import { readPermission } from '../store/sudo-permission.ts';
import type { HabitatHandlers } from './handlers.ts';

export const sudoOperations: HabitatHandlers<'sudo'> = {
  sudo: ({ principal, scope }, { deps }) => readPermission(deps, principal, scope),
};
