import type { EventRecord } from '@svc/contract/events.ts';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
import { describe, expect, test } from 'vitest';
import { type Listener, visiblePayload } from './visibility.ts';

const event: EventRecord<'brain:save'> = {
  id: 'evt_1',
  name: 'brain:save',
  at: 1,
  node: 'n',
  payload: { brain: 'svc', branch: 'main', commit: 'c0ffee', files: 2, by: 'a1', resources: ['brain:svc'] },
};
const inAcme: EventRecord = { ...event, workspace: 'acme' };

const anonymous: Listener = { subject: { workspace: 'default' }, operator: false, roles: {} };
const member: Listener = {
  subject: { agentId: 'a1', workspace: 'acme', roles: ['viewer'] },
  operator: false,
  roles: { acme: ['viewer'] },
};
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
});
