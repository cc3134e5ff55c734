/** Vectors kept small: a byte for each number. Only directions are compared, so scale and length need not be kept. */

const LARGEST = 127;

/** Scaled so that its largest number fills a byte; all zeros for one that has no direction. */
export function shrink(vector: ArrayLike<number>): Int8Array {
  let largest = 0;
  for (let at = 0; at < vector.length; at += 1) largest = Math.max(largest, Math.abs(vector[at] ?? 0));
  const small = new Int8Array(vector.length);
  if (largest === 0) return small;
  for (let at = 0; at < vector.length; at += 1) small[at] = Math.round(((vector[at] ?? 0) / largest) * LARGEST);
  return small;
}

/** The cosine of the whole of `query` and as many numbers of `vectors` from `from` on; 0 when one of them is all zeros. */
export function cosineAt(query: Int8Array, vectors: Int8Array, from: number): number {
  let product = 0;
  let queryLength = 0;
  let length = 0;
  for (let at = 0; at < query.length; at += 1) {
    const a = query[at] ?? 0;
    const b = vectors[from + at] ?? 0;
    product += a * b;
    queryLength += a * a;
    length += b * b;
  }
  return product === 0 ? 0 : product / Math.sqrt(queryLength * length);
}
