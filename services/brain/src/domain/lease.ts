/** The lease of a brain as a state machine: rows in, decisions out. Time is whatever the database said. */
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

/** One row per brain, from the brain's creation on; `holder` null = free. Times in ms since the epoch. */
export interface LeaseRow {
  readonly fence: number;
  readonly holder: LeaseHolder | null;
}

export interface LeaseHolder {
  readonly agentId: string;
  /** True when a registry-verified identity acquired it. */
  readonly verified: boolean;
  readonly session: string;
  /** SHA-256 of the token, hex. */
  readonly secretHash: string;
  readonly acquiredAt: number;
  readonly expiresAt: number;
}

/** Who asks, as far as the lease cares. */
export interface LeaseCaller {
  readonly session: string;
  /** Identity that the registry verified; null when there is none. */
  readonly verifiedAgent: string | null;
  /** `agentId` argument, as given. */
  readonly declaredAgent: string | null;
}

export const LeaseView = z.strictObject({
  state: z.enum(['held', 'released']),
  agentId: z.string().nullable(),
  fence: z.number(),
  acquiredAt: z.number().nullable(),
  expiresAt: z.number().nullable(),
  remainingMs: z.number(),
});
export type LeaseView = Readonly<z.output<typeof LeaseView>>;

type LeaseTransition =
  | { readonly kind: 'granted'; readonly row: LeaseRow }
  | { readonly kind: 'refreshed'; readonly row: LeaseRow }
  | { readonly kind: 'released'; readonly row: LeaseRow; readonly ended: LeaseHolder }
  | { readonly kind: 'forced'; readonly row: LeaseRow; readonly ended: LeaseHolder | null };

export type AcquireRequest = LeaseCaller & {
  readonly tokenHash: string | null;
  /** Hash of the token to hand out if a new one is granted. */
  readonly newSecretHash: string;
  readonly ttlMs: number;
  /** How long the caller may hold the lease in all, renewals included; null = as long as it asks for. */
  readonly holdsAtMostMs: number | null;
};

export const LEASE_TTL = { minimumMs: 1000, maximumMs: 86_400_000, defaultMs: 3_600_000 } as const;
/** Of whoever holds no role where the brain is at home. */
export const GUEST_LEASE_MS = 300_000;

/** The live holder at `now`, or null: an expired lease is free for every statement that looks. */
export function liveHolder(row: LeaseRow, now: number): LeaseHolder | null {
  return row.holder !== null && row.holder.expiresAt > now ? row.holder : null;
}

export function decideAcquire(
  row: LeaseRow,
  request: AcquireRequest,
  now: number,
): Decision<LeaseTransition, 'E_LOCKED'> {
  const holder = liveHolder(row, now);
  if (holder !== null && request.tokenHash === holder.secretHash) {
    const expiresAt = expiryOf(request, holder.acquiredAt, now);
    return allow({ kind: 'refreshed', row: { ...row, holder: { ...holder, session: request.session, expiresAt } } });
  }
  const isHolder = holder?.verified === true && request.tokenHash === null && request.verifiedAgent === holder.agentId;
  if (holder !== null && !isHolder) return deny('E_LOCKED', { holder: holder.agentId, expiresAt: holder.expiresAt });
  // Who is granted its own lease again has held it since the first time.
  const acquiredAt = request.holdsAtMostMs === null ? now : (holder?.acquiredAt ?? now);
  const granted: LeaseHolder = {
    agentId: holderName(request),
    verified: request.verifiedAgent !== null,
    session: request.session,
    secretHash: request.newSecretHash,
    acquiredAt,
    expiresAt: expiryOf(request, acquiredAt, now),
  };
  return allow({ kind: 'granted', row: { fence: row.fence + 1, holder: granted } });
}

function expiryOf({ ttlMs, holdsAtMostMs }: AcquireRequest, acquiredAt: number, now: number): number {
  return Math.min(now + ttlMs, holdsAtMostMs === null ? Infinity : acquiredAt + holdsAtMostMs);
}

/** Without any identity the holder is named after its session, so that nobody else is taken for it. */
function holderName({ verifiedAgent, declaredAgent, session }: LeaseCaller): string {
  return verifiedAgent ?? declaredAgent ?? `session:${session.slice(0, 8)}`;
}

/** Whoever works for somebody names a session of its own, under which nobody else can be. */
interface WorkLease {
  readonly session: string;
  readonly agentId: string;
  readonly ttlMs: number;
  /** Of a token that nobody has. */
  readonly secretHash: string;
}

/** `caller`: for whom it works, under whose own lease it goes on. */
export function decideHold(
  row: LeaseRow,
  { session, agentId, ttlMs, secretHash }: WorkLease,
  caller: LeaseCaller,
  now: number,
): Decision<{ readonly kind: 'granted' | 'refreshed' | 'callers'; readonly row: LeaseRow }, 'E_LOCKED'> {
  const holder = liveHolder(row, now);
  const expiresAt = now + ttlMs;
  if (holder === null) {
    const granted = { agentId, verified: false, session, secretHash, acquiredAt: now, expiresAt };
    return allow({ kind: 'granted', row: { fence: row.fence + 1, holder: granted } });
  }
  if (holder.session === session)
    return allow({ kind: 'refreshed', row: { ...row, holder: { ...holder, expiresAt } } });
  if (passesGuard(holder, caller)) return allow({ kind: 'callers', row });
  return deny('E_LOCKED', { holder: holder.agentId, expiresAt: holder.expiresAt });
}

/** Null = it is not held under that session. */
export function decideGiveBack(
  row: LeaseRow,
  session: string,
  now: number,
): { readonly row: LeaseRow; readonly ended: LeaseHolder } | null {
  const holder = liveHolder(row, now);
  return holder?.session === session ? { row: { fence: row.fence, holder: null }, ended: holder } : null;
}

export function decideRelease(
  row: LeaseRow,
  tokenHash: string | null,
  now: number,
): Decision<Extract<LeaseTransition, { kind: 'released' }>, 'E_LEASE_ABSENT' | 'E_LEASE_TOKEN'> {
  const holder = liveHolder(row, now);
  if (holder === null) return deny('E_LEASE_ABSENT');
  if (tokenHash !== holder.secretHash) return deny('E_LEASE_TOKEN');
  return allow({ kind: 'released', row: { fence: row.fence, holder: null }, ended: holder });
}

/** Forcing fences the old holder at once, whether or not the lease was still live. */
export function decideForce(row: LeaseRow, now: number): Extract<LeaseTransition, { kind: 'forced' }> {
  const holder = liveHolder(row, now);
  const fence = holder === null ? row.fence : row.fence + 1;
  return { kind: 'forced', row: { fence, holder: null }, ended: holder };
}

/**
 * The guard of every write. A fence must be that of a live lease, so nobody can have written in between; it proves
 * nothing about who asks.
 */
export function guardWrite(
  row: LeaseRow,
  caller: LeaseCaller & { readonly fence: number | null },
  now: number,
): Decision<null, 'E_LOCKED' | 'E_FENCED'> {
  const { fence } = caller;
  const holder = liveHolder(row, now);
  if (holder !== null && !passesGuard(holder, caller)) {
    return deny('E_LOCKED', { holder: holder.agentId, expiresAt: holder.expiresAt });
  }
  if (fence !== null && (holder === null || fence !== row.fence)) return deny('E_FENCED', { fence: row.fence });
  return allow(null);
}

function passesGuard(holder: LeaseHolder, caller: LeaseCaller): boolean {
  if (caller.verifiedAgent !== null) return holder.verified && caller.verifiedAgent === holder.agentId;
  const sameName = caller.declaredAgent === null || caller.declaredAgent === holder.agentId;
  return caller.session === holder.session && sameName;
}

export function viewLease(row: LeaseRow, now: number): LeaseView {
  const holder = liveHolder(row, now);
  return {
    state: holder === null ? 'released' : 'held',
    agentId: holder?.agentId ?? null,
    fence: row.fence,
    acquiredAt: holder?.acquiredAt ?? null,
    expiresAt: holder?.expiresAt ?? null,
    remainingMs: holder === null ? 0 : holder.expiresAt - now,
  };
}
