/** A member's part of a pool: a limit of its own below the pool's, and what it used. All amounts are micro-credits. */
import { type Account, available, credits } from './account.ts';

export interface Member {
  readonly workspaceId: string;
  readonly agentId: string;
  /** Null = the pool's. */
  readonly limit: bigint | null;
  readonly spent: bigint;
  readonly pending: bigint;
  /** Draws of the minute that began then (ms since the epoch; null = none yet). */
  readonly drawsSince: number | null;
  readonly draws: number;
  readonly version: bigint;
}

/** A member as callers see it, in credits. */
export interface MemberBudget {
  readonly spent: number;
  readonly limit: number;
  readonly available: number;
  readonly pending: number;
}

export function newMember(workspaceId: string, agentId: string): Member {
  return {
    workspaceId,
    agentId,
    limit: null,
    spent: 0n,
    pending: 0n,
    drawsSince: null,
    draws: 0,
    version: 0n,
  };
}

type Pool = Pick<Account, 'limit' | 'spent' | 'earned' | 'pending'>;

function memberLimit(member: Member, pool: Pool): bigint {
  return member.limit ?? pool.limit;
}

export function memberAvailable(member: Member, pool: Pool): bigint {
  const left = memberLimit(member, pool) - member.spent - member.pending;
  return left > 0n ? left : 0n;
}

type DrawDenial = 'member_limit_exceeded' | 'workspace_pool_exceeded';

/**
 * Why a draw is refused, or null. A member's own limit speaks first; one that is only the pool's says nothing that the
 * pool does not say better.
 */
export function drawDenial(member: Member, pool: Pool, amount: bigint): DrawDenial | null {
  const memberFits = memberAvailable(member, pool) >= amount;
  if (!memberFits && member.limit !== null) return 'member_limit_exceeded';
  if (available(pool) < amount) return 'workspace_pool_exceeded';
  return memberFits ? null : 'member_limit_exceeded';
}

export function memberBudgetOf(member: Member, pool: Pool): MemberBudget {
  return {
    spent: credits(member.spent),
    limit: credits(memberLimit(member, pool)),
    available: credits(memberAvailable(member, pool)),
    pending: credits(member.pending),
  };
}

const MINUTE_MS = 60_000;

/** The member with one more draw counted, or null when it would be one too many for this minute. */
export function countDraw(member: Member, now: number, perMinute: number): Member | null {
  const isFresh = member.drawsSince === null || now - member.drawsSince >= MINUTE_MS;
  const counted = isFresh ? { drawsSince: now, draws: 1 } : { draws: member.draws + 1 };
  const next = { ...member, ...counted };
  return perMinute > 0 && next.draws > perMinute ? null : next;
}
