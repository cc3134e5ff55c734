import { describe, expect, test } from 'vitest';
import { UsageProblem } from './problems.ts';
import { toolArguments, valuesOf, writtenValue } from './tool-arguments.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    count: { type: 'integer' },
    share: { type: 'number' },
    deep: { type: 'boolean' },
    mode: { type: 'string', enum: ['plain', 'rag'] },
    level: { enum: [1, 2] },
    tags: { type: 'array', items: { type: 'string' } },
    ids: { type: 'array', items: { type: 'integer' } },
    names: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    hash: {
      anyOf: [
        { type: 'string', pattern: 'x' },
        { type: 'string', const: 'none' },
      ],
    },
    who: { type: 'object', properties: { agentId: { type: 'string' }, age: { type: 'integer' } } },
    tree: { $ref: '#/$defs/tree' },
    any: {},
    value: { description: 'Whatever it is.', $ref: '#/$defs/json' },
  },
  $defs: {
    tree: { type: 'object', properties: { leaf: { type: 'boolean' } } },
    json: {
      anyOf: [
        { type: 'string' },
        { type: 'number' },
        { type: 'boolean' },
        { type: 'null' },
        { type: 'array', items: { $ref: '#/$defs/json' } },
        { type: 'object', additionalProperties: { $ref: '#/$defs/json' } },
      ],
    },
  },
};

const read = async (source: string): Promise<string> => `text of ${source}`;
const parse = (...words: string[]) => toolArguments(SCHEMA, words, read);

test.each([
  ['name=1', { name: '1' }],
  ['name=', { name: '' }],
  ['name=a=b', { name: 'a=b' }],
  ['name=two words\nand lines', { name: 'two words\nand lines' }],
  ['name=@notes.md', { name: 'text of notes.md' }],
  ['name=@-', { name: 'text of -' }],
  ['name=@@home', { name: '@home' }],
  ['name=@', { name: '@' }],
  ['count=12', { count: 12 }],
  ['count=-3', { count: -3 }],
  ['share=0.5', { share: 0.5 }],
  ['deep=true', { deep: true }],
  ['deep=off', { deep: false }],
  ['mode=rag', { mode: 'rag' }],
  ['level=2', { level: 2 }],
  ['tags=a', { tags: ['a'] }],
  ['tags=["a","b"]', { tags: ['a', 'b'] }],
  ['ids=7', { ids: [7] }],
  ['names=["a"]', { names: ['a'] }],
  ['limit=null', { limit: null }],
  ['limit=4', { limit: 4 }],
  ['hash=none', { hash: 'none' }],
  ['hash=ab12', { hash: 'ab12' }],
  ['who={"agentId":"a"}', { who: { agentId: 'a' } }],
  ['who.age=3', { who: { age: 3 } }],
  ['tree.leaf=yes', { tree: { leaf: true } }],
  ['any=5', { any: 5 }],
  ['any=12345678901234567890', { any: '12345678901234567890' }],
  ['unknown=true', { unknown: true }],
  ['value=true', { value: true }],
  ['value=yes', { value: 'yes' }],
  ['value=5', { value: 5 }],
  ['value=12345678901234567890', { value: '12345678901234567890' }],
  ['value=null', { value: null }],
  ['value=["127.0.0.1:4457",[1]]', { value: ['127.0.0.1:4457', [1]] }],
  ['value={"a":[]}', { value: { a: [] } }],
  ['name:="5"', { name: '5' }],
  ['count:=null', { count: null }],
])('%s is what the schema means', async (word, expected) => {
  expect(await parse(word)).toEqual(expected);
});

test('a key that comes again adds to a list, and to nothing else', async () => {
  expect(await parse('tags=a', 'tags=b', 'ids=1', 'ids=2')).toEqual({ tags: ['a', 'b'], ids: [1, 2] });
  await expect(parse('name=a', 'name=b')).rejects.toMatchObject({ advice: ['name: is given twice'] });
});

describe('what does not fit', () => {
  test.each([
    ['count=ten', 'count: "ten" is no number'],
    ['count=1.5', 'count: "1.5" is no whole number'],
    ['share=', 'share: "" is no number'],
    ['deep=maybe', 'deep: "maybe" is neither true nor false'],
    ['mode=fast', 'mode: "fast" is none of plain, rag'],
    ['ids=x', 'ids: "x" is no number'],
    ['who=me', 'who: is an object: write its JSON'],
    ['any:=[1e999]', 'any: a number is too large'],
    ['loose', '"loose" is no argument: write key=value'],
    ['__proto__.x=1', '__proto__.x: cannot be the name of an argument (nearest argument: who)'],
    ['=5', '"=5" is no argument: write key=value'],
  ])('%s: %s', async (word, problem) => {
    await expect(parse(word)).rejects.toMatchObject({
      advice: [expect.stringContaining(problem.split(' (')[0] ?? '')],
    });
  });

  test('every argument that is wrong is named at once', async () => {
    const wrong = parse('count=x', 'mode=y', 'nmae:=oops');
    await expect(wrong).rejects.toThrow(UsageProblem);
    await expect(wrong).rejects.toMatchObject({
      advice: [
        expect.stringMatching(/^count: /),
        expect.stringMatching(/^mode: /),
        expect.stringMatching(/^nmae: is no JSON .*nearest argument: name/),
      ],
    });
  });

  test('nothing reaches the prototype of objects', async () => {
    await parse('who.constructor.x=1').catch(() => {});
    await parse('__proto__:={"polluted":true}').catch(() => {});
    expect({}).not.toHaveProperty('polluted');
    expect({}).not.toHaveProperty('x');
  });
});

test('completion knows the values of choices and of switches', () => {
  expect(valuesOf(SCHEMA, 'mode')).toEqual(['plain', 'rag']);
  expect(valuesOf(SCHEMA, 'deep')).toEqual(['true', 'false']);
  expect(valuesOf(SCHEMA, 'name')).toEqual([]);
  expect(valuesOf(SCHEMA, 'absent')).toEqual([]);
});

test.each(['home', '@home', '@@home', '@', 'two words', '', 12, { a: ['@b'] }])(
  '%j is read as it is written',
  async (value) => {
    const { kind, text } = writtenValue(value);
    const key = typeof value === 'string' ? 'name' : 'any';
    expect(await parse(`${key}${kind}${text}`)).toEqual({ [key]: value });
  },
);
