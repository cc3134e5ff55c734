import { expect, it } from 'vitest';
import { canonicalJson, canonicalOf, NoCanonicalForm, sortedJson } from './canonical.ts';

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

it('writes the example of the RFC', () => {
  const value = {
    numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\\"/',
    literals: [null, true, false],
  };
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

it.each([
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
])('writes the number %s of the RFC', (bits, text) => {
  expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
});

it.each([
  ['no number', Number.NaN, 'null'],
  ['a number without end', [Number.POSITIVE_INFINITY], '[null]'],
  ['the other one', { a: Number.NEGATIVE_INFINITY }, '{"a":null}'],
  ['half a character', ['\ud800'], '["\\ud800"]'],
  ['the other half', ['a\udc00b'], '["a\\udc00b"]'],
  ['half a character as a key', { '\udead': 1 }, '{"\\udead":1}'],
])('has no form of %s, and tells it from others all the same', (_what, value, text) => {
  expect(() => canonicalJson(value)).toThrow(NoCanonicalForm);
  expect(canonicalOf(value)).toBeNull();
  expect(sortedJson(value)).toBe(text);
});
