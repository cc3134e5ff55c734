import { expect, test } from 'vitest';
import { HeadingPaths } from './heading-paths.ts';
import { splitFile } from './passages.ts';

const TEXT = '---\ntitle: T\n---\n# One\na\n## Two\nb\n```\n# no\n```\nc\n# Three\nd\n## Bare\n';

test('the headings of a place are those of its passage', () => {
  const paths = new HeadingPaths();
  const [front, ...passages] = splitFile('markdown', TEXT).passages;
  expect(paths.of('x.md', TEXT, front?.start ?? 0)).toEqual([]);
  expect(passages.map(({ headings }) => headings)).toContainEqual(['Three', 'Bare']);
  for (const { start, headings } of passages) expect(paths.of('x.md', TEXT, start)).toEqual(headings);
  expect(paths.of('x.md', TEXT, TEXT.indexOf('c\n'))).toEqual(['One', 'Two']);
  expect(paths.of('x.txt', TEXT, TEXT.indexOf('c\n'))).toEqual([]);
});
