/** The boundaries of a brain go with it to its new name. */
import type { RegistryClient } from '@svc/runtime/registry.ts';

/** How many; null = something there has another boundary already, and nothing was changed. May be repeated. */
export type CopyBoundaries = (brain: string, to: string, by: string) => Promise<number | null>;

export function createCopyBoundaries(registry: Pick<RegistryClient, 'ask'>): CopyBoundaries {
  return async (brain, to, by) => {
    const { copied } = await registry.ask('copyPolicies', { from: `brain:${brain}`, to: `brain:${to}`, by });
    return copied;
  };
}
