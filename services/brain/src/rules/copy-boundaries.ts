/** Boundaries of a brain as a whole: those it begins with, and those that go with it to a new name. */
import type { RegistryClient } from '@svc/runtime/registry.ts';

/** How many; null = something there has another boundary already, and nothing was changed. May be repeated. */
export type CopyBoundaries = (brain: string, to: string, by: string) => Promise<number | null>;

/** A new brain gets the boundary that its home has declared, if it has one. Throws SERVICE_UNAVAILABLE. */
export type ClaimBoundary = (brain: string, workspace: string, by: string) => Promise<void>;

export function createClaimBoundary(registry: Pick<RegistryClient<'brain'>, 'claim'>): ClaimBoundary {
  return async (brain, workspaceId, by) => {
    await registry.claim({ resource: `brain:${brain}`, workspaceId, by, declared: true });
  };
}

export function createCopyBoundaries(registry: Pick<RegistryClient<'brain'>, 'copyPolicies'>): CopyBoundaries {
  return async (brain, to, by) => {
    const { copied } = await registry.copyPolicies({ from: `brain:${brain}`, to: `brain:${to}`, by });
    return copied;
  };
}
