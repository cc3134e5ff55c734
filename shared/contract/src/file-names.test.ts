import { array, assert, constantFrom, integer, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explainFilePath, filePathProblem, isFilePath, MAX_SEGMENT_BYTES, normalPath } from './file-names.ts';
import { foldCase } from './fold-case.ts';

const GOOD = [
  'x',
  'a/x.md',
  'v1.2',
  'My Notes/1st idea.md',
  'a/b/c/d/e/f/g/h.json',
  'x'.repeat(100),
  '日'.repeat(66),
  'Äpfel.md',
  'Notes (copy).md',
  "John's.md",
  'C++.md',
  '_private.md',
  '日本.md',
  'a..b',
  '~/x',
  '$HOME',
  '`x`',
  '@{-1}',
  '%2e%2e/x',
  '#hash & [brackets]!, {1}; ^=.md',
  'résumé – final.md',
  'Заметка.md',
  'مذكرة.md',
  'می\u200cخواهم.md',
  'क्\u200dष.md',
  '👨\u200d👩\u200d👧 ❤️.md',
  '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}.md',
  'At 1.23\u202fPM.md',
  '：full width？.md',
  'console.md',
  'com10',
  'gist~1',
  'git',
  'git~x',
  '…and then.md',
];

/** Path, segment at fault, character at fault. */
const BAD: readonly (readonly [string, string | null, string | null])[] = [
  ['', null, null],
  ['/x', '', null],
  ['x/', '', null],
  ['a//b', '', null],
  ['../x', '..', '.'],
  ['a/../x', '..', '.'],
  ['.git/config', '.git', '.'],
  ['a/.hidden', '.hidden', '.'],
  ['-v', '-v', '-'],
  ['x.', 'x.', '.'],
  ['a./x', 'a.', '.'],
  ['x ', 'x ', ' '],
  [' x', ' x', ' '],
  ['\u00a0x', '\u00a0x', '\u00a0'],
  ['x\u3000', 'x\u3000', '\u3000'],
  ['CON', 'CON', null],
  ['con.md', 'con.md', null],
  ['con .md', 'con .md', null],
  ['a/LPT1.txt', 'LPT1.txt', null],
  ['COM¹.md', 'COM¹.md', null],
  ['conin$', 'conin$', null],
  ['git~1/x', 'git~1', '~'],
  ['GIT~2', 'GIT~2', '~'],
  ['gi\u200ct~1', 'gi\u200ct~1', '~'],
  ['gitmod~1', 'gitmod~1', '~'],
  ['gi7eba~1', 'gi7eba~1', '~'],
  ['\u200c.git/x', '\u200c.git', '.'],
  ['x.\u200d', 'x.\u200d', '.'],
  ['\u200d', '\u200d', '\u200d'],
  ['．git', '．git', '．'],
  ['a\\b', 'a\\b', '\\'],
  ['a:b', 'a:b', ':'],
  ['d/a*b?', 'a*b?', '*'],
  ['"x"', '"x"', '"'],
  ['<x>', '<x>', '<'],
  ['a|b', 'a|b', '|'],
  ['a\0b', 'a\0b', '\0'],
  ['a\nb', 'a\nb', '\n'],
  ['a\u007fb', 'a\u007fb', '\u007f'],
  ['a\u0085b', 'a\u0085b', '\u0085'],
  ['a\u2028b', 'a\u2028b', '\u2028'],
  ['a\ufffdb', 'a\ufffdb', '\ufffd'],
  ['a\ud800b', 'a\ufffdb', '\ufffd'],
  ['a\uffffb', 'a\uffffb', '\uffff'],
  ['a\u202eb', 'a\u202eb', '\u202e'],
  ['a\u200bb', 'a\u200bb', '\u200b'],
  ['\ufeffx', '\ufeffx', '\ufeff'],
  ['a\u{e0041}b', 'a\u{e0041}b', '\u{e0041}'],
  ['a\uf03ab', 'a\uf03ab', '\uf03a'],
  ['e\u0301.md', 'e\u0301.md', null],
  ['x'.repeat(101), `${'x'.repeat(100)}…`, null],
  ['日'.repeat(67), '日'.repeat(67), null],
  ['a/b/c/d/e/f/g/h/i', null, null],
  [`${'long-segment-'.repeat(7)}/`.repeat(6) + 'x', null, null],
];

describe('file paths', () => {
  it.each(GOOD)('takes %j', (path) => {
    expect(filePathProblem(path)).toBeNull();
  });

  it.each(BAD)('refuses %j', (path, segment, character) => {
    expect(explainFilePath(path)).toMatchObject({ segment, character });
  });

  it('says what is wrong in words that can be shown anywhere', () => {
    const reasons = ['a?b', 'd/a\u202eb', 'a\ud800b', ' x', 'x"y', 'a//b', 'a/b/c/d/e/f/g/h/i', 'con.md'].map(
      filePathProblem,
    );
    expect(reasons).toEqual([
      'has the segment "a?b", which has "?" (U+003F); no file name may have that',
      'has the segment "a\\u{202E}b", which has U+202E; no file name may have that invisible character',
      'has the segment "a\\u{D800}b", which has U+D800; no file name may have that',
      'has the segment " x", which starts with " " (U+0020); no file name starts with a dot, dash or space',
      'has the segment "x\\"y", which has "\\"" (U+0022); no file name may have that',
      'has an empty segment',
      'is deeper than 8 segments',
      'has the segment "con.md", which is the name of a device on Windows',
    ]);
    for (const [path] of BAD) expect(filePathProblem(path), path).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });

  it('looks names up by their composed form', () => {
    expect(normalPath('e\u0301/A\u030a.md')).toBe('é/Å.md');
    expect(isFilePath(normalPath('e\u0301.md'))).toBe(true);
  });

  it('takes nothing that leaves its directory or means something to git, whatever it is made of', () => {
    const hostile = [
      '.',
      '..',
      '/',
      '-',
      ' ',
      '~1',
      'git',
      '.git',
      'NUL',
      '\\',
      ':',
      '\u200d',
      '．',
      '\u202e',
      'md',
      'é',
    ];
    const character = oneof(
      constantFrom(...hostile),
      integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
    );
    assert(
      property(array(character, { maxLength: 12 }), (pieces) => {
        const path = normalPath(pieces.join(''));
        if (!isFilePath(path)) return;
        for (const segment of path.split('/')) {
          const visible = segment.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
          expect(visible).toMatch(/^[^.\s-]/u);
          expect(visible).toMatch(/[^.\s]$/u);
          expect(segment).not.toMatch(/[\p{Cc}/\\:*?"<>|]/u);
          expect(segment.isWellFormed()).toBe(true);
          expect(foldCase(segment)).not.toMatch(/^\.git|^git~\d|^(nul|con|aux|prn)(\.|$)/);
          expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(MAX_SEGMENT_BYTES);
        }
      }),
      { numRuns: 20_000, seed: 5 },
    );
  });

  it('costs what a path is long, however long it is', () => {
    const spent = (length: number): number => {
      const paths = [' ', 'é', '/', '\u{e0041}', '\u0301\u0323'].map((piece) => piece.repeat(length));
      const before = process.cpuUsage().user;
      for (let round = 0; round < 20; round += 1) for (const path of paths) filePathProblem(normalPath(path));
      return process.cpuUsage().user - before;
    };
    spent(100_000);
    expect(spent(400_000)).toBeLessThan(20 * Math.max(spent(100_000), 20_000));
  });
});
