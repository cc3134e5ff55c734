import type { EventRecord } from './events.ts';
import { DEFAULT_POLICY, type Policy } from './policy.ts';
import { describe, expect, test } from 'vitest';
import { type Listener, listenerOf, listenerOfToken, visiblePayload } from './event-visibility.ts';

const event: EventRecord<'brain:save'> = {
  id: 'evt_1',
  name: 'brain:save',
  at: 1,
  node: 'n',
  payload: { brain: 'svc', branch: 'main', commit: 'c0ffee', files: 2, by: 'a1', resources: ['brain:svc'] },
};
const inAcme: EventRecord = { ...event, workspace: 'acme' };

const anonymous: Listener = listenerOf({ workspace: 'default' }, { roles: {}, accounts: [] }, false);
const member: Listener = listenerOf(
  { agentId: 'a1', workspace: 'acme', roles: ['viewer'] },
  { roles: { acme: ['viewer'] }, accounts: ['a1', 'org_1'] },
  false,
);
const operator: Listener = { ...anonymous, operator: true };
const policy = (change: Partial<Policy>): Policy => ({ ...DEFAULT_POLICY, container: 'public', ...change });

describe('an event', () => {
  test('without workspace and policy is for all', () => {
    for (const listener of [anonymous, member, operator])
      expect(visiblePayload(event, listener, [])).toEqual(event.payload);
  });

  test('of a workspace is for those who hold a role there, and operators', () => {
    expect(visiblePayload(inAcme, anonymous, [])).toBeNull();
    expect(visiblePayload(inAcme, member, [])).not.toBeNull();
    expect(visiblePayload({ ...event, workspace: 'beta' }, member, [])).toBeNull();
    expect(visiblePayload(inAcme, operator, [])).not.toBeNull();
  });

  test('needs every policy to admit; an operator without identity is judged as anonymous', () => {
    const open = policy({});
    const closed = policy({ readableBy: ['role:viewer'] });
    expect(visiblePayload(event, member, [open, closed])).not.toBeNull();
    expect(visiblePayload(event, anonymous, [open, closed])).toBeNull();
    expect(visiblePayload(event, operator, [closed])).toBeNull();
    expect(visiblePayload(event, member, [policy({ container: 'beta' })])).toBeNull();
  });

  test('shows its payload through filter and mask', () => {
    const shown = visiblePayload(event, member, [policy({ filter: ['commit'] }), policy({ mask: ['by'] })]);
    expect(shown).toEqual({ brain: 'svc', branch: 'main', files: 2, by: '[masked]', resources: ['brain:svc'] });
  });

  test('that only a newer service knows is for operators', () => {
    const unknown = { ...event, name: 'trade:settled' } as unknown as EventRecord;
    expect(visiblePayload(unknown, member, [])).toBeNull();
    expect(visiblePayload(unknown, operator, [])).not.toBeNull();
  });

  test('of a workspace named like a built-in property is for its members', () => {
    expect(visiblePayload({ ...event, workspace: 'constructor' }, member, [])).toBeNull();
  });

  test('is read from each place in which its listener holds a role, and never from several at once', () => {
    const subject = { agentId: 'a1', workspace: 'acme', roles: ['viewer'] };
    const both = listenerOf(subject, { roles: { acme: ['viewer'], beta: ['admin'] }, accounts: [] }, false);
    const beta = policy({ container: 'beta', readableBy: ['role:admin'] });
    expect(visiblePayload(event, both, [beta])).not.toBeNull();
    expect(visiblePayload(event, both, [beta, policy({ container: 'acme', readableBy: [] })])).toBeNull();
    expect(visiblePayload(event, both, [policy({ container: 'acme', readableBy: ['role:admin'] })])).toBeNull();
    const limits = { tokenId: 't', bound: 'acme', readOnly: false, profile: null, expiresAt: 9 };
    const bound = listenerOfToken({ subject, roles: both.roles as never, accounts: [], limits });
    expect(visiblePayload(event, bound, [beta])).toBeNull();
    expect(visiblePayload({ ...event, workspace: 'beta' }, bound, [])).toBeNull();
  });

  test('for parties reaches those it names, who do not learn of the others', () => {
    const minted: EventRecord<'token:minted'> = {
      ...event,
      name: 'token:minted',
      payload: { tokenId: 'tok_1', agentId: 'a1', expiresAt: 1, by: 'u1', parties: ['a1', 'u1'] },
    };
    const { parties: _parties, ...shown } = minted.payload;
    expect(visiblePayload(minted, member, [])).toEqual(shown);
    expect(visiblePayload(minted, operator, [])).toEqual(shown);
    expect(visiblePayload(minted, anonymous, [])).toBeNull();
    const heardBy = (parties: string[]) =>
      visiblePayload({ ...minted, payload: { ...minted.payload, parties } }, member, []) !== null;
    const heard = [['ws:acme'], ['u1', 'org_1']];
    const unheard = [['u1'], ['ws:beta'], ['ws:constructor'], ['ws:org_1'], ['org_2'], ['acme'], []];
    expect([heard.map(heardBy), unheard.map(heardBy)]).toEqual([heard.map(() => true), unheard.map(() => false)]);
  });

  test('of an account reaches those who may read it, wherever their token is bound, and not its namesake', () => {
    const held: EventRecord<'escrow:held'> = {
      ...event,
      name: 'escrow:held',
      payload: { account: 'org_1', holdId: 'h1', amount: 1, parties: ['org_1'] },
    };
    const reader = (agentId: string, accounts: string[]) =>
      listenerOfToken({
        limits: { tokenId: 't', bound: 'acme', readOnly: true, profile: null, expiresAt: 9 },
        subject: { agentId, workspace: 'acme', roles: ['viewer'] },
        roles: { acme: ['viewer'] },
        accounts,
      });
    expect(visiblePayload(held, reader('a1', ['a1', 'org_1']), [])).toEqual({
      account: 'org_1',
      holdId: 'h1',
      amount: 1,
    });
    expect(visiblePayload(held, reader('a2', ['a2', 'org_2']), [])).toBeNull();
    expect(visiblePayload(held, reader('org_1', []), [])).toBeNull();
  });

  test('for admins reaches those of its workspace', () => {
    const denied: EventRecord<'access:denied'> = {
      ...event,
      name: 'access:denied',
      workspace: 'acme',
      payload: { resource: 'doc', mode: 'read', because: 'no-match' },
    };
    const admin = listenerOf(
      { agentId: 'a2', workspace: 'acme', roles: ['admin'] },
      { roles: { acme: ['admin'] }, accounts: ['a2'] },
      false,
    );
    expect(visiblePayload(denied, admin, [])).not.toBeNull();
    expect(visiblePayload(denied, member, [])).toBeNull();
    expect(visiblePayload({ ...denied, workspace: 'beta' }, admin, [])).toBeNull();
    expect(visiblePayload(denied, operator, [])).not.toBeNull();
  });
});
