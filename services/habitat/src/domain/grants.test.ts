import { assert, boolean, constantFrom, integer, option, property, record, subarray } from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, test } from 'vitest';
import type { Actor } from './actor.ts';
import {
  mayCreateWorkspace,
  mayRemoveRole,
  mayRevokeToken,
  maySeeRoles,
  mintTerms,
  visibleWorkspaces,
} from './grants.ts';
import type { IdentityRows } from './identity.ts';

const NOW = 1_000_000;

function actor(identity: string | null, over: Partial<Actor> = {}): Actor {
  return { identity, operator: false, token: null, name: identity ?? 'anonymous', ...over };
}

const OPERATOR = actor(null, { operator: true, name: 'operator' });

function boundTo(workspace: string, expiresAt = NOW + 100): Pick<Actor, 'token'> {
  return { token: { tokenId: 'tok_1', bound: workspace, readOnly: false, profile: null, expiresAt } };
}

const AGENT: IdentityRows = {
  id: 'agt_1',
  agent: { name: 'a', team: null, brain: null, workspace: 'home', killed: false, createdBy: 'maker', family: 'maker' },
  quarantined: false,
  roles: [
    { workspace: 'away', role: 'viewer', source: 'outside' },
    { workspace: 'home', role: 'editor', source: 'family' },
  ],
  assignment: null,
};

describe('who may', () => {
  test.each([
    ['for itself', actor('a'), 'w', 'a', true],
    ['for another', actor('a'), 'w', 'b', false],
    ['for nobody', actor(null), 'w', null, false],
    ['of a team', actor('a'), 'Org-w', 'a', false],
    ['of a team, operator', OPERATOR, 'org-w', null, true],
    ['bound elsewhere', actor('a', boundTo('x')), 'w', 'a', false],
  ] as const)('make a workspace: %s', (_case, who, workspaceId, owner, expected) => {
    expect(mayCreateWorkspace(who, workspaceId, owner)).toBe(expected);
  });

  test.each([
    [OPERATOR, [], true, true],
    [actor('a'), ['admin'], true, true],
    [actor('a'), ['editor'], false, true],
    [actor('u'), ['viewer'], true, true],
    [actor('u'), [], false, true],
    [actor('a'), [], false, false],
  ] as const)('take and see the role of u: %j with %j', (who, held, mayRemove, maySee) => {
    expect(mayRemoveRole(who, held, 'u')).toBe(mayRemove);
    expect(maySeeRoles(who, held, 'u')).toBe(maySee);
  });

  test.each([
    [OPERATOR, null, [], true],
    [actor('agt_1'), null, [], true],
    [actor('minter'), null, [], true],
    [actor('a'), 'w', ['admin'], true],
    [actor('a'), 'w', ['editor'], false],
    [actor('a'), null, ['admin'], false],
    [actor(null), 'w', [], false],
    [actor('agt_1', boundTo('w')), 'w', [], true],
    [actor('agt_1', boundTo('w')), 'x', [], false],
    [actor('agt_1', boundTo('w')), null, [], false],
    [actor('minter', boundTo('w')), 'x', [], false],
  ] as const)('end a token of agt_1: %j, bound to %s', (who, bound, held, expected) => {
    expect(mayRevokeToken(who, { agentId: 'agt_1', bound, mintedBy: 'minter' }, held)).toBe(expected);
  });

  test('know an agent: oneself everything, its maker the home, fellows what they share, others nothing', () => {
    expect(visibleWorkspaces(OPERATOR, AGENT, [])).toEqual(['away', 'home']);
    expect(visibleWorkspaces(actor('agt_1'), AGENT, [])).toEqual(['away', 'home']);
    expect(visibleWorkspaces(actor('agt_1', boundTo('home')), AGENT, [])).toEqual(['home']);
    expect(visibleWorkspaces(actor('maker'), AGENT, [])).toEqual(['home']);
    expect(visibleWorkspaces(actor('maker', boundTo('home')), AGENT, [])).toEqual(['home']);
    expect(visibleWorkspaces(actor('maker', boundTo('away')), AGENT, [])).toBeNull();
    expect(visibleWorkspaces(actor('fellow'), AGENT, ['away'])).toEqual(['away']);
    expect(visibleWorkspaces(actor('x'), AGENT, [])).toBeNull();
    expect(visibleWorkspaces(OPERATOR, { ...AGENT, roles: [] }, [])).toBeNull();
    const killed = AGENT.agent && { ...AGENT.agent, killed: true };
    expect(visibleWorkspaces(OPERATOR, { ...AGENT, agent: killed }, [])).toBeNull();
  });
});

describe('minting', () => {
  const wish = { ttlMs: undefined, workspace: undefined, readOnly: undefined, profile: undefined };
  const facts = { rows: AGENT, shared: ['home'], heldAtHome: [] as string[], passedOn: ['editor'], now: NOW };

  test('an agent without a home of its own making is nobody that an admin may mint for', () => {
    const user: IdentityRows = { ...AGENT, agent: null };
    const admin = { ...facts, actor: actor('adm'), heldAtHome: ['admin'] };
    expect(mintTerms(wish, admin)).toMatchObject({ ok: true, value: { bound: 'home', expiresAt: NOW + 86_400_000 } });
    expect(mintTerms(wish, { ...admin, rows: user })).toMatchObject({ code: 'FORBIDDEN' });
    expect(mintTerms({ ...wish, workspace: 'away' }, admin)).toMatchObject({ code: 'FORBIDDEN' });
    expect(mintTerms(wish, { ...admin, shared: [] })).toMatchObject({ code: 'AGENT_NOT_FOUND' });
  });

  test('an operator may bind it to where the agent holds a role', () => {
    const operator = { ...facts, actor: OPERATOR };
    expect(mintTerms({ ...wish, workspace: 'away' }, operator)).toMatchObject({ value: { bound: 'away' } });
    expect(mintTerms({ ...wish, workspace: 'else' }, operator)).toMatchObject({ code: 'AGENT_NOT_FOUND' });
    expect(mintTerms(wish, operator)).toMatchObject({ value: { bound: null } });
  });

  test('who acts when its token has ended mints for nobody', () => {
    for (const identity of ['agt_1', 'maker', 'adm']) {
      const held = { ...facts, heldAtHome: ['admin'] };
      const asked = (expiresAt: number) =>
        mintTerms(wish, { ...held, actor: actor(identity, boundTo('home', expiresAt)) });
      expect(asked(NOW + 1)).toMatchObject({ ok: true });
      expect(asked(NOW)).toMatchObject({ code: 'FORBIDDEN' });
    }
  });

  test('a creator mints for no agent that is more than the creator there', () => {
    const maker = { ...facts, actor: actor('maker') };
    const asked = (...passedOn: string[]) => mintTerms(wish, { ...maker, passedOn });
    for (const role of ['editor', 'admin']) expect(asked(role)).toMatchObject({ ok: true, value: { bound: 'home' } });
    expect(asked()).toMatchObject({ code: 'FORBIDDEN' });
    expect(asked('viewer')).toMatchObject({ code: 'FORBIDDEN' });
    const promoted: IdentityRows = {
      ...AGENT,
      roles: [...AGENT.roles, { workspace: 'home', role: 'admin', source: 'outside' }],
    };
    expect(mintTerms(wish, { ...maker, rows: promoted })).toMatchObject({ code: 'FORBIDDEN' });
  });

  test('nobody but an operator gives more than they have', () => {
    const text = (...values: string[]) => constantFrom(...values);
    const token = record({
      tokenId: text('tok_1'),
      bound: option(text('home', 'away')),
      readOnly: boolean(),
      profile: option(text('core', 'full')),
      expiresAt: integer({ min: NOW + 1, max: NOW + 100_000_000 }),
    });
    const asked = record({
      ttlMs: option(integer({ min: 1, max: 100_000_000 }), { nil: undefined }),
      workspace: option(text('home', 'away', 'else'), { nil: undefined }),
      readOnly: option(boolean(), { nil: undefined }),
      profile: option(text('core', 'full', 'brain'), { nil: undefined }),
    });
    const held = subarray(['viewer', 'editor', 'admin']);
    let allowed = 0;
    assert(
      property(text('agt_1', 'maker', 'other'), token, asked, held, (identity, limits, wanted, heldAtHome) => {
        const who = actor(identity, { token: limits });
        const terms = mintTerms(wanted, { ...facts, actor: who, heldAtHome });
        if (!terms.ok) return;
        allowed += 1;
        const { bound, readOnly, profile, expiresAt } = terms.value;
        if (limits.readOnly) expect(readOnly).toBe(true);
        if (limits.profile !== null) expect(profile).toBe(limits.profile);
        if (identity === 'agt_1') expect(bound).toBe(limits.bound ?? wanted.workspace ?? null);
        else expect(bound).toBe('home');
        if (!heldAtHome.includes('admin') || identity === 'agt_1')
          expect(expiresAt).toBeLessThanOrEqual(limits.expiresAt);
        if (identity === 'other') expect(heldAtHome).toContain('admin');
      }),
      { numRuns: runs(2000), seed: 11 },
    );
    expect(allowed).toBeGreaterThan(runs(2000) / 20);
  });
});
