/** Who acts, as far as what may be done hangs on it. */
import type { TokenLimits } from '@svc/contract/registry.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';

/** The parts of a caller that tell who acts. */
export type Acting = Pick<Caller, 'subject' | 'operator' | 'token'>;

export interface Actor {
  /** Null = anonymous, or an operator who declares nobody. */
  readonly identity: string | null;
  readonly operator: boolean;
  readonly token: TokenLimits | null;
  /** As whom it is recorded. */
  readonly name: string;
}

export function actorOf({ subject, operator, token }: Acting): Actor {
  const identity = identityOf(subject);
  return { identity, operator, token, name: identity ?? (operator ? 'operator' : 'anonymous') };
}

/** A bound token acts in its workspace alone. */
export function mayActIn({ token }: Actor, workspace: string): boolean {
  return token === null || token.bound === null || token.bound === workspace;
}

/** The tool's effect is somebody's own business. */
export function isSelf({ identity }: Actor, id: string): boolean {
  return identity === id;
}
