import { expect, test } from 'vitest';
import { auditableData, auditableText, MAX_AUDIT_DATA_BYTES } from './audit.ts';

const RAW = `svc_${'ab'.repeat(32)}`;

test('secrets are masked at any depth, by name and by form, and nothing else is', () => {
  const data = {
    user: 'a',
    Password: 'p',
    nested: { apiKey: 'k', list: [{ cookie: 'c', seen: 1 }, RAW] },
    token: null,
    tokenId: `tok_${'0'.repeat(32)}`,
    text: `minted ${RAW}.`,
    ['__proto__x']: 1,
  };
  expect(auditableData(data)).toEqual({
    user: 'a',
    Password: '[masked]',
    nested: { apiKey: '[masked]', list: [{ cookie: '[masked]', seen: 1 }, '[masked]'] },
    token: null,
    tokenId: `tok_${'0'.repeat(32)}`,
    text: 'minted [masked].',
    ['__proto__x']: 1,
  });
  expect(data.Password).toBe('p');
});

test('a field named __proto__ stays a field', () => {
  const shown = auditableData(JSON.parse('{"__proto__": {"secret": 1}}') as Record<string, unknown>);
  expect(JSON.stringify(shown)).toBe('{"__proto__":{"secret":"[masked]"}}');
});

test('texts hold nothing that a text column refuses', () => {
  expect(auditableText('a\0b\udc00')).toBe('a\uFFFDb\uFFFD');
  expect(auditableData({ ['k\0']: ['\ud800'] })).toEqual({ 'k\uFFFD': ['\uFFFD'] });
});

test('data larger than an entry may hold is replaced by its size', () => {
  const fits = { text: 'x'.repeat(MAX_AUDIT_DATA_BYTES - '{"text":""}'.length) };
  expect(auditableData(fits)).toEqual(fits);
  expect(auditableData({ text: `${fits.text}x` })).toEqual({ omittedBytes: MAX_AUDIT_DATA_BYTES + 1 });
});
