import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import {
  amendIsland,
  contentOf,
  fileOf,
  namedIn,
  IslandName,
  isSourced,
  type IslandContent,
  type IslandDefinition,
  readIsland,
  renderIsland,
  truncated,
} from './island.ts';
import { normalTriggers } from './trigger.ts';

const PLAIN: IslandDefinition = { type: 'static', triggers: [], enabled: true, description: '', source: [] };

test('a new text island is Markdown with its definition in front', () => {
  const definition = { ...PLAIN, triggers: ['deploy', 'pr: x'], description: 'How we ship', source: ['learnings'] };
  expect(renderIsland(definition, { kind: 'text', text: '# Ship\n' })).toBe(
    '---\ntype: static\ntriggers: [deploy, "pr: x"]\nenabled: true\ndescription: How we ship\nsource: [learnings]\n---\n# Ship\n',
  );
});

const definitions: fc.Arbitrary<IslandDefinition> = fc.record({
  type: fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/),
  triggers: fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { maxLength: 8 }).map(normalTriggers),
  enabled: fc.boolean(),
  description: fc.string({ maxLength: 200, unit: 'grapheme' }),
  source: fc.array(fc.constantFrom('learnings', 'a/b.md', 'notes/'), { maxLength: 3 }),
});
const contents: fc.Arbitrary<IslandContent> = fc.oneof(
  fc.record({
    kind: fc.constant('text' as const),
    text: fc.oneof(fc.string(), fc.constantFrom('---\na: 1\n---\n', '\r\n')),
  }),
  fc.record({
    kind: fc.constant('data' as const),
    data: fc
      .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }))
      .map((data) => JSON.parse(JSON.stringify(data)) as unknown),
  }),
);

test('what was written is what is read', () => {
  fc.assert(
    fc.property(definitions, contents, (definition, content) => {
      fc.pre(!definition.triggers.some((trigger) => /\p{Cc}/u.test(trigger)));
      const text = renderIsland(definition, content);
      expect(readIsland(fileOf('ops', content.kind), text)).toMatchObject({
        name: 'ops',
        invalid: false,
        ...definition,
      });
      expect(contentOf(content.kind, text)).toEqual(content);
    }),
    { numRuns: runs(1500), seed: 3 },
  );
});

test('an amendment changes what it says and nothing else', () => {
  fc.assert(
    fc.property(definitions, contents, definitions, fc.boolean(), (definition, content, other, pretty) => {
      fc.pre(![...definition.triggers, ...other.triggers].some((trigger) => /\p{Cc}/u.test(trigger)));
      const rendered = renderIsland(definition, content);
      const text = content.kind === 'data' && !pretty ? JSON.stringify(JSON.parse(rendered)) : rendered;
      for (const amendment of [
        { member: 'enabled', value: other.enabled },
        { member: 'triggers', value: other.triggers },
      ] as const) {
        const amended = amendIsland(content, text, amendment);
        if (!amended.ok) throw new Error(amended.code);
        const wanted = { ...definition, [amendment.member]: amendment.value };
        expect(readIsland(fileOf('ops', content.kind), amended.value)).toMatchObject(wanted);
        expect(contentOf(content.kind, amended.value)).toEqual(content);
        expect(amendIsland(content, amended.value, amendment)).toEqual(amended);
        const says = JSON.stringify(wanted) === JSON.stringify(definition);
        expect(amended.value === text).toBe(says);
      }
    }),
    { numRuns: runs(1500), seed: 4 },
  );
});

test.each([
  ['{"island": {"enabled":true}, "data":{"a":[1, 2]}}', '{"island": {"enabled":false}, "data":{"a":[1, 2]}}'],
  ['{"island":{},"data":1e3}', '{"island":{"enabled": false},"data":1e3}'],
  [
    '{ "data": {"island": {}},\n  "island": {\n    "type": "x"\n  }\n}\n',
    '{ "data": {"island": {}},\n  "island": {\n    "enabled": false,\n    "type": "x"\n  }\n}\n',
  ],
  [
    '{"island":{"enabled":true,"description":"a\\"}","enabled" :true },"data":{}}',
    '{"island":{"enabled":true,"description":"a\\"}","enabled" :false },"data":{}}',
  ],
  ['\uFEFF{"island":{"type":"x"}}', '\uFEFF{"island":{"enabled": false, "type":"x"}}'],
])('the rest of a data island keeps its bytes: %s', (text, wanted) => {
  const amended = amendIsland({ kind: 'data' }, text, { member: 'enabled', value: false });
  expect(amended).toEqual({ ok: true, value: wanted });
});

test.each([
  ['islands/x.md', '---\ntype: [\n---\n'],
  ['islands/x.md', '---\nenabled: perhaps\n---\n'],
  ['islands/x.md', '---\ntype: "9"\n---\n'],
  ['islands/x.md', '---\n- a\n---\n'],
  ['islands/x.md', '---\nsource: [../secret]\n---\n'],
  ['islands/x.md', `---\ntriggers: [${'x'.repeat(65)}]\n---\n`],
  ['islands/x.json', '{"data":{}}'],
  ['islands/x.json', '[]'],
  ['islands/x.json', '{"island":[]}'],
  ['islands/x.json', 'no'],
])('a file that does not parse is an invalid island: %s %s', (file, text) => {
  expect(readIsland(file, text)).toMatchObject({ name: 'x', invalid: true, enabled: false, triggers: [] });
  const kind = file.endsWith('json') ? 'data' : 'text';
  expect(amendIsland({ kind }, text, { member: 'enabled', value: true })).toEqual({
    ok: false,
    code: 'E_ISLAND_INVALID',
  });
});

test('a member without a value is an absent one', () => {
  expect(readIsland('islands/x.md', '---\ntriggers:\nenabled:\ntype:\n---\n')).toMatchObject({
    ...PLAIN,
    invalid: false,
  });
});

test('other files are no islands', () => {
  for (const file of ['islands/x.txt', 'islands/a/x.md', 'islands/.x.md', 'other/x.md', 'x.md']) {
    expect(readIsland(file, '')).toBe(null);
  }
});

test('an island with nothing but its definition is not populated', () => {
  const populated = (file: string, text: string): boolean | undefined => readIsland(file, text)?.populated;
  expect(populated('islands/x.md', '---\ntype: a\n---\n \n')).toBe(false);
  expect(populated('islands/x.md', '---\ntype: a\n---\nx')).toBe(true);
  expect(populated('islands/x.md', '---\nsource: [learnings]\n---\n')).toBe(true);
  expect(populated('islands/x.json', '{"island":{}}')).toBe(false);
  expect(populated('islands/x.json', '{"island":{},"data":{"a":null}}')).toBe(true);
});

test('a source is a file or everything below a directory', () => {
  expect(isSourced(['learnings/'], 'learnings/a/b.md')).toBe(true);
  expect(isSourced(['learnings/x'], 'learnings/x.md')).toBe(true);
  expect(isSourced(['learn'], 'learnings/x.md')).toBe(false);
  expect(isSourced([], 'x.md')).toBe(false);
});

test('a text is cut between characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, maxBytes) => {
      const cut = truncated(text, maxBytes);
      expect(text.startsWith(cut)).toBe(true);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
      const next = String.fromCodePoint(text.codePointAt(cut.length) ?? 0);
      if (cut !== text) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(maxBytes);
    }),
    { seed: 5 },
  );
});

test.each(['ops', 'Äpfel & Birnen', '日本', "John's", '_x', 'a..b', 'x'.repeat(64)])(
  'an island can be named %j',
  (name) => {
    expect(IslandName.parse(name)).toBe(name);
    expect(namedIn(fileOf(name, 'data'))).toEqual({ name, kind: 'data' });
  },
);

test.each(['', '../x', 'a/b', '.x', '-x', 'x ', 'con', 'a?b', 'a\u202eb', 'x'.repeat(65), '日'.repeat(65)])(
  'no island is named %j',
  (name) => {
    expect(IslandName.safeParse(name).success).toBe(false);
    expect(namedIn(`islands/${name}.md`)).toBe(null);
  },
);

test('an island is known by the composed form of its name, and a name that is refused is told why', () => {
  expect(IslandName.parse('A\u0308pfel')).toBe('Äpfel');
  expect(IslandName.safeParse('a?b').error?.issues[0]?.message).toContain('"?" (U+003F)');
});
