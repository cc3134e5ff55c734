import { expect, it } from 'vitest';
import { amountOf, readPrice } from './price.ts';

it.each([null, '', '0', '0.0', '0.000000'])('%j is free', (text) => {
  expect(readPrice(text)).toEqual({ kind: 'free' });
});

it.each([
  ['40', 40_000_000n],
  ['0.000001', 1n],
  ['1000000', 1_000_000_000_000n],
  ['999999.999999', 999_999_999_999n],
])('%j is money', (text, micros) => {
  const price = readPrice(text);
  expect(price).toEqual({ kind: 'money', amount: micros });
  expect(price && amountOf(price)).toBe(micros);
});

it.each([
  '2 hours of review',
  'за рецензию',
  'ab',
  'x'.repeat(200),
  '1e3 words',
  'nan or so',
  '0xff coffees',
  'corn',
  'beef',
])('%j is barter, for which no money moves', (text) => {
  const price = readPrice(text);
  expect(price).toEqual({ kind: 'barter' });
  expect(price && amountOf(price)).toBe(0n);
});

it.each([
  '1e3',
  '0x10',
  '-5',
  '+5',
  '1,000',
  '0.0000001',
  '1000000.000001',
  '1000001',
  '9999999',
  '00',
  '01',
  '.5',
  '5.',
  ' 5',
  '5 ',
  '٥',
  'NaN',
  'nan',
  'Infinity',
  '-infinity',
  ' NaN ',
  '0xff',
  '0xFFn',
  '-0xBEEF',
  '0xde_ad',
  ' 0XAB ',
  'ＮａＮ',
  '０xｆｆ',
  'x',
  '5 x',
  '???',
  'x'.repeat(201),
])('%j is neither', (text) => {
  expect(readPrice(text)).toBeNull();
});
