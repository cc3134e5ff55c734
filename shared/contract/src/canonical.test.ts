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
