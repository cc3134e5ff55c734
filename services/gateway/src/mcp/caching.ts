/** Results that clients of the newer era may keep say for how long, and whether for themselves alone. */
import { type Answered, joined } from '../domain/mcp-results.ts';
import type { Asked } from './room.ts';

export const LIST_TTL_MS = 300_000;

export function cacheable(
  { message: { era } }: Pick<Asked, 'message'>,
  members: string,
  ttlMs: number,
  scope: 'public' | 'private',
): Answered {
  return { members: era === 'modern' ? joined(members, `"ttlMs":${ttlMs},"cacheScope":"${scope}"`) : members };
}
