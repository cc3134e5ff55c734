import type { RuledIndex } from './ruled-index.ts';
import type { ShownFile } from './text-shelf.ts';
import { readTexts, type TextReading } from './text-source.ts';

/** Lends an index the texts that it has to show; answers the files that are no longer what was analysed. */
export async function lendTexts(
  reading: TextReading,
  index: RuledIndex,
  missing: readonly ShownFile[],
): Promise<string[]> {
  const wanted = missing.map(({ file }) => ({ path: file, hash: null, text: null }));
  const { texts } = await readTexts(reading, wanted, wanted.length);
  const found = new Map(texts.map(({ path, content }) => [path, content]));
  return missing.flatMap((shown) => {
    const { file } = shown;
    const content = found.get(file);
    const text = content === undefined ? null : index.shownText(file, content);
    return text !== null && index.texts.lend(shown, text) ? [] : [file];
  });
}
