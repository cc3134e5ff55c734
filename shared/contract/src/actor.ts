/** Who acts, as far as it decides what may be done and as whom it is recorded: one answer for all services. */
import { CallError } from './codes.ts';
import type { TokenLimits } from './registry.ts';
import { identityOf } from './subject.ts';
import type { Caller } from './tool.ts';

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
  return { identity: identityOf(subject), operator, token, name: actorName({ subject, operator }) };
}

/** As whom it is recorded. `named` = an agent that the call names, for whom nobody else stands. */
export function actorName({ subject, operator }: Pick<Acting, 'subject' | 'operator'>, named?: string): string {
  return identityOf(subject) ?? named ?? (operator ? 'operator' : 'anonymous');
}

/** A bound token acts in its workspace alone. */
export function mayActIn({ token }: Pick<Acting, 'token'>, workspace: string): boolean {
  return token === null || token.bound === null || token.bound === workspace;
}

/** What its agent has is not of that workspace: money comes from the pool there, or from nowhere. */
export function maySpendOwn({ token }: Pick<Acting, 'token'>): boolean {
  return token === null || token.bound === null;
}

/** The tool's effect is somebody's own business. */
export function isSelf({ identity }: Pick<Actor, 'identity'>, id: string): boolean {
  return identity === id;
}

/**
 * As whom a call acts: the agent of a token, or whom an operator names, else the identity of its session. Null = nobody.
 * Throws FORBIDDEN when a token names somebody else.
 */
export function actingAs({ subject, operator }: Pick<Acting, 'subject' | 'operator'>, named?: string): string | null {
  if (operator) return named ?? identityOf(subject);
  const own = subject.verified === true ? identityOf(subject) : null;
  if (own !== null && named !== undefined && named !== own)
    throw new CallError('FORBIDDEN', `A token acts as its own agent, ${own}; only an operator names somebody else.`);
  return own;
}

/** The same where somebody has to be named. Throws FORBIDDEN when a token names somebody else. */
export function actingAsNamed(caller: Pick<Acting, 'subject' | 'operator'>, named: string): string {
  const acting = actingAs(caller, named);
  if (acting === null)
    throw new CallError('FORBIDDEN', 'This takes an agent as whom it is done: the caller has no identity.');
  return acting;
}
