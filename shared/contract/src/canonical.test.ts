import { expect, it } from 'vitest';
import { canonicalJson } from './canonical.ts';

it('gives one text for equal values, whatever the order of their keys', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'é' }], a: true, gone: undefined })).toBe(
    '{"a":true,"b":[1,{"c":"é","d":null}]}',
  );
  expect(canonicalJson({ a: true, b: [1, { c: 'é', d: null }] })).toBe(
    canonicalJson({ b: [1, { d: null, c: 'é' }], a: true }),
  );
  expect(JSON.parse(canonicalJson({ n: 1e21, z: -0 }))).toEqual({ n: 1e21, z: 0 });
});

it('orders keys by their UTF-16 code units and writes numbers as the RFC does', () => {
  const keys = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
  expect(Object.keys(JSON.parse(canonicalJson(keys)) as object).sort()).toEqual(Object.keys(keys).sort());
  expect(canonicalJson(keys)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}');
  expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
    '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
  );
});

it.each([
  ['a value', 0, '0'],
  ['nothing', undefined, 'null'],
  ['an empty list', [], '[]'],
  ['an empty object', {}, '{}'],
  ['what looks like a prototype', JSON.parse('{"__proto__":{"a":1}}') as unknown, '{"__proto__":{"a":1}}'],
  ['a hole', [undefined, 1], '[null,1]'],
])('writes %s', (_what, value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

it('does not mind how deep a value is', () => {
  const depth = 100_000;
  const text = '[{"a":'.repeat(depth) + '1' + '}]'.repeat(depth);
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [{ a: value }];
  expect(canonicalJson(value)).toBe(text);
});
