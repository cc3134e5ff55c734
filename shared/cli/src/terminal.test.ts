import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createTerminal, type Form } from './terminal.ts';
import { type Column, table } from './table.ts';
import { resultText } from './result-text.ts';
import { oneLine, visible } from './visible.ts';

interface Given {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly form?: Form;
  readonly env?: Readonly<Record<string, string>>;
}

function terminal({ isTTY = false, columns = 80, form = 'auto', env = {} }: Given = {}) {
  const stream = () => Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  const made = createTerminal({ stdin, stdout, stderr, env }, form);
  return { made, said: () => String(stdout.read() ?? ''), noted: () => String(stderr.read() ?? '') };
}

test.each([
  [{ isTTY: true }, false],
  [{ isTTY: false }, true],
  [{ isTTY: true, form: 'json' }, true],
  [{ isTTY: false, form: 'text' }, false],
] as const)('%j: JSON lines = %s', (given, isJson) => {
  expect(terminal(given).made.isJson).toBe(isJson);
});

test.each([
  [{ isTTY: true }, true],
  [{ isTTY: false }, false],
  [{ isTTY: true, env: { NO_COLOR: '1' } }, false],
  [{ isTTY: true, env: { NO_COLOR: '' } }, true],
  [{ isTTY: true, env: { TERM: 'dumb' } }, false],
  [{ isTTY: false, env: { FORCE_COLOR: '1' } }, true],
  [{ isTTY: true, env: { FORCE_COLOR: '0' } }, false],
])('%j: colour = %s', (given, isColoured) => {
  expect(terminal(given).made.paint('red', 'x') !== 'x').toBe(isColoured);
});

interface Row {
  readonly name: string;
  readonly text: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'NAME', value: ({ name }) => name, paint: () => 'cyan' },
  { title: 'EMPTY', value: () => '' },
  { title: 'TEXT', value: ({ text }) => text },
];

const LONG = 'words that do not fit into one line of a narrow terminal, and a'.concat('verylongword'.repeat(8));

test('columns fit the terminal: the widest is wrapped, also in the middle of a word, and nothing is lost', () => {
  const lines = table(terminal({ isTTY: true, columns: 40 }).made, COLUMNS, [{ name: 'first', text: LONG }]).split(
    '\n',
  );
  const plain = lines.map((line) => line.replaceAll(/\u001b\[\d+m/g, ''));
  expect(Math.max(...plain.map(({ length }) => length))).toBeLessThanOrEqual(40);
  expect(plain[0]).not.toContain('EMPTY');
  const text = plain
    .slice(1)
    .map((line) => line.slice(7))
    .join('');
  expect(text.replaceAll(' ', '')).toBe(LONG.replaceAll(' ', ''));
});

test('wide characters take two cells', () => {
  const rows = [
    { name: '水位', text: 'a' },
    { name: 'abcd', text: 'b' },
  ];
  const [, wide, narrow] = table(terminal({ form: 'text' }).made, COLUMNS, rows).split('\n');
  expect(wide).toBe('水位  a');
  expect(narrow).toBe('abcd  b');
});

test('text of others cannot move the cursor, turn the line round or fake a line', () => {
  expect(visible('a\u001b[2Jb\u0007\u009bc\u202ed\r\ne\tf')).toBe('a␛[2Jb␇�c�d\ne\tf');
  expect(oneLine(' a\n\nb\tc ')).toBe('a b c');
  const rows = [{ name: 'x\u001b]0;title\u0007', text: 'two\nlines' }];
  expect(table(terminal({ form: 'text' }).made, COLUMNS, rows)).not.toMatch(/[\u001b\u0007]/);
  expect(resultText(terminal({ form: 'text' }).made, { note: 'a\u001b[31m', long: 'x\n\u001b[0m' })).not.toContain(
    '\u001b',
  );
});

test('a result is facts, then tables, then texts', () => {
  const result = { text: 'one\ntwo', rows: [{ id: 1, at: 0, tags: ['a', 'b'] }], count: 1, none: null, list: [] };
  expect(resultText(terminal({ form: 'text' }).made, result).split('\n')).toEqual([
    'count  1',
    'none   -',
    'list   -',
    '',
    'rows',
    'id  at  tags',
    ' 1  0   a, b',
    '',
    'text',
    'one',
    'two',
  ]);
});

test('progress is shown at a terminal only, and leaves nothing', async () => {
  const quiet = terminal();
  quiet.made.progress('working').end();
  expect(quiet.noted()).toBe('');
  const seen = terminal({ isTTY: true });
  const progress = seen.made.progress('working');
  await expect.poll(seen.noted).toContain('working');
  progress.end();
  expect(seen.noted()).toMatch(/\r\u001b\[K$/);
});

test('JSON has nothing in it that acts on a terminal, and is read as what it was', () => {
  const { made, said } = terminal({ isTTY: true, form: 'json' });
  const value = { text: 'a\u009b31m \u202eb\u2069 \u007f \u001b[2J \u0000 \\u009b 水位 😀\n\t' };
  made.json(value);
  const line = said();
  expect(line).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]*\n$/);
  expect(JSON.parse(line)).toEqual(value);
});
