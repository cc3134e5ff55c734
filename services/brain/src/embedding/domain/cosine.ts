/** How near two vectors are. */

const DIGITS = 1e6;

/** -1 to 1; 0 when one of them is all zeros. */
export function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0;
  let lengthA = 0;
  let lengthB = 0;
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [one, other] = [a[at] ?? 0, b[at] ?? 0];
    product += one * other;
    lengthA += one * one;
    lengthB += other * other;
  }
  return product === 0 ? 0 : Math.max(-1, Math.min(1, product / Math.sqrt(lengthA * lengthB)));
}

/** To six decimals. */
export function rounded(value: number): number {
  return Math.round(value * DIGITS) / DIGITS + 0; // no negative zero
}
