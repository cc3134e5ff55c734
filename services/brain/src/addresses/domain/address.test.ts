import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { addressOf, decideRead, decideStore, type Digest } from './address.ts';
import { BARCODE, barcodeOf, readBarcode } from './barcode.ts';

it('gives equal data one address, which says what SHA-256 says', () => {
  const one = addressOf({ a: 1, b: 2 });
  expect(addressOf({ b: 2, a: 1 })).toEqual(one);
  expect(one).toMatchObject({ form: 'json', text: '{"a":1,"b":2}', bytes: 13 });
  expect(one.sha256).toBe(hash('sha256', '{"a":1,"b":2}', 'hex'));
  expect(one.barcode).toMatch(BARCODE);
  expect(addressOf({ a: 1, b: 3 }).barcode).not.toBe(one.barcode);
});

it('addresses a text by its own bytes', () => {
  const { sha256, form } = addressOf('grün');
  expect({ sha256, form }).toEqual({ sha256: hash('sha256', 'grün', 'hex'), form: 'text' });
});

it('writes the first 100 bits of the hash, with their check symbol', () => {
  // 0x08421...: each of the twenty symbols is 1; 37 is the remainder that the last five symbols of the alphabet are for.
  const ones = `${'08421'.repeat(5)}${'f'.repeat(39)}`;
  const value = BigInt(`0x${'08421'.repeat(5)}`);
  expect(barcodeOf(ones)).toBe(
    `9-11111-11111-11111-11111-${'0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U'[Number(value % 37n)]}`,
  );
  expect(barcodeOf('0'.repeat(64))).toBe('9-00000-00000-00000-00000-0');
  expect(barcodeOf('f'.repeat(64))).toMatch(/^9-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-.$/);
});

it('reads what people type, and notices a slip', () => {
  const { barcode } = addressOf('a text');
  expect(readBarcode(barcode)).toBe(barcode);
  expect(readBarcode(barcode.toLowerCase().replaceAll('-', ''))).toBe(barcode);
  expect(readBarcode(barcode.replaceAll('0', 'O').replaceAll('1', 'l'))).toBe(barcode);
  for (let place = 2; place < barcode.length; place += 1) {
    if (barcode[place] === '-') continue;
    const other = barcode[place] === '7' ? '8' : '7';
    expect(readBarcode(`${barcode.slice(0, place)}${other}${barcode.slice(place + 1)}`), `${place}`).toBeNull();
  }
});

it.each(['', '9', '8-00000-00000-00000-00000-0', '9-0000U-00000-00000-00000-0', `9-${'0'.repeat(10_000)}`, '9-0é000'])(
  '%s is no barcode',
  (typed) => {
    expect(readBarcode(typed)).toBeNull();
  },
);

it('tells a collision from the same data', () => {
  const one = addressOf('one');
  expect(decideStore(null, one)).toMatchObject({ ok: true, value: { existed: false } });
  expect(decideStore(one, one)).toMatchObject({ ok: true, value: { existed: true } });
  const first50: Digest = (text) => `${'a'.repeat(25)}${hash('sha256', text, 'hex').slice(25)}`;
  const [here, there] = [addressOf('here', first50), addressOf('there', first50)];
  expect(here.barcode).toBe(there.barcode);
  expect(decideStore(here, there)).toMatchObject({ ok: false, code: 'E_ADDRESS_COLLISION' });
  expect(decideStore(addressOf('[1]'), addressOf([1]))).toMatchObject({ ok: false, code: 'E_ADDRESS_COLLISION' });
});

it('hands out what is stored only when it is what was addressed', () => {
  const data = { list: [1, 'two', null], __proto__: null };
  const stored = addressOf(data);
  expect(decideRead(stored.barcode, stored)).toEqual({ ok: true, value: { list: [1, 'two', null] } });
  const changed = { ...stored, text: stored.text.replace('two', 'six') };
  expect(decideRead(stored.barcode, changed)).toMatchObject({ ok: false, code: 'E_ADDRESS_CORRUPT' });
  const other = addressOf('other');
  expect(decideRead(stored.barcode, other)).toMatchObject({ ok: false, code: 'E_ADDRESS_CORRUPT' });
});
