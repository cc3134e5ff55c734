import { expect, test } from 'vitest';
import { withoutSecrets } from './without-secrets.ts';

test('what is secret is null in what is kept, whatever else there is', () => {
  const said = { token: 'a', run: { result: { token: 'b' }, status: 'ok' } };
  expect(withoutSecrets(said, ['token'])).toEqual({ ...said, token: null });
  expect(withoutSecrets(said, ['token', 'run.result'])).toEqual({ token: null, run: { result: null, status: 'ok' } });
  expect(withoutSecrets(said, ['run.token', 'leaseToken', 'token.of'])).toEqual(said);
  expect(said.token).toBe('a');
  for (const other of [null, 1, 'token', []]) expect(withoutSecrets(other, ['token'])).toEqual(other);
});
