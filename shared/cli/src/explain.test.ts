import { CallError, RefusalError, UnreachableError } from '@svc/client/client.ts';
import { expect, test } from 'vitest';
import { EXIT_CODES } from './exit-codes.ts';
import { explain } from './explain.ts';
import { Problem, UsageProblem } from './problems.ts';

const failure = (code: string, data: Record<string, unknown> = {}, retryAfterMs: number | null = null, status = 500) =>
  new CallError(
    'svc_commit',
    { code, message: 'The sentence.', data, status, requestId: 'req-1', retryAfterMs },
    'key-1',
  );

const failedRead = (code: string) => {
  const told = { code, message: 'The sentence.', data: {}, status: 500, requestId: 'req-1', retryAfterMs: null };
  return new CallError('svc_health', told, null);
};

test.each([
  [new UsageProblem('no'), 'usage'],
  [new Problem('no'), 'failed'],
  [new RefusalError('svc_sync', 'E_NOT_CONFIGURED', 'no remote', {}, 'r'), 'refused'],
  [new RefusalError('svc_commit', 'E_BUSY', 'another git works', { retryAfterMs: 1000 }, 'r'), 'later'],
  [failure('E_BUSY'), 'later'],
  [failure('VAF_INPUT_INVALID'), 'usage'],
  [failure('TOOL_NOT_FOUND'), 'usage'],
  [failure('NOT_FOUND'), 'unreachable'],
  [failure('INVALID_REQUEST'), 'usage'],
  [failure('IDEMPOTENCY_KEY_REUSED'), 'usage'],
  [failure('PAYLOAD_TOO_LARGE'), 'usage'],
  [failure('AGENT_NOT_FOUND'), 'refused'],
  [failure('UNAUTHORIZED'), 'denied'],
  [failure('RLS_DENIED'), 'denied'],
  [failure('RATE_LIMITED'), 'later'],
  [failure('SERVICE_UNAVAILABLE'), 'later'],
  [failure('TIMEOUT'), 'unknown'],
  [failure('INTERNAL'), 'unknown'],
  [failedRead('TIMEOUT'), 'later'],
  [failedRead('E_OUTCOME_UNKNOWN'), 'later'],
  [failedRead('INTERNAL'), 'failed'],
  [failure('BRAIN_LOAD_FAIL'), 'failed'],
  [failure('BRAIN_LOAD_FAIL', {}, null, 404), 'refused'],
  [new UnreachableError('http://h', 'off', { sent: false, idempotencyKey: null }), 'unreachable'],
  [new UnreachableError('http://h', 'cut', { sent: true, idempotencyKey: 'k' }), 'unknown'],
  [new UnreachableError('http://h', 'cut', { sent: true, idempotencyKey: null }), 'unreachable'],
  [new Error('bug'), 'failed'],
  ['thrown', 'failed'],
] as const)('%s ends as %s', (error, exit) => {
  expect(explain(error).exit).toBe(exit);
});

test('each exit code tells something of its own', () => {
  const codes = Object.values(EXIT_CODES).map(([code]) => code);
  expect(new Set(codes).size).toBe(codes.length);
});

test('a person is told what to do', () => {
  const advice = (error: unknown) => explain(error).advice.join('\n');
  expect(advice(failure('UNAUTHORIZED'))).toContain('SVC_KEY');
  expect(advice(failure('NOT_FOUND'))).toContain('--url');
  expect(advice(failure('RATE_LIMITED', {}, 2500))).toContain('in 3 s');
  expect(advice(failure('E_OUTCOME_UNKNOWN'))).toContain('--idempotency-key key-1');
  expect(advice(failure('INTERNAL'))).toContain('req-1');
  expect(advice(failure('TOOL_NOT_FOUND', { nearest: ['svc_sync'] }))).toContain('svc_sync');
  expect(advice(new UnreachableError('http://h', 'off', { sent: false, idempotencyKey: null }))).toContain('svc start');
});

test('what is wrong with arguments is a line each, said once', () => {
  const { message, advice } = explain(
    failure('VAF_INPUT_INVALID', { problems: [{ path: 'name', message: 'is required' }] }),
  );
  expect(message).toBe('The arguments do not fit the tool.');
  expect(advice).toEqual(['name is required']);
});

test('sentences of others cannot write on the terminal', () => {
  const error = new RefusalError('svc_sync', 'E_REMOTE_REJECTED', 'no\u001b[2J', { detail: 'x\u001b[31m' }, null);
  expect(JSON.stringify(explain(error).advice) + explain(error).message).not.toMatch(/\\u001b|\u001b/);
});
