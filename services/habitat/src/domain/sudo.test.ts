import { expect, test } from 'vitest';
import {
  coveringGrant,
  decideEscalation,
  decideGrant,
  decideRevocation,
  type Escalating,
  type Grant,
  grantableUntil,
  type Granter,
  requestState,
  type ScopeRequest,
  type ScopeState,
  suggestionsFor,
} from './sudo.ts';
import { parseScope, type Scope, SCOPE_NAMES } from './sudo-scopes.ts';

const NOW = 1_000_000_000_000;
const ENDS = NOW + 86_400_000;
const MINUTE_MS = 60_000;

function scope(text: string): Scope {
  const parsed = parseScope(text);
  if (parsed === null) throw new Error(`no scope ${text}`);
  return parsed;
}
const grant = (text: string, over: Partial<Grant> = {}): Grant => ({
  scope: text,
  grantedBy: 'root',
  grantedAt: NOW - 1000,
  expiresAt: NOW + MINUTE_MS,
  requestId: null,
  reason: null,
  usedAt: null,
  ...over,
});
const asked = (state: ScopeRequest['state'], expiresAt = NOW + MINUTE_MS): ScopeRequest => ({
  requestId: 'r1',
  state,
  reason: null,
  expiresAt,
});
const state = (text: string, over: Partial<ScopeState> = {}): ScopeState => ({
  grantMs: 10 * MINUTE_MS,
  scope: scope(text),
  held: [],
  request: null,
  endsAt: ENDS,
  now: NOW,
  ...over,
});
const owner = (over: Partial<Escalating> = {}): Escalating => ({
  operator: false,
  isEditor: false,
  escalationsLastMinute: 0,
  ...over,
});
const granter = (over: Partial<Granter> = {}): Granter => ({
  name: 'gus',
  operator: false,
  isPrincipal: false,
  isWorkspaceAdmin: false,
  holds: [],
  ...over,
});
const admin = granter({ name: 'ada', isWorkspaceAdmin: true });
const operator = granter({ name: 'operator', operator: true });

test('reading comes at once, writing to editors, all else after somebody answered', () => {
  const escalate = (text: string, over = {}) => decideEscalation(state(text), owner(over));
  expect(escalate('read')).toMatchObject({ value: { kind: 'granted', expiresAt: ENDS, requestId: null } });
  expect(escalate('write')).toMatchObject({ value: { kind: 'requested', expiresAt: NOW + 15 * MINUTE_MS } });
  expect(escalate('write', { isEditor: true })).toMatchObject({ value: { kind: 'granted', expiresAt: ENDS } });
  for (const text of ['network', 'exec', 'spawn', 'sudo', 'admin', 'network:x.org'])
    expect(escalate(text, { isEditor: true })).toMatchObject({ value: { kind: 'requested' } });
  expect(escalate('exec', { operator: true })).toMatchObject({
    value: { kind: 'granted', expiresAt: NOW + 10 * MINUTE_MS },
  });
});

test('nothing outlives the task', () => {
  const soon = NOW + 1000;
  const at = (text: string, over = {}) => decideEscalation(state(text, { endsAt: soon }), owner(over));
  for (const decision of [at('read'), at('exec'), at('exec', { operator: true })])
    expect(decision).toMatchObject({ value: { expiresAt: soon } });
  expect(decideGrant(state('exec', { endsAt: soon }), operator)).toMatchObject({ value: { expiresAt: soon } });
});

test('who has the scope already keeps it, who has asked already waits', () => {
  const held = [grant('network')];
  expect(decideEscalation(state('network:x.org', { held }), owner())).toEqual({
    ok: true,
    value: { kind: 'held', expiresAt: NOW + MINUTE_MS },
  });
  expect(decideEscalation(state('exec', { held }), owner())).toMatchObject({ value: { kind: 'requested' } });
  const again = decideEscalation(state('exec', { request: asked('pending') }), owner());
  expect(again).toMatchObject({ value: { kind: 'pending', requestId: 'r1' } });
  for (const request of [asked('denied'), asked('granted'), asked('pending', NOW)])
    expect(decideEscalation(state('exec', { request }), owner())).toMatchObject({ value: { kind: 'requested' } });
  const byOperator = decideEscalation(state('exec', { request: asked('pending') }), owner({ operator: true }));
  expect(byOperator).toMatchObject({ value: { kind: 'granted', requestId: 'r1' } });
});

test('the 21st escalation of a minute is refused', () => {
  expect(decideEscalation(state('read'), owner({ escalationsLastMinute: 19 }))).toMatchObject({ ok: true });
  expect(decideEscalation(state('read'), owner({ escalationsLastMinute: 20 }))).toMatchObject({ code: 'E_RATE_LIMIT' });
});

test('who may grant what', () => {
  const by = (who: Granter) => SCOPE_NAMES.filter((name) => grantableUntil(scope(name), who) !== null);
  expect(by(operator)).toEqual(SCOPE_NAMES);
  expect(by({ ...operator, isPrincipal: true })).toEqual(SCOPE_NAMES);
  expect(by(admin)).toEqual(['read', 'write', 'network', 'spawn']);
  expect(by({ ...admin, isPrincipal: true })).toEqual([]);
  expect(by(granter())).toEqual([]);
  expect(by(granter({ holds: [grant('sudo')] }))).toEqual([]);
  expect(by(granter({ holds: [grant('network'), grant('exec')] }))).toEqual([]);
  const deputy = granter({ holds: [grant('sudo'), grant('network:x.org'), grant('exec'), grant('read')] });
  expect(by(deputy)).toEqual(['read']);
  expect(grantableUntil(scope('network:x.org'), deputy)).not.toBeNull();
  expect(grantableUntil(scope('network:y.org'), deputy)).toBeNull();
  expect(by(granter({ holds: [grant('admin')] }))).toEqual(['read', 'write', 'network', 'spawn']);
  expect(by(granter({ isPrincipal: true, holds: [grant('admin')] }))).toEqual([]);
});

test('what a holder passes on does not outlive what it holds', () => {
  const holds = [grant('sudo', { expiresAt: NOW + 5000 }), grant('network', { expiresAt: NOW + 3000 })];
  expect(decideGrant(state('network'), granter({ holds }))).toMatchObject({ value: { expiresAt: NOW + 3000 } });
});

test('a grant answers the pending request, and a denied one stays denied while it would have lasted', () => {
  expect(decideGrant(state('exec', { request: asked('pending') }), operator)).toMatchObject({
    value: { expiresAt: NOW + 10 * MINUTE_MS, request: { requestId: 'r1' } },
  });
  expect(decideGrant(state('exec'), operator)).toMatchObject({ value: { request: null } });
  expect(decideGrant(state('exec', { request: asked('pending', NOW) }), operator)).toMatchObject({
    value: { request: null },
  });
  expect(decideGrant(state('exec', { request: asked('denied') }), operator)).toMatchObject({ code: 'FORBIDDEN' });
  expect(decideGrant(state('exec', { request: asked('denied', NOW) }), operator)).toMatchObject({ ok: true });
  expect(decideGrant(state('exec', { request: asked('pending') }), admin)).toMatchObject({ code: 'FORBIDDEN' });
});

test('the granter, the owner and the operator revoke; who may grant denies', () => {
  const given = state('network', { held: [grant('network', { grantedBy: 'gus' })] });
  const revoke = (who: Granter, at = given) => decideRevocation(at, who);
  for (const who of [granter(), granter({ name: 'own', isPrincipal: true }), operator])
    expect(revoke(who)).toEqual({ ok: true, value: { kind: 'revoked' } });
  expect(revoke(admin)).toMatchObject({ code: 'FORBIDDEN' });
  expect(revoke(granter({ name: 'eve' }))).toMatchObject({ code: 'FORBIDDEN' });

  const open = state('network', { request: asked('pending') });
  expect(revoke(admin, open)).toMatchObject({ value: { kind: 'denied', request: { requestId: 'r1' } } });
  expect(revoke(granter({ isPrincipal: true }), open)).toMatchObject({ code: 'FORBIDDEN' });

  const none = state('network', { held: [grant('read')], request: asked('denied') });
  expect(revoke(admin, none)).toEqual({ ok: true, value: { kind: 'nothing' } });
  expect(revoke(granter({ isPrincipal: true }), none)).toEqual({ ok: true, value: { kind: 'nothing' } });
  expect(revoke(granter({ name: 'eve' }), none)).toMatchObject({ code: 'FORBIDDEN' });
});

test('a request nobody answered expires, an answered one does not', () => {
  expect(requestState(asked('pending'), NOW)).toBe('pending');
  expect(requestState(asked('pending', NOW), NOW)).toBe('expired');
  expect(requestState(asked('denied', NOW), NOW)).toBe('denied');
});

test('of the grants that cover a scope the longest counts', () => {
  const held = [grant('network', { expiresAt: NOW + 1 }), grant('admin', { expiresAt: NOW + 2 }), grant('read')];
  expect(coveringGrant(held, scope('network:x'))?.scope).toBe('admin');
  expect(coveringGrant([grant('read')], scope('write'))).toBeNull();
});

test('suggestions: ask again for what was denied, drop what is idle', () => {
  const held = [
    grant('read', { grantedAt: NOW - 10 * MINUTE_MS }),
    grant('write', { grantedAt: NOW - 60 * MINUTE_MS, usedAt: NOW - 1000 }),
    grant('spawn', { grantedAt: NOW - 9 * MINUTE_MS }),
  ];
  const denials = [
    { scope: 'exec', count: 2 },
    { scope: 'spawn', count: 1 },
  ];
  expect(suggestionsFor(held, denials, NOW)).toEqual([
    { scope: 'exec', action: 'request', count: 2, reason: expect.any(String) },
    { scope: 'read', action: 'drop', count: 1, reason: expect.any(String) },
  ]);
});
