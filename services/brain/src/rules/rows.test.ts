import { keysOf, type Policy } from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, test } from 'vitest';
import { AnalysisCache } from '../search/analysis-cache.ts';
import { RuledIndex } from '../search/ruled-index.ts';
import { SearchIndex } from '../search/search-index.ts';
import type { FilePlaces, RowChains } from '../ports.ts';
import { BrainRules, createChainNumbers } from './brain-rules.ts';
import { JudgedTexts } from './judged-texts.ts';
import { subjectView } from './subject-view.ts';

const KEY = new Uint8Array(32);
const WORKSPACES = ['acme', 'beta', 'default'];
const RULES = [
  'public',
  'role:admin',
  'role:editor',
  'user:u1',
  'user:u2',
  'team:red',
  'brain:b',
  'container:acme',
  'role:admin:x',
];

const policy = fc.record({
  readableBy: fc.array(fc.constantFrom(...RULES), { maxLength: 3 }),
  writableBy: fc.array(fc.constantFrom(...RULES), { maxLength: 3 }),
  container: fc.constantFrom('public', ...WORKSPACES),
  filter: fc.constantFrom<string[] | string>([], [], ['salary'], 'secrets', 'unheard-of'),
  mask: fc.constantFrom<string[] | string>([], [], ['note'], 'all'),
});
const DIRECTORIES = ['', 'hr/', 'hr/pay/', 'hr-x/', 'islands/', 'islands/deep/'];
const path = fc
  .tuple(fc.constantFrom(...DIRECTORIES), fc.constantFrom('a', 'b', 'x.y'), fc.constantFrom('.md', '.json', '.txt', ''))
  .map((parts) => parts.join(''));
const resource = fc.oneof(
  fc.constantFrom(
    'brain:b',
    'brain:b/hr',
    'brain:b/hr/pay',
    'brain:b/islands',
    'brain:bb',
    'brain:b/h',
    '_island:a',
    '_island:x.y',
    '_island:deep',
  ),
  path.map((file) => `brain:b/${file}`),
  fc.constantFrom(...WORKSPACES).map((workspace) => `_home:${workspace}`),
);
const homes = fc.dictionary(path, fc.constantFrom(...WORKSPACES), { minKeys: 4, maxKeys: 24 });
const attached = fc.dictionary(resource, policy, { maxKeys: 10 });
const subject: fc.Arbitrary<Subject> = fc
  .record(
    {
      userId: fc.constantFrom('u1', 'u2'),
      roles: fc.subarray(['admin', 'editor', 'viewer', 'admin:x']),
      workspace: fc.constantFrom(...WORKSPACES),
      team: fc.constantFrom('red', 'blue'),
      brain: fc.constantFrom('b', 'c'),
      unknownWorkspace: fc.constant(true as const),
    },
    { requiredKeys: [] },
  )
  .map((given) => given as Subject);

/** Where some files are at home that is not where the brain is. */
type Homes = Record<string, string>;

function placesIn(at: Homes): FilePlaces {
  const paths = Object.keys(at);
  return {
    workspaceOf: (file) => at[file] ?? null,
    workspaces: () => new Set(Object.values(at)),
    pathsIn: (workspace) => paths.filter((file) => at[file] === workspace),
  };
}

function rulesOf(policies: Record<string, Policy>, numbers = createChainNumbers(), at: Homes = {}): BrainRules {
  const attached = Object.entries(policies).map(([key, found]) => [key, { resource: key, ...found }] as const);
  const isOwn = (key: string) => key === 'brain:b' || key.startsWith('brain:b/');
  const own = new Map(attached.filter(([key]) => isOwn(key)));
  return new BrainRules(
    'b',
    {
      own,
      islands: new Map(attached.filter(([key]) => key.startsWith('_island:'))),
      homes: new Map(
        attached.flatMap(([key, found]) => (key.startsWith('_home:') ? [[key.slice('_home:'.length), found]] : [])),
      ),
    },
    {
      numbers,
      placesOf: () => placesIn(at),
      texts: new JudgedTexts((path, error) => {
        throw new Error(`${path} could not be judged`, { cause: error });
      }),
    },
  );
}

/** The contract's words once more, as plainly as they can be said. */
function plainVerdict(
  policies: Record<string, Policy>,
  who: Subject,
  mode: 'read' | 'write',
  file: string,
  at: Homes = {},
): boolean {
  const segments = file.split('/');
  const keys = ['brain:b', ...segments.map((_segment, index) => `brain:b/${segments.slice(0, index + 1).join('/')}`)];
  if (segments.length === 2 && segments[0] === 'islands') {
    const name = segments[1] ?? '';
    const dot = name.lastIndexOf('.');
    if (dot > 0 && dot < name.length - 1) keys.push(`_island:${name.slice(0, dot)}`);
  }
  const own = keys.filter((key) => key === `brain:b/${file}` || key.startsWith('_island:'));
  const home = at[file];
  if (home !== undefined && own.every((key) => policies[key] === undefined)) keys.push(`_home:${home}`);
  return keys.every((key) => {
    const found = policies[key];
    return found === undefined || plainDecision(found, who, mode);
  });
}

function plainDecision(found: Policy, who: Subject, mode: 'read' | 'write'): boolean {
  if (found.filter === 'unheard-of') return false;
  if (who.workspace !== undefined && found.container !== 'public' && found.container !== who.workspace) return false;
  const rules = mode === 'read' ? found.readableBy : found.writableBy;
  if (rules.length === 0) return true;
  return rules.some((rule) => {
    if (rule === 'public') return true;
    if (who.unknownWorkspace === true) return false;
    const colon = rule.indexOf(':');
    const value = rule.slice(colon + 1);
    switch (rule.slice(0, colon)) {
      case 'role':
        return (who.roles ?? []).includes(value);
      case 'user':
        return who.userId === value;
      case 'team':
        return who.team === value;
      case 'brain':
        return who.brain === value;
      default:
        return who.workspace === value;
    }
  });
}

const hundred = fc.array(path, { minLength: 100, maxLength: 100 });

describe('for any policies, subject and file', () => {
  test('verdicts equal those of the plain rules, and the search admits the chains of readable files', () => {
    let cases = 0;
    let denials = 0;
    fc.assert(
      fc.property(attached, subject, hundred, homes, (policies, who, files, at) => {
        const rules = rulesOf(policies, createChainNumbers(), at);
        const view = subjectView(rules, who, KEY);
        for (const file of files) {
          const readable = plainVerdict(policies, who, 'read', file, at);
          cases += 1;
          denials += readable ? 0 : 1;
          const isRight =
            view.mayRead(file) === readable &&
            view.verdict(file, 'write').allowed === plainVerdict(policies, who, 'write', file, at) &&
            (view.admitted()?.has(rules.chainOf(file).id) ?? true) === readable;
          if (!isRight) throw new Error(`disagreement about ${file}`);
        }
      }),
      { numRuns: runs(1000), seed: 11 },
    );
    expect(cases).toBe(100 * runs(1000));
    expect(denials).toBeGreaterThan(cases / 5);
    expect(cases - denials).toBeGreaterThan(cases / 5);
  });

  test('one more key never takes a permission away within a workspace', () => {
    fc.assert(
      fc.property(attached, subject, path, fc.constantFrom('admin', 'editor'), (policies, who, file, role) => {
        const more: Subject = { ...who, roles: [...(who.roles ?? []), role] };
        const rules = rulesOf(policies);
        if (!subjectView(rules, who, KEY).mayRead(file)) return;
        expect(subjectView(rules, more, KEY).mayRead(file)).toBe(true);
        expect(keysOf(more).size).toBeGreaterThanOrEqual(keysOf(who).size);
      }),
      { numRuns: runs(1000), seed: 12 },
    );
  });
});

const WORDS = ['rome', 'pasta', 'basil', 'tiber', 'salary', '91000', 'note'];
const content = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 });
const file = fc.tuple(path, content, content).map(([name, words, hidden]) => ({
  name,
  text: name.endsWith('.json')
    ? JSON.stringify(
        { title: words[0], body: words.join(' '), salary: hidden.join(' '), note: hidden.join(' ') },
        null,
        1,
      )
    : name.endsWith('.md')
      ? `---\nsalary: ${hidden.join(' ')}\nnote: ${hidden.join(' ')}\n---\n# ${words[0]}\n\n${words.join(' ')}\n`
      : words.join(' '),
}));

const failOn = (error: unknown): void => {
  throw error;
};

function fill(
  files: readonly { name: string; text: string }[],
  made = new SearchIndex(new AnalysisCache()),
): RuledIndex {
  const index = new RuledIndex(made, { onProblem: failOn, onTextWanted: (name) => wanted.add(name) });
  for (const { name, text } of files) index.set(name, { hash: `hash-${text.length}`, content: text });
  return index;
}

/** Files whose texts an index wants. */
const wanted = new Set<string>();

/** The index under the rules, with every text that it wants. */
function searchable(
  index: RuledIndex,
  rules: RowChains,
  files: readonly { name: string; text: string }[],
): SearchIndex {
  index.under(rules);
  for (const { name, text } of files) {
    if (wanted.delete(name)) index.set(name, { hash: `hash-${text.length}`, content: text });
  }
  return index.under(rules);
}

test('an index under rules answers as one that never held anything hidden, through every change of the rules', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(file, { selector: ({ name }) => name, maxLength: 8 }),
      fc.array(attached, { minLength: 1, maxLength: 3 }),
      subject,
      fc.subarray(WORDS, { minLength: 1, maxLength: 3 }),
      (files, states, who, words) => {
        const numbers = createChainNumbers();
        const index = fill(files);
        for (const policies of states) {
          const rules = rulesOf(policies, numbers);
          const view = subjectView(rules, who, KEY);
          const request = {
            query: words.join(' '),
            mode: 'hybrid',
            limit: 10,
            group: 'passage',
            explain: true,
          } as const;
          const answer = searchable(index, rules, files).search({ ...request, admitted: view.admitted() });
          // What may be known, and nothing else: readable files, each as it is indexed.
          const known = files.flatMap(({ name, text }) => {
            const chain = rules.chainOf(name);
            const indexed = !view.mayRead(name) ? null : chain.hides(name) ? chain.indexed(name, text) : text;
            return indexed === null ? [] : [{ file: name, content: indexed, hash: '', chain: 0 }];
          });
          const plain = new SearchIndex(new AnalysisCache());
          for (const one of known) plain.set(one);
          const expected = plain.search({ ...request, admitted: null });
          expect({ ...answer, results: answer.results.map((row) => ({ ...row, hash: '' })) }).toEqual(expected);
          for (const { name, text } of files) expect(index.hashOf(name)).toBe(`hash-${text.length}`);
        }
      },
    ),
    { numRuns: runs(400), seed: 13 },
  );
});

test('what an index is handed over with, from a snapshot of other rules, is under no rule', () => {
  const hidden = { readableBy: [], writableBy: [], container: 'public', filter: ['salary'], mask: [] };
  const rules = rulesOf({ 'brain:b/hr': hidden });
  const given = new SearchIndex(new AnalysisCache());
  const files = [
    { name: 'hr/a.json', text: '{"salary": 91000, "name": "rome"}' },
    { name: 'hr/b.txt', text: 'rome' },
  ];
  fill(files, given).under(rules);
  const taken = new RuledIndex(given, { onProblem: failOn, onTextWanted: failOn });
  expect(taken.files()).toEqual(['hr/b.txt']);
  expect(taken.hashOf('hr/a.json')).toBeNull();
  expect([...given.files()].map(({ chain }) => chain)).toEqual([0]);
});

test("an index that is arranged in steps is nobody's until the last, whatever happens between them", () => {
  const hidden = { readableBy: [], writableBy: [], container: 'public', filter: ['salary'], mask: [] };
  const numbers = createChainNumbers();
  const [before, after] = [rulesOf({}, numbers), rulesOf({ 'brain:b': hidden }, numbers)];
  const names = ['a.json', 'b.json', 'c.json'];
  const text = '{"salary": 91000, "name": "rome"}';
  const index = fill(names.map((name) => ({ name, text })));
  wanted.clear();
  const request = { query: '91000', mode: 'plain', limit: 10, group: 'file', explain: false, admitted: null } as const;
  expect(index.under(before).search(request).total).toBe(3);
  const steps = index.arrange(after);
  steps.next();
  index.set('d.json', { hash: 'new', content: text });
  expect(['a.json', 'c.json', 'd.json'].map((name) => index.isUnder(after, name))).toEqual([false, false, true]);
  expect([...wanted]).toEqual(['a.json']);
  const files = [...names, 'd.json'].map((name) => ({ name, text }));
  expect(searchable(index, before, files).search(request).total).toBe(4);
  expect(steps.next().done).toBe(true);
  expect(index.under(after).search(request).total).toBe(0);
  const again = index.arrange(before);
  again.next();
  again.return();
  expect(index.under(after).search(request).total).toBe(0);
});

test('what other fields are hidden of is not found until its text is there, whatever becomes of it meanwhile', () => {
  const hidden = { readableBy: [], writableBy: [], container: 'public', filter: ['salary'], mask: [] };
  const numbers = createChainNumbers();
  const [before, after] = [rulesOf({}, numbers), rulesOf({ 'brain:b': hidden }, numbers)];
  const text = '{"salary": 91000, "name": "rome"}';
  const files = ['a.json', 'b.json'].map((name) => ({ name, text }));
  const index = fill(files);
  index.under(before);
  wanted.clear();
  const count = (query: string): number =>
    index.under(after).search({ query, mode: 'plain', limit: 10, group: 'file', explain: false, admitted: null }).total;
  expect([count('91000'), count('rome')]).toEqual([0, 0]);
  expect([...wanted].sort()).toEqual(['a.json', 'b.json']);
  index.delete('b.json');
  index.set('a.json', { hash: 'own', content: text });
  expect([count('91000'), count('rome')]).toEqual([0, 1]);
  expect(index.files()).toEqual(['a.json']);
});
