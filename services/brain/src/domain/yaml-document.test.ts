import process from 'node:process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readYaml, readYamlDocument } from './yaml-document.ts';

const deep = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels);

describe('nothing is read of', () => {
  test.each([
    ['what is no YAML', 'a: ['],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['a document that was ended', 'a: 1\n...\nb: 2\n'],
    ['a key twice', 'a: 1\nb: 2\na: 3\n'],
    ['a key twice further in', 'a:\n  - {b: 1, b: 2}\n'],
    ['more than is read', `a: ${'x'.repeat(33_000)}\n`],
    ['deep brackets', `a: ${deep('[', ']', 65)}\n`],
    ['brackets that never close', `a: ${'['.repeat(30_000)}`],
    ['deep braces', `a: ${deep('{a: ', '}', 65)}\n`],
    ['deep lists', `${'- '.repeat(65)}a\n`],
    ['deep keys', `${'? '.repeat(70)}a\n`],
    ['deep mappings', Array.from({ length: 66 }, (_, level) => `${' '.repeat(level)}a:\n`).join('')],
    ['what contains itself', 'a: &a [*a]\n'],
    ['what contains itself further in', '&a {b: {c: *a}}\n'],
    ['an alias of nothing', 'a: *b\n'],
    ['many aliases', `a: &a 1\nb: [${'*a, '.repeat(101)}]\n`],
    [
      'aliases of aliases',
      `a: &a [1, 1]\n${Array.from('bcdefgh', (name, at) => `${name}: &${name} [*${'abcdefg'[at]}, *${'abcdefg'[at]}]\n`).join('')}`,
    ],
    ['lone carriage returns', 'a: 1\rsalary: 2\r\n'],
  ])('%s', (_what, text) => {
    expect(readYaml(text)).toBeNull();
  });
});

test.each([
  ['nothing', '', {}],
  ['comments', '# a\n', {}],
  ['a mapping as deep as it may be', `${'{a: '.repeat(63)}1${'}'.repeat(63)}`, expect.anything()],
  ['keys that are alike in text alone', '1: a\n"1": b\n', { 1: 'b' }],
  [
    'names of prototypes',
    '__proto__: {a: 1}\nconstructor: 2\n',
    JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}'),
  ],
  ['merge keys, which are keys like any other', 'a: &a {b: 1}\n<<: *a\n', { a: { b: 1 }, '<<': { b: 1 } }],
  [
    'tags, which make nothing but plain data',
    'a: !!binary aGk=\nb: !!set {x, y}\nc: !ruby/object:X 1\n',
    { a: 'aGk=', b: { x: null, y: null }, c: '1' },
  ],
  ['mixed line ends', 'a: 1\r\nb: 2\nc: |\r\n  x\r\n', { a: 1, b: 2, c: 'x\n' }],
])('%s', (_what, text, data) => {
  expect(readYaml(text)?.data).toEqual(data);
});

test('30 KB of keys are compared once each', () => {
  const text = Array.from({ length: 4_500 }, (_, index) => `k${index}:\n`).join('');
  expect(readYamlDocument(text)).not.toBeNull();
  expect(readYamlDocument(`${text}k17: 1\n`)).toBeNull();
});

test('no words of a text are warned of in the log', async () => {
  const warned: string[] = [];
  const note = ({ message }: Error): void => void warned.push(message);
  process.on('warning', note);
  expect(readYaml('[salary, 1000]: a\n? {pay: 2}\n: b\n!odd c: d\n')?.data).toMatchObject({ '[ salary, 1000 ]': 'a' });
  await nextTurn();
  process.off('warning', note);
  expect(warned).toEqual([]);
});
