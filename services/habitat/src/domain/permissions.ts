/** What the roles of an application token permit, and who may put which into one. */
import { holdsAtLeast, ROLES, type Role } from '@svc/contract/registry.ts';

const OF_ROLE: ReadonlyMap<string, readonly string[]> = new Map([
  ['viewer', ['read']],
  ['editor', ['read', 'write']],
  ['admin', ['read', 'write', 'delete', 'admin']],
]);

/** Another spelling of the same four. */
const CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['canRead', 'read'],
  ['canWrite', 'write'],
  ['canDelete', 'delete'],
  ['canAdmin', 'admin'],
]);

/** A role that is none of the three permits what is called like it. */
export function permits(roles: readonly string[], permission: string): boolean {
  const wanted = meaningOf(permission);
  return roles.some((role) => (OF_ROLE.get(role) ?? [meaningOf(role)]).includes(wanted));
}

function meaningOf(permission: string): string {
  return CAPABILITIES.get(permission) ?? permission;
}

/** A stronger workspace role holds the weaker ones. */
export function holdsNamed(held: readonly string[], role: string): boolean {
  return (ROLES as readonly string[]).includes(role) ? holdsAtLeast(held, role as Role) : held.includes(role);
}
