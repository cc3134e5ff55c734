/** Terms of a few texts are numbered in working memory with room for every term id, all zeros before and after. */

/** Makes the numbers of their terms 0 again. */
export function forgetNumbers(texts: readonly Uint32Array[], numbers: Uint32Array): void {
  for (const tokens of texts) {
    for (let index = 0; index < tokens.length; index += 1) numbers[tokens[index] ?? 0] = 0;
  }
}
