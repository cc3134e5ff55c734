/** Of JSON text, without reading it. Brackets inside of strings are none. */
export function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}
