/** `array` itself when it has `length` places, else a copy of at least half as much room again, with zeros behind. */
export function grown<T extends Uint8Array | Uint16Array | Int32Array | Uint32Array | Float64Array>(
  array: T,
  length: number,
): T {
  if (array.length >= length) return array;
  const room = Math.max(length, Math.ceil(array.length * 1.5), 16);
  const copy = new (array.constructor as new (length: number) => T)(room);
  copy.set(array);
  return copy;
}
