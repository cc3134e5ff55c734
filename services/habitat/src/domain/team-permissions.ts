/** What the permissions of a team role grant. */

/** Whoever holds it may change the organisation. */
export const ORG_ADMIN = 'org:admin';
/** Whoever holds it may spend what belongs to the organisation. */
export const SPEND = 'spend';

/** `*` grants everything, `doc:*` whatever begins with `doc:`, anything else itself. */
function grants(held: string, permission: string): boolean {
  if (held === '*' || held === permission) return true;
  return held.endsWith(':*') && permission.startsWith(held.slice(0, -1));
}

/** The first of the held permissions that grants it; null = none does. */
export function grantingPermission(held: readonly string[], permission: string): string | null {
  return held.find((one) => grants(one, permission)) ?? null;
}

/** Nobody passes on more than they hold. */
export function grantsAll(held: readonly string[], permissions: readonly string[]): boolean {
  return permissions.every((permission) => grantingPermission(held, permission) !== null);
}
