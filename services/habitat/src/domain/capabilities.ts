/** What the roles of one workspace allow in it. */
import { holdsAtLeast } from '@svc/contract/registry.ts';

interface Capabilities {
  readonly canRead: boolean;
  readonly canWrite: boolean;
  readonly canAdmin: boolean;
  readonly canDelete: boolean;
}

export function capabilitiesOf(roles: readonly string[]): Capabilities {
  const isAdmin = holdsAtLeast(roles, 'admin');
  return {
    canRead: holdsAtLeast(roles, 'viewer'),
    canWrite: holdsAtLeast(roles, 'editor'),
    canAdmin: isAdmin,
    canDelete: isAdmin,
  };
}
