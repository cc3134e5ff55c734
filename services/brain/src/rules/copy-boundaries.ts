/** Boundaries of a brain as a whole: those it begins with, and those that go with it to a new name. */
import type { RegistryClient } from '@svc/runtime/registry.ts';

export interface CopyBoundaries {
  /** What has a copy now; null = something there has another boundary already, and nothing was changed. May be repeated. */
  copy(brain: string, to: string, by: string): Promise<readonly string[] | null>;
  /** Takes copies away again that nobody has changed since. */
  undo(copies: readonly string[], by: string): Promise<void>;
}

/**
 * A new brain gets the boundary of its home: `declared` = if that has declared one, `always` = else the one that every
 * workspace has. Throws SERVICE_UNAVAILABLE.
 */
export type ClaimBoundary = (
  brain: string,
  maker: { readonly workspace: string; readonly by: string },
  when: 'declared' | 'always',
) => Promise<void>;

export function createClaimBoundary(registry: Pick<RegistryClient<'brain'>, 'claim'>): ClaimBoundary {
  return async (brain, { workspace: workspaceId, by }, when) => {
    const resource = `brain:${brain}`;
    await registry.claim({ resource, workspaceId, by, ...(when === 'declared' ? { declared: true } : {}) });
  };
}

export function createCopyBoundaries(
  registry: Pick<RegistryClient<'brain'>, 'copyPolicies' | 'removeCopies'>,
): CopyBoundaries {
  return {
    async copy(brain, to, by) {
      const { copied, resources = [] } = await registry.copyPolicies({
        from: `brain:${brain}`,
        to: `brain:${to}`,
        by,
      });
      return copied === null ? null : resources;
    },
    async undo(copies, by) {
      if (copies.length > 0) await registry.removeCopies({ resources: [...copies], by });
    },
  };
}
