import { applyTransforms, type Transforms } from '@svc/contract/transform.ts';
import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { growthOf, LINEAR } from '@svc/testing/growth.ts';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type HidingPolicy, hidesFieldsOf, indexedText, mergedText, shownText } from './hidden-fields.ts';

function policy(hidden: Partial<Transforms>, resource = 'brain:hr'): HidingPolicy {
  return { resource, filter: [], mask: [], ...hidden };
}

const SALARY = [policy({ mask: ['salary'], filter: ['_note'] })];
const PERSON = '{\n  "name": "Ada",\n  "salary": 91000,\n  "_note": {"raise": [1, "}"]},\n  "tags": ["a", "b"]\n}\n';
const PAGE =
  '---\ntitle: Ada\n# last raised in May\nsalary: 91000 # was 90000\n_note: |\n  hush\ntags: [a, b]\n---\n# Ada\ntext\n';

describe('what is shown', () => {
  test('of JSON: the same text without the filtered member, the masked one covered', () => {
    expect(shownText('a/ada.json', PERSON, SALARY)).toBe(
      '{\n  "name": "Ada",\n  "salary": "[masked]",\n  "tags": ["a", "b"]\n}\n',
    );
  });

  test('of a front matter: the same lines, comments of a masked field gone with it', () => {
    expect(shownText('a/ada.md', PAGE, SALARY)).toBe(
      '---\ntitle: Ada\nsalary: "[masked]"\ntags: [a, b]\n---\n# Ada\ntext\n',
    );
  });

  test('of a list of objects: each of them', () => {
    expect(shownText('all.json', '[{"salary": 1, "a": 2}, 3, {"_note": 0}]', SALARY)).toBe(
      '[{"salary": "[masked]", "a": 2}, 3, {}]',
    );
  });

  test.each([
    ['a member that comes twice', '{"salary": 1, "salary": 2, "a": 1}'],
    ['a name written with escapes', String.raw`{"s\u0061lary": 2, "a": 1}`],
    ['the last member', '{"a": 1, "salary": 2}'],
    ['the only member', '{ "salary": 2 }'],
  ])('%s is hidden too', (_what, text) => {
    const shown = shownText('x.json', text, SALARY) ?? '';
    expect(JSON.parse(shown)).toEqual(applyTransforms(policy({ mask: ['salary'] }), JSON.parse(text))?.data);
    expect(shown).not.toMatch(/[ :]2/);
  });

  test('nor is it shown in an earlier one of two members, whatever the later one is', () => {
    const dotted = [policy({ filter: ['a.b.salary'] })];
    expect(shownText('x.json', '{"a": {"b": {"salary": 91000}}, "c": 1, "a": 5}', dotted)).toBe('{ "c": 1, "a": 5}');
    expect(indexedText('x.json', '[{"a": {"b": {"salary": 91000}}, "a": {"b": 1}}]', dotted)).toBe(
      '[{ "a": {"b": 1}}]',
    );
  });

  test('a flow mapping, whose fields have no lines, is written anew', () => {
    const shown = shownText('x.md', '---\n{salary: 91000, a: 1}\n---\nbody', SALARY) ?? '';
    expect(shown).not.toContain('91000');
    expect(shown).toMatch(/^---\n[\s\S]*a: 1\n---\nbody$/);
  });

  test.each([
    ['x.json', '{"salary": 91000,}'],
    ['x.md', '---\nsalary: "91000\n---\n'],
    ['x.md', '---\nsalary: 1\nsalary: 2\n---\n'],
    ['x.md', '---\n- salary: 91000\n---\n'],
    ['x.md', '---\n{salary: &s 91000, a: *s}\n---\n'],
  ])('nothing when hidden fields cannot be told apart: %s %j', (path, text) => {
    expect(shownText(path, text, SALARY)).toBeNull();
    expect(indexedText(path, text, SALARY)).toBeNull();
    expect(mergedText(path, null, text, SALARY)).toBeNull();
  });

  test('a dotted path hides inside one member and leaves the others as they are', () => {
    const dotted = [policy({ filter: ['owner.email'] })];
    expect(shownText('x.json', '{ "a":1,  "owner": {"email": "e@x.org", "n": 1} }', dotted)).toBe(
      '{ "a":1,  "owner": { "n": 1} }',
    );
  });

  test('of a data island: a boundary acts on its data, a policy of the brain on both', () => {
    const island = '{"island": {"type": "crm"}, "data": {"salary": 91000, "a": 1}, "salary": 5}';
    expect(shownText('islands/hr.json', island, [policy({ mask: ['salary'] }, '_island:hr')])).toBe(
      '{"island": {"type": "crm"}, "data": {"salary": "[masked]", "a": 1}, "salary": 5}',
    );
    expect(shownText('islands/hr.json', island, [policy({ filter: ['salary'] })])).toBe(
      '{"island": {"type": "crm"}, "data": { "a": 1}}',
    );
    expect(hidesFieldsOf('islands/hr.md', [policy({ mask: 'all' }, '_island:hr')])).toBe(false);
  });
});

test('masked fields are not indexed, and every other line keeps its number', () => {
  const shown = shownText('a.json', PERSON, SALARY)?.split('\n') ?? [];
  const indexed = indexedText('a.json', PERSON, SALARY) ?? '';
  expect(indexed).not.toMatch(/salary|masked/);
  expect(JSON.parse(indexed)).toEqual({ name: 'Ada', tags: ['a', 'b'] });
  for (const [line, text] of indexed.split('\n').entries()) if (text.trim() !== '') expect(shown[line]).toContain(text);
  const page = indexedText('a.md', PAGE, SALARY) ?? '';
  expect(page).not.toMatch(/salary|masked|May/);
  expect(page.split('\n').indexOf('# Ada')).toBe(shownText('a.md', PAGE, SALARY)?.split('\n').indexOf('# Ada'));
});

describe('data of any depth', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const DOTTED = [policy({ filter: ['a.b.salary'], mask: ['_note'] })];

  test.each([
    ['a key that comes twice', `{"_note": 91000, "x": 1, "x": ${deep}}`],
    ['an object of which a part is hidden', `{"a": {"b": {"salary": 91000, "x": ${deep}, "x": ${deep}}}}`],
    ['a list', `[{"_note": 91000, "id": ${deep}}, ${deep}]`],
  ])('%s is shown and kept', (_what, text) => {
    const shown = shownText('x.json', text, DOTTED) ?? '';
    expect(shown).toContain(deep);
    expect(shown + (indexedText('x.json', text, DOTTED) ?? '')).not.toContain('91000');
    expect(mergedText('x.json', text, shown, DOTTED)).toBe(text);
    expect(mergedText('x.json', text, `${shown} `, DOTTED)).toContain('91000');
    const island = `{"island": {}, "data": ${text}}`;
    expect(shownText('islands/x.json', island, DOTTED)).not.toBeNull();
    const boundary = [policy({ filter: ['a.b.salary'], mask: ['_note'] }, '_island:x')];
    expect(shownText('islands/x.json', island, boundary)).toBe(`{"island": {}, "data": ${shown}}`);
  });

  test('of members with one name the last counts, further in too', () => {
    const text = '{"a": {"b": {"salary": 1, "x": 2}}, "a": {"b": {"salary": 3, "x": 4, "salary": 5}}}';
    expect(shownText('x.json', text, DOTTED)).toBe('{ "a": {"b": { "x": 4}}}');
  });

  test('numbers beside a hidden field stay as they are written', () => {
    const present = '{"a": {"b": {"salary": 1, "x": 12345678901234567890.10}}}';
    const incoming = '{"a": {"b": {"x": 12345678901234567890.10, "y": 1e400}}}';
    expect(mergedText('x.json', present, incoming, DOTTED)).toBe(
      '{"a": {"b": {"salary": 1,"x": 12345678901234567890.10, "y": 1e400}}}',
    );
  });
});

describe('what is written', () => {
  test('a masked value that comes back keeps what it covers, byte for byte', () => {
    const incoming = '{"name": "Lovelace", "salary": "[masked]"}';
    expect(mergedText('a.json', PERSON, incoming, SALARY)).toBe(
      '{"name": "Lovelace", "salary": 91000,\n  "_note": {"raise": [1, "}"]}}',
    );
    const page = mergedText('a.md', PAGE, '---\nsalary: [masked]\ntitle: Countess\n---\nnew\n', SALARY) ?? '';
    expect(page).toBe('---\nsalary: 91000 # was 90000\n_note: |\n  hush\ntitle: Countess\n---\nnew\n');
  });

  test('a new value of a hidden field is taken, a masked field left out goes, a filtered one stays', () => {
    expect(JSON.parse(mergedText('a.json', PERSON, '{"salary": 1}', SALARY) ?? '')).toEqual({
      salary: 1,
      _note: { raise: [1, '}'] },
    });
    expect(mergedText('a.md', PAGE, 'no front matter\n', SALARY)).toBe('---\n_note: |\n  hush\n---\nno front matter\n');
  });

  test('objects of a list are found again by their id', () => {
    const present = '[{"id": 1, "salary": 10}, {"id": 2, "salary": 20}]';
    const incoming = '[{"id": 2, "salary": "[masked]"}, {"id": 1, "salary": "[masked]"}, {"id": 3}]';
    expect(JSON.parse(mergedText('a.json', present, incoming, SALARY) ?? '')).toEqual([
      { id: 2, salary: 20 },
      { id: 1, salary: 10 },
      { id: 3 },
    ]);
  });

  test('what cannot hold the hidden values is refused', () => {
    expect(mergedText('a.json', PERSON, '[1]', SALARY)).toBeNull();
    expect(mergedText('a.json', PERSON, 'plain', SALARY)).toBeNull();
  });

  test('of a data island: its data keeps what the boundary hides', () => {
    const boundary = [policy({ filter: ['salary'] }, '_island:hr')];
    const present = '{"island": {"type": "crm"}, "data": {"salary": 91000, "a": 1}}';
    expect(mergedText('islands/hr.json', present, '{"island": {}, "data": {"a": 2}}', boundary)).toBe(
      '{"island": {}, "data": {"salary": 91000,"a": 2}}',
    );
  });
});

describe('numbers of members and items that a body can hold', () => {
  const many = (count: number, item: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => item(at)).join(',');
  const secretary = [policy({ mask: ['k5', 'salary'] }), policy({ mask: 'secrets' })];

  test.each([
    ['members, few of them hidden', (count: number) => `{${many(count, (at) => `"m${at}": ${at}`)}, "salary": 1}`],
    ['members, all of them hidden', (count: number) => `{${many(count, (at) => `"key${at}": ${at}`)}}`],
    ['items, all of them with something hidden', (count: number) => `[${many(count, () => '{"k5":1}')}]`],
  ])('%s: shown, indexed and kept in time that grows as they do', async (_what, textOf) => {
    const work = (count: number): void => {
      const text = textOf(count);
      const shown = shownText('x.json', text, secretary) ?? '';
      expect(indexedText('x.json', text, secretary)).not.toContain('masked');
      expect(mergedText('x.json', text, `${shown} `, secretary)).toBe(`${text} `);
    };
    expect((await growthOf(work, 20_000)).factor).toBeLessThanOrEqual(LINEAR);
  });
});

const NAMES = ['salary', '_note', 'name', 'a.b', 'a', 'b', 'email', 'token', '__proto__', 'ä "x"'];
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant('e@x.org'));
const value = fc.oneof(
  { weight: 3, arbitrary: leaf },
  fc.array(leaf, { maxLength: 3 }),
  fc.dictionary(fc.constantFrom(...NAMES), leaf, { maxKeys: 3 }),
);
const object = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 6 });
const names = fc.array(fc.constantFrom(...NAMES, 'a.email'), { maxLength: 3 });
const policies = fc.array(
  fc.record({
    resource: fc.constant('brain:x'),
    filter: fc.oneof(names, fc.constantFrom('private', 'secrets', 'nested')),
    mask: fc.oneof(names, fc.constantFrom('secrets', 'email', 'all')),
  }),
  { minLength: 1, maxLength: 2 },
);

function expected(data: unknown, hiding: readonly HidingPolicy[]): unknown {
  return hiding.reduce((shown, one) => applyTransforms(one, shown)?.data, data);
}

describe('for any data and any policies', () => {
  test('JSON shows what the evaluator shows, and writing it back changes no byte', () => {
    fc.assert(
      fc.property(object, policies, fc.constantFrom(0, 1, 2, '\t'), (data, hiding, indent) => {
        const text = JSON.stringify(data, null, indent);
        const shown = shownText('x.json', text, hiding) ?? '';
        expect(JSON.parse(shown)).toEqual(expected(JSON.parse(text), hiding));
        expect(mergedText('x.json', text, shown, hiding)).toBe(text);
        // Any other layout of the shown data holds the same data once it is written.
        const again = mergedText('x.json', text, `${JSON.stringify(JSON.parse(shown), null, 4)}\n`, hiding);
        expect(JSON.parse(again ?? '')).toEqual(JSON.parse(text));
        expect(() => JSON.parse(indexedText('x.json', text, hiding) ?? '')).not.toThrow();
      }),
      { numRuns: runs(3000), seed: 7 },
    );
  });

  test('whatever names come twice, JSON shows nothing that an object of the last ones does not', () => {
    const members = fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 8 });
    fc.assert(
      fc.property(members, policies, (pairs, hiding) => {
        const text = `{${pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(', ')}}`;
        const shown = shownText('x.json', text, hiding) ?? '';
        expect(JSON.parse(shown)).toEqual(expected(JSON.parse(text), hiding));
        expect(mergedText('x.json', text, shown, hiding)).toBe(text);
        const again = mergedText('x.json', text, JSON.stringify(JSON.parse(shown)), hiding) ?? '';
        expect(JSON.parse(again)).toEqual(JSON.parse(text));
      }),
      { numRuns: runs(1500), seed: 9 },
    );
  });

  test('a front matter shows what the evaluator shows, and writing it back changes no byte', () => {
    fc.assert(
      fc.property(object, policies, (data, hiding) => {
        const text = `---\n${stringify(data)}---\nbody\n`;
        const shown = shownText('x.md', text, hiding) ?? '';
        const [, yaml = ''] = shown.split(/^---\n/m);
        expect(parse(yaml) ?? {}).toEqual(expected(parse(stringify(data)), hiding));
        expect(mergedText('x.md', text, shown, hiding)).toBe(text);
        const again = mergedText('x.md', text, `${shown}more\n`, hiding)?.split(/^---\n/m)[1] ?? '';
        expect(parse(again)).toEqual(parse(stringify(data)));
      }),
      { numRuns: runs(2000), seed: 8 },
    );
  });
});
