/** Who presented what at the door. */
import type { PlanName, RegistryStamp, VerifiedToken } from '@svc/contract/registry.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Revision } from '@svc/runtime/registry.ts';

export interface Identity {
  /** `tok:<agentId>`, `key:<id>`, `local` or `anon:<address>`. */
  readonly principal: string;
  /** Whose current values its calls find: the principal, but those of a token that is bound to a workspace are its own. */
  readonly sessionOwner: string;
  readonly operator: boolean;
  readonly token: VerifiedToken | null;
  readonly plan: PlanName;
  /** Owner of the rate bucket. */
  readonly bucket: string;
}

export function ownerOf({ subject, limits }: VerifiedToken): string {
  return identityOf(subject) ?? limits.tokenId;
}

/** No id has a blank in it. */
export function sessionOwnerOf(token: VerifiedToken): string {
  const { bound } = token.limits;
  return `tok:${ownerOf(token)}${bound === null ? '' : ` in ${bound}`}`;
}

/** A caller, and the state of the registry by which everything about this one request is judged. */
export interface Visit {
  readonly identity: Identity;
  /** Read after the request came in; null = the registry does not answer. Never rejects. */
  readonly revision: Promise<Revision | null>;
}

export async function stampOf({ revision }: Pick<Visit, 'revision'>): Promise<RegistryStamp | null> {
  return (await revision)?.stamp ?? null;
}
