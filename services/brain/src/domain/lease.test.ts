import { describe, expect, it } from 'vitest';
import {
  type AcquireRequest,
  decideAcquire,
  decideForce,
  decideRelease,
  guardWrite,
  type LeaseRow,
  viewLease,
} from './lease.ts';

const FREE: LeaseRow = { fence: 6, holder: null };
const sessionA = { session: 'a'.repeat(64), verifiedAgent: null, declaredAgent: 'agent-a' };
const sessionB = { session: 'b'.repeat(64), verifiedAgent: null, declaredAgent: 'agent-a' };

function request(over: Partial<AcquireRequest>): AcquireRequest {
  return { ...sessionA, tokenHash: null, newSecretHash: 'new', ttlMs: 1000, holdsAtMostMs: null, ...over };
}

function granted(over: Partial<AcquireRequest> = {}, now = 0): LeaseRow {
  const decision = decideAcquire(FREE, request({ newSecretHash: 'secret', ...over }), now);
  if (!decision.ok) throw new Error('not granted');
  return decision.value.row;
}

describe('acquire', () => {
  it('grants a free lease with the next fence', () => {
    expect(granted()).toMatchObject({ fence: 7, holder: { agentId: 'agent-a', expiresAt: 1000, verified: false } });
  });

  it('names a holder without identity after its session', () => {
    expect(granted({ declaredAgent: null }).holder?.agentId).toBe('session:aaaaaaaa');
  });

  it('refreshes with the live token: same fence, same secret, the caller becomes the session', () => {
    const decision = decideAcquire(granted(), request({ ...sessionB, tokenHash: 'secret' }), 500);
    expect(decision).toMatchObject({ ok: true, value: { kind: 'refreshed', row: { fence: 7 } } });
    if (decision.ok)
      expect(decision.value.row.holder).toMatchObject({
        session: sessionB.session,
        expiresAt: 1500,
        secretHash: 'secret',
      });
  });

  it('denies everyone else while it lives, also under the same declared name', () => {
    const denied = decideAcquire(granted(), request(sessionB), 999);
    expect(denied).toMatchObject({ ok: false, code: 'E_LOCKED', details: { holder: 'agent-a', expiresAt: 1000 } });
    expect(decideAcquire(granted(), request({ tokenHash: 'wrong' }), 999).ok).toBe(false);
  });

  it('gives the verified holder a new token and fence, but never an unverified namesake', () => {
    const held = granted({ verifiedAgent: 'agent-a' });
    const again = decideAcquire(held, request({ ...sessionB, verifiedAgent: 'agent-a' }), 500);
    expect(again).toMatchObject({ ok: true, value: { kind: 'granted', row: { fence: 8 } } });
    expect(decideAcquire(granted(), request({ ...sessionB, verifiedAgent: 'agent-a' }), 500).ok).toBe(false);
  });

  it('lets a guest hold it no longer than a guest may, however often it renews', () => {
    const guest = { verifiedAgent: 'guest', declaredAgent: null, ttlMs: 3_600_000, holdsAtMostMs: 300_000 };
    const first = decideAcquire(FREE, request({ ...guest, newSecretHash: 'secret' }), 1000);
    expect(first).toMatchObject({ ok: true, value: { row: { holder: { acquiredAt: 1000, expiresAt: 301_000 } } } });
    const held = first.ok ? first.value.row : FREE;
    for (const again of [{ tokenHash: 'secret' }, { tokenHash: null }]) {
      expect(decideAcquire(held, request({ ...guest, ...again }), 200_000)).toMatchObject({
        ok: true,
        value: { row: { holder: { acquiredAt: 1000, expiresAt: 301_000 } } },
      });
    }
    expect(decideAcquire(held, request({ ...guest, tokenHash: 'secret', ttlMs: 2000 }), 200_000)).toMatchObject({
      value: { row: { holder: { expiresAt: 202_000 } } },
    });
    expect(decideAcquire(held, request({ ...guest }), 301_000)).toMatchObject({
      value: { row: { holder: { acquiredAt: 301_000, expiresAt: 601_000 } } },
    });
  });

  it('treats an expired lease as free at the very millisecond', () => {
    expect(decideAcquire(granted(), request(sessionB), 1000)).toMatchObject({
      ok: true,
      value: { kind: 'granted', row: { fence: 8 } },
    });
  });
});

describe('release and force', () => {
  it('releases with the live token only', () => {
    expect(decideRelease(granted(), 'secret', 500)).toMatchObject({
      ok: true,
      value: { row: { fence: 7, holder: null } },
    });
    expect(decideRelease(granted(), 'wrong', 500)).toMatchObject({ ok: false, code: 'E_LEASE_TOKEN' });
    expect(decideRelease(granted(), null, 500)).toMatchObject({ ok: false, code: 'E_LEASE_TOKEN' });
    expect(decideRelease(granted(), 'secret', 1000)).toMatchObject({ ok: false, code: 'E_LEASE_ABSENT' });
  });

  it('fences the old holder when forced', () => {
    expect(decideForce(granted(), 500)).toMatchObject({
      row: { fence: 8, holder: null },
      ended: { agentId: 'agent-a' },
    });
    expect(decideForce(FREE, 500)).toMatchObject({ row: FREE, ended: null });
  });
});

describe('the guard of writes', () => {
  it('lets anyone write while nobody holds it, but not with an old fence', () => {
    expect(guardWrite(FREE, { ...sessionB, fence: null }, 0).ok).toBe(true);
    expect(guardWrite(FREE, { ...sessionA, fence: 6 }, 0)).toMatchObject({
      ok: false,
      code: 'E_FENCED',
      details: { fence: 6 },
    });
    expect(guardWrite(granted(), { ...sessionA, fence: 7 }, 1000)).toMatchObject({ ok: false, code: 'E_FENCED' });
  });

  it('lets only the holder write, with or without its fence', () => {
    expect(guardWrite(granted(), { ...sessionA, fence: 7 }, 500).ok).toBe(true);
    expect(guardWrite(granted(), { ...sessionA, declaredAgent: null, fence: null }, 500).ok).toBe(true);
    expect(guardWrite(granted(), { ...sessionA, fence: 6 }, 500)).toMatchObject({ ok: false, code: 'E_FENCED' });
  });

  it('does not take the fence for a credential', () => {
    expect(guardWrite(granted(), { ...sessionB, fence: 7 }, 500)).toMatchObject({ ok: false, code: 'E_LOCKED' });
    expect(guardWrite(granted(), { ...sessionA, declaredAgent: 'agent-b', fence: 7 }, 500)).toMatchObject({
      ok: false,
      code: 'E_LOCKED',
    });
  });

  it('knows a verified holder in any session', () => {
    const held = granted({ verifiedAgent: 'agent-a' });
    expect(guardWrite(held, { ...sessionB, verifiedAgent: 'agent-a', fence: 7 }, 500).ok).toBe(true);
    expect(guardWrite(held, { ...sessionA, verifiedAgent: 'agent-b', fence: 7 }, 500).ok).toBe(false);
  });
});

it('shows a lease without its secret', () => {
  expect(viewLease(granted(), 400)).toEqual({
    state: 'held',
    agentId: 'agent-a',
    fence: 7,
    acquiredAt: 0,
    expiresAt: 1000,
    remainingMs: 600,
  });
  expect(JSON.stringify(viewLease(granted(), 400))).not.toContain('secret');
  expect(viewLease(granted(), 1000)).toMatchObject({ state: 'released', fence: 7, agentId: null });
});
