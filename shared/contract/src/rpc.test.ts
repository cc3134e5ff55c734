import { assert, boolean, constantFrom, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CallError } from './codes.ts';
import { createEnvelopeDecoder, encodeEnvelope, type Envelope, failureOf } from './rpc.ts';

const ENVELOPE: Envelope = {
  tool: 'svc_get_memory',
  args: { category: 'a\nb', filename: 'c' },
  subject: { agentId: 'a1', workspace: 'acme', roles: ['editor'], verified: true },
  operator: false,
  token: { tokenId: 't1', bound: null, readOnly: false, profile: null, expiresAt: 5 },
  registry: { rev: 7, policies: 3, settings: 2 },
  principal: 'tok:a1',
  session: 'a'.repeat(64),
  requestId: 'r1',
  deadlineAt: 9,
  door: 'call',
};

/** The two lines of an envelope, one of them with other fields. */
function withFields(line: 'caller' | 'call', fields: Record<string, unknown>): string {
  const lines = encodeEnvelope(ENVELOPE).split('\n');
  const at = line === 'caller' ? 0 : 1;
  lines[at] = JSON.stringify({ ...(JSON.parse(lines[at] ?? '') as object), ...fields });
  return lines.join('\n');
}

describe('an envelope', () => {
  test('arrives as it was sent, the first time and when its caller is known', () => {
    const decode = createEnvelopeDecoder();
    const { token: _token, registry: _registry, ...bare } = ENVELOPE;
    for (const envelope of [ENVELOPE, ENVELOPE, bare, { ...bare, idempotencyKey: 'k', traceparent: 't' }, bare]) {
      expect(decode(encodeEnvelope(envelope))).toEqual(envelope);
    }
  });

  test('is never given the caller of another, however many there are', () => {
    const decode = createEnvelopeDecoder();
    const rev = integer({ min: 0, max: 700 });
    assert(
      property(rev, boolean(), constantFrom('tok:a1', 'tok:a2'), (at, operator, principal) => {
        const envelope = { ...ENVELOPE, operator, principal, registry: { rev: at, policies: 3, settings: 2 } };
        expect(decode(encodeEnvelope(envelope))).toEqual(envelope);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['an unknown field of the caller', withFields('caller', { admin: true })],
    ['a caller that calls', withFields('caller', { tool: 'other' })],
    ['a call that says who calls', withFields('call', { operator: true })],
    ['a subject that is none', withFields('caller', { subject: { roles: 'admin' } })],
    ['a session that is none', withFields('caller', { session: 'x' })],
    ['a door that is none', withFields('call', { door: 'window' })],
    ['one line', JSON.stringify(ENVELOPE)],
    ['nothing', ''],
  ])('is refused with %s, also from a caller that is known', (_what, payload) => {
    const decode = createEnvelopeDecoder();
    decode(encodeEnvelope(ENVELOPE));
    for (const attempt of [1, 2]) expect(() => decode(payload), `${attempt}`).toThrow();
  });

  test('cannot be changed for the calls that follow', () => {
    const decode = createEnvelopeDecoder();
    const { subject, token } = decode(encodeEnvelope(ENVELOPE));
    expect(() => subject.roles?.push('admin')).toThrow(TypeError);
    expect(() => Object.assign(subject, { agentId: 'a2' })).toThrow(TypeError);
    expect(() => Object.assign(token ?? {}, { readOnly: true })).toThrow(TypeError);
    expect(decode(encodeEnvelope(ENVELOPE))).toEqual(ENVELOPE);
  });
});

test('a failure whose text is fixed carries what to do about it, unless it says more itself', () => {
  const absent = failureOf(new CallError('BRAIN_LOAD_FAIL'));
  expect([absent.message, absent.data['hint']]).toEqual([
    'Failed to load brain',
    expect.stringContaining('brain_list'),
  ]);
  expect(failureOf(new CallError('BRAIN_LOAD_FAIL', 'It is damaged.', {}, 503)).data).toEqual({});
  expect(failureOf(new CallError('BRAIN_LOAD_FAIL', undefined, {}, 503)).data).toEqual({});
  expect(failureOf(new CallError('INTERNAL')).data).toEqual({});
});
