/** Whether a scope is held: the one question for tools and for other services. */
import type { HabitatDeps } from '../deps.ts';
import { coveringGrant } from '../domain/sudo.ts';
import { parseScope } from '../domain/sudo-scopes.ts';
import { noteUse, readHeld } from './sudo-rows.ts';

export interface Permission {
  readonly allowed: boolean;
  readonly because: string;
  readonly expiresAt?: number;
}

export const NO_GRANT: Permission = { allowed: false, because: 'no-grant' };
const USE_NOTED_EVERY_MS = 60_000;

/** Whether the principal holds what the text asks for, now. What is used is remembered, so that the rest can be given back. */
export async function readPermission(
  { store, platform }: Pick<HabitatDeps, 'store' | 'platform'>,
  principal: string,
  text: string,
): Promise<Permission> {
  const scope = parseScope(text);
  if (scope === null) return { allowed: false, because: 'unknown-action' };
  const grant = coveringGrant(await readHeld(store.client, principal), scope);
  if (grant === null) return NO_GRANT;
  if (grant.usedAt === null || platform.clock.now() - grant.usedAt >= USE_NOTED_EVERY_MS) {
    await noteUse(store.client, principal, grant.scope).catch((error: unknown) => {
      platform.log.debug({ err: error }, 'the use of a scope was not noted');
    });
  }
  return { allowed: true, because: grant.scope, expiresAt: grant.expiresAt };
}
