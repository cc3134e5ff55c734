/** What an index takes in memory, as the engine counts it, beside the bytes of the text. */
import { CORPORA } from '@svc/testing/index-corpora.ts';
import { bytesInUse } from '@svc/testing/memory-in-use.ts';
import { expect, test } from 'vitest';
import { SearchIndex } from './search-index.ts';
import { textShelf } from './text-shelf.ts';

const TEXT_BYTES = 1_000_000;
const PROSE = 12;
const WORST = 30;

function fill(index: SearchIndex, file: (typeof CORPORA)[number]['file']): number {
  let bytes = 0;
  for (let number = 0; bytes < TEXT_BYTES; number += 1) {
    const { path, content } = file(number);
    // Its bytes alone: no view of the text that the corpus was made of.
    const text = Buffer.from(content);
    bytes += text.length;
    index.set({ file: path, content: text.toString(), hash: `${number}`, chain: 0 });
  }
  // The few texts that are at hand are bounded for all indexes together.
  textShelf.clear();
  return bytes;
}

test.each(CORPORA)('$name', ({ file, isProse }) => {
  // What words leave in the caches of the process is not this index's.
  fill(new SearchIndex(), file);
  const before = bytesInUse();
  const index = new SearchIndex();
  const bytes = fill(index, file);
  const used = (bytesInUse() - before) / bytes;
  const estimated = index.stats().estimatedBytes / bytes;
  expect(used).toBeLessThan(isProse ? PROSE : WORST);
  // What is told of it is near enough to judge by.
  expect(estimated).toBeGreaterThan(used / 2);
  expect(estimated).toBeLessThan(used * 2);
});
