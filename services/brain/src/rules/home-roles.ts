/** What a caller holds where a brain is at home. */
import { mayActIn } from '@svc/contract/actor.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { createStampedCache, type RegistryClient } from '@svc/runtime/registry.ts';

export type Acting = Pick<Caller, 'subject' | 'token' | 'registry' | 'operator'>;

/** Throws SERVICE_UNAVAILABLE when the registry does not answer. */
export type HomeRoles = (caller: Acting, workspace: string) => Promise<readonly string[]>;

/** Where the caller holds a role and may act; null = an operator, who may everywhere. Throws SERVICE_UNAVAILABLE as well. */
export type WorkspacesOf = (caller: Acting) => Promise<readonly string[] | null>;

const REMEMBERED = 10_000;

export function createWorkspacesOf(registry: Pick<RegistryClient<'brain'>, 'context' | 'revision'>): WorkspacesOf {
  const held = createStampedCache<readonly string[]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    async read(agentId) {
      const { stamp, roles } = await registry.context({ agentId });
      return { stamp, value: Object.keys(roles) };
    },
  });
  return async ({ subject, token, operator, registry: stamp }) => {
    if (operator) return null;
    const identity = identityOf(subject);
    if (identity === null || subject.verified !== true) return [];
    const workspaces = await held.get(identity, stamp ?? (await registry.revision()).stamp);
    return workspaces.filter((workspace) => mayActIn({ token }, workspace));
  };
}

export function createHomeRoles(registry: Pick<RegistryClient<'brain'>, 'roles' | 'revision'>): HomeRoles {
  const roles = createStampedCache<readonly string[], readonly [string, string]>({
    hangsOn: 'rev',
    max: REMEMBERED,
    keyOf: (source) => source.join(' '),
    async read([userId, workspaceId]) {
      const { stamp, roles: held } = await registry.roles({ userId, workspaceId });
      return { stamp, value: held };
    },
  });
  const stampOf = async (stamp: RegistryStamp | null): Promise<RegistryStamp> =>
    stamp ?? (await registry.revision()).stamp;
  return async ({ subject, token, registry: stamp }, workspace) => {
    const identity = identityOf(subject);
    if (identity === null || subject.verified !== true || !mayActIn({ token }, workspace)) return [];
    // There it may look through fewer roles than it holds.
    if (subject.workspace === workspace) return subject.roles ?? [];
    return roles.get([identity, workspace], await stampOf(stamp));
  };
}
