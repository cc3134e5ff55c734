/** The terms of a few texts, numbered among themselves, and how often each text has them. */
export interface TextTerms {
  readonly texts: number;
  /** By number, in order of first appearance. */
  readonly ids: Uint32Array;
  /** By text: where its entries begin; those of the last end at the last. */
  readonly starts: Uint32Array;
  /** By entry: which term, by its number. */
  readonly terms: Uint32Array;
  /** By entry: how often. */
  readonly counts: Uint32Array;
}

/** `numbers` is working memory: room for every term id, all zeros before and after. */
export function countTerms(texts: readonly Uint32Array[], numbers: Uint32Array): TextTerms {
  const room = texts.reduce((sum, tokens) => sum + tokens.length, 0);
  const [ids, terms, counts] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
  const starts = new Uint32Array(texts.length + 1);
  /** By number: the term's last entry + 1. */
  const latest = new Uint32Array(room);
  let [distinct, entries] = [0, 0];
  for (let text = 0; text < texts.length; text += 1) {
    const tokens = texts[text] ?? new Uint32Array(0);
    const first = entries;
    for (let index = 0; index < tokens.length; index += 1) {
      const id = tokens[index] ?? 0;
      if (numbers[id] === 0) {
        ids[distinct] = id;
        numbers[id] = ++distinct;
      }
      const number = (numbers[id] ?? 0) - 1;
      const at = (latest[number] ?? 0) - 1;
      if (at >= first) counts[at] = (counts[at] ?? 0) + 1;
      else {
        terms[entries] = number;
        counts[entries] = 1;
        latest[number] = ++entries;
      }
    }
    starts[text + 1] = entries;
  }
  for (let number = 0; number < distinct; number += 1) numbers[ids[number] ?? 0] = 0;
  return {
    texts: texts.length,
    ids: ids.subarray(0, distinct),
    starts,
    terms: terms.subarray(0, entries),
    counts: counts.subarray(0, entries),
  };
}
