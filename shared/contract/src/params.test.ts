import { expect, test } from 'vitest';
import { z } from 'zod';
import { decodeCursor, encodeCursor, page, PathText } from './params.ts';

test('a page can end at any path that there is', () => {
  for (const path of ['x.md', 'Äpfel/日本.md', `${'d'.repeat(63)}/`.repeat(7) + 'x'.repeat(64), 'x'.repeat(4096)]) {
    const { cursor = '' } = z.strictObject(page).parse({ cursor: encodeCursor(path) });
    expect(decodeCursor(cursor)).toBe(path);
  }
});

test('a path that is an argument comes in its composed form, and untouched when it is far too long', () => {
  expect(PathText.parse('A\u0308pfel/u\u0308ber.md')).toBe('Äpfel/über.md');
  const endless = '\u0301\u0323'.repeat(1_000_000);
  expect(PathText.parse(endless)).toBe(endless);
});
