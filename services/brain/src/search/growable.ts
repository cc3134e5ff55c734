/** `array` itself when it has `length` places, else a copy of at least twice the room with zeros behind. */
export function grown<T extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(array: T, length: number): T {
  if (array.length >= length) return array;
  const copy = new (array.constructor as new (length: number) => T)(Math.max(length, array.length * 2, 16));
  copy.set(array);
  return copy;
}
