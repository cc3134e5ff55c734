/** How much may lie in temporary spaces at a time. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const MIB = 1024 * 1024;

/** What lies there, or may. */
export interface Amount {
  readonly files: number;
  readonly bytes: number;
}

/** Of one owner in one space of a workspace. */
export const OWNER_QUOTA: Amount = { files: 1000, bytes: 64 * MIB };
/** Of everything that a tree of spawns has put anywhere: whoever spawns owners gets no more room by it. */
const FAMILY_QUOTA: Amount = { files: 4000, bytes: 256 * MIB };

/** Of the cache of a workspace. */
export const CACHE_QUOTA: Amount = { files: 10_000, bytes: 64 * MIB };

export const STASHES_KEPT = 20;

/** `owner` and `family`: what lies there without the file that is to come. */
export interface Use {
  readonly owner: Amount;
  readonly family: Amount;
}

/** Room for one more file of so many bytes. */
export function decideRoom({ owner, family }: Use, bytes: number): Decision<null, 'E_QUOTA'> {
  if (!hasRoom(owner, OWNER_QUOTA, bytes)) return deny('E_QUOTA', { of: 'space', ...OWNER_QUOTA });
  if (!hasRoom(family, FAMILY_QUOTA, bytes)) return deny('E_QUOTA', { of: 'family', ...FAMILY_QUOTA });
  return allow(null);
}

function hasRoom(used: Amount, quota: Amount, bytes: number): boolean {
  return used.files < quota.files && used.bytes + bytes <= quota.bytes;
}
