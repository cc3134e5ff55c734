/** Barcodes: the first 100 bits of a SHA-256 in Crockford's base 32, with a check symbol, so that a slip is noticed. */

/** A barcode as it is written: `9-XXXXX-XXXXX-XXXXX-XXXXX-C`. */
export const BARCODE = /^9(?:-[0-9A-HJKMNP-TV-Z]{5}){4}-[0-9A-HJKMNP-TV-Z*~$=U]$/;

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHECKS = `${DIGITS}*~$=U`;
const SYMBOLS = 20;
const GROUP = 5;
const HEX_DIGITS = 25;

/** `sha256`: hex. */
export function barcodeOf(sha256: string): string {
  let rest = BigInt(`0x${sha256.slice(0, HEX_DIGITS)}`);
  const check = CHECKS[Number(rest % BigInt(CHECKS.length))] ?? '';
  let symbols = '';
  for (let place = 0; place < SYMBOLS; place += 1) {
    symbols = `${DIGITS[Number(rest & 31n)] ?? ''}${symbols}`;
    rest >>= 5n;
  }
  return written(symbols, check);
}

/**
 * The barcode as it is written, of one that somebody typed: in lower case, without dashes or with spaces, with O for 0
 * and I or L for 1. Null when it is none, or its check symbol is another.
 */
export function readBarcode(typed: string): string | null {
  const plain = typed.toUpperCase().replace(/[-\s]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
  if (plain.length !== SYMBOLS + 2 || !plain.startsWith('9')) return null;
  const symbols = plain.slice(1, -1);
  let value = 0n;
  for (const symbol of symbols) {
    const digit = DIGITS.indexOf(symbol);
    if (digit === -1) return null;
    value = value * 32n + BigInt(digit);
  }
  const check = plain.slice(-1);
  return CHECKS[Number(value % BigInt(CHECKS.length))] === check ? written(symbols, check) : null;
}

function written(symbols: string, check: string): string {
  const groups = Array.from({ length: SYMBOLS / GROUP }, (_, index) =>
    symbols.slice(index * GROUP, (index + 1) * GROUP),
  );
  return ['9', ...groups, check].join('-');
}
