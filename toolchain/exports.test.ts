/** What a module exports is for others: whatever only its own file uses, or nobody, is no export. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = [
  '{services,shared}/*/{src,testing,test}/**/*.{ts,mjs}',
  '{deploy,toolchain,bench,test-e2e}/**/*.{ts,mjs}',
  'vitest.config.ts',
];
/** Called by name by whoever loads the module. */
const CALLED_BY_NAME = ['setup', 'teardown'];
const EXPORTED = /^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type) (\w+)/gm;

/** By name, how many files have that word: an export that is used has its name in a second one at least. */
function filesWithWord(texts: ReadonlyMap<string, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts.values()) {
    for (const word of new Set(text.match(/\w+/g))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

test('each export is named by another file', () => {
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).filter(
    (file) => !/(?:^|\/)(?:node_modules|generated|dist)\//.test(file),
  );
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const counts = filesWithWord(texts);
  const isUnused = (name: string): boolean => counts.get(name) === 1 && !CALLED_BY_NAME.includes(name);
  const unused = [...texts].flatMap(([file, text]) =>
    Array.from(text.matchAll(EXPORTED), ([, name = '']) => ({ file, name })).filter(({ name }) => isUnused(name)),
  );
  expect(texts.size).toBeGreaterThan(1_000);
  expect(unused).toEqual([]);
});
