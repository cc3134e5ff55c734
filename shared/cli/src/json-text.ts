/**
 * JSON as a person wrote it. Throws SyntaxError for what is none, and RangeError for a number such as 1e999: it is read as
 * infinite, and would be sent as null.
 */
export function readJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
      throw new RangeError('a number is too large');
    return value;
  });
}
