import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, it } from 'vitest';
import { mergeFile } from './file.ts';
import { type Entry, mergeTrees, type Tree } from './tree.ts';

const RUNS = { numRuns: runs(3_000) };
const MARKERS = /^(?:<{7}|={7}|>{7}|\|{7})/m;

function merge(path: string, base: string, ours: string, theirs: string) {
  return mergeFile({ path, base, ours, theirs });
}

describe('text', () => {
  it('joins changes in different places', () => {
    expect(merge('a.txt', '1\n2\n3\n4\n5\n', 'one\n2\n3\n4\n5\n', '1\n2\n3\n4\nfive\n')).toEqual({
      text: 'one\n2\n3\n4\nfive\n',
      clashes: false,
    });
  });

  it('keeps ours in the clashing place, theirs elsewhere, and writes no marker', () => {
    expect(merge('a.txt', '1\n2\n3\n4\n5\n', 'ours\n2\n3\n4\n5\n', 'theirs\n2\n3\n4\nfive\n')).toEqual({
      text: 'ours\n2\n3\n4\nfive\n',
      clashes: true,
    });
  });

  it('is exact about line ends and a missing last newline', () => {
    expect(merge('a.txt', '1\r\n2\r\n3', '1\r\n2\r\nthree', 'one\r\n2\r\n3').text).toBe('one\r\n2\r\nthree');
  });

  it('takes text that looks like markers for ordinary text', () => {
    const marked = '<<<<<<< ours\n2\n=======\n3\n';
    expect(merge('a.txt', `${marked}x\n`, `0\n${marked}x\n`, `${marked}x\ny\n`)).toEqual({
      text: `0\n${marked}x\ny\n`,
      clashes: false,
    });
  });

  it('answers in bounded time for files made to be slow', () => {
    const base = 'a\n'.repeat(200_000);
    const result = merge('a.txt', base, `1\n${base}2\n`, `3\n${base.replaceAll('a\n', 'b\na\n')}4\n`);
    expect(result.clashes).toBe(true);
  });

  it('merges long texts with many equal lines, changed at both ends', () => {
    const base = Array.from({ length: 20_000 }, (_, line) => `line ${line}\n\n}\n`).join('');
    const ours = base.replace('line 3\n', 'ours\n').replace('line 19990\n', '');
    const theirs = base.replace('line 5\n', 'line 5\nmore\n\n').replace('line 19995\n', 'theirs\n');
    const both = ours.replace('line 5\n', 'line 5\nmore\n\n').replace('line 19995\n', 'theirs\n');
    expect(merge('a.txt', base, ours, theirs)).toEqual({ text: both, clashes: false });
  });
});

describe('json', () => {
  it('merges by key, at any depth', () => {
    expect(merge('a.json', '{"a":1,"b":1}', '{"a":2,"b":1}', '{"a":1,"b":2}')).toEqual({
      text: '{"a":2,"b":2}',
      clashes: false,
    });
    expect(merge('a.json', '{"x":{"a":1,"b":1}}', '{"x":{"a":2,"b":1}}', '{"x":{"a":1}}')).toEqual({
      text: '{"x":{"a":2}}',
      clashes: false,
    });
  });

  it('keeps ours at a key changed on both sides, and a changed value deleted on the other', () => {
    expect(merge('a.json', '{"a":1}', '{"a":2}', '{"a":3,"b":4}')).toEqual({ text: '{"a":2,"b":4}', clashes: true });
    expect(merge('a.json', '{"a":1,"c":1}', '{"c":2}', '{"a":3,"c":1}')).toEqual({
      text: '{"c":2,"a":3}',
      clashes: true,
    });
  });

  it.each(['id', 'key', 'name'])('merges arrays of objects by %s, our order first', (field) => {
    const list = (...items: [string, number][]) =>
      JSON.stringify(items.map(([identity, v]) => ({ [field]: identity, v })));
    const result = merge(
      'a.json',
      list(['p', 1], ['q', 1]),
      list(['q', 1], ['p', 2], ['r', 1]),
      list(['p', 1], ['s', 1], ['q', 3]),
    );
    expect(JSON.parse(result.text)).toEqual(JSON.parse(list(['q', 3], ['p', 2], ['r', 1], ['s', 1])));
    expect(result.clashes).toBe(false);
  });

  it('keeps ours of other arrays that both changed', () => {
    expect(merge('a.json', '{"l":[1]}', '{"l":[1,2]}', '{"l":[1,3]}')).toEqual({ text: '{"l":[1,2]}', clashes: true });
  });

  it('keeps the formatting and the exact numbers', () => {
    const base = '{\n\t"a": 1,\n\t"list": [1, 2],\n\t"big": 12345678901234567890,\n\t"f": 1.0\n}\n';
    const result = merge('a.json', base, base.replace('"a": 1', '"a": 2'), base.replace('1.0', '1.50'));
    expect(result.text).toBe('{\n\t"a": 2,\n\t"list": [1, 2],\n\t"big": 12345678901234567890,\n\t"f": 1.50\n}\n');
    const clash = merge(
      'a.json',
      base,
      base.replace('"a": 1', '"a": 2'),
      base.replace('"a": 1', '"a": 3').replace('}', ',\t"n": 1e400\n}'),
    );
    expect(clash.clashes).toBe(true);
    expect(clash.text).toContain('12345678901234567890');
    expect(clash.text).toContain('1e400');
    expect(clash.text).toMatch(/^\{\n\t"a": 2,/);
    expect(clash.text.endsWith('}\n')).toBe(true);
  });

  it('treats __proto__ as a key like any other', () => {
    expect(merge('a.json', '{"__proto__":{"a":1}}', '{"__proto__":{"a":1},"x":1}', '{"__proto__":{"a":2}}').text).toBe(
      '{"__proto__":{"a":2},"x":1}',
    );
  });

  it('merges what is not JSON by lines, but never breaks what is', () => {
    expect(merge('a.json', 'x\ny\nz\n', 'X\ny\nz\n', 'x\ny\nZ\n').text).toBe('X\ny\nZ\n');
    expect(
      merge('a.json', '{\n"a":1,\n"b":1,\n"c":1}', '{\n"a":2,\n"b":1,\n"c":1}', '{\n"a":1,\n"b":1,\n"c":'),
    ).toEqual({ text: '{\n"a":2,\n"b":1,\n"c":1}', clashes: true });
  });

  it('survives nesting without end', () => {
    const deep = `${'['.repeat(300_000)}${']'.repeat(300_000)}`;
    expect(merge('a.json', '[]', deep, `[${deep}]`)).toEqual({ text: deep, clashes: true });
  });
});

describe('markdown', () => {
  const page = (front: string, body: string) => `---\n${front}---\n${body}`;

  it('merges front matter by key and the body by lines', () => {
    const base = page('title: a\ntags: [x]\nstate: new\n', '# A\n\none\n\ntwo\n');
    const ours = page('title: b\ntags: [x]\nstate: new\n', '# A\n\nONE\n\ntwo\n');
    const theirs = page('title: a\ntags: [x]\nstate: old\nmore: 1\n', '# A\n\none\n\nTWO\n');
    expect(merge('a.md', base, ours, theirs)).toEqual({
      text: page('title: b\ntags: [x]\nstate: old\nmore: 1\n', '# A\n\nONE\n\nTWO\n'),
      clashes: false,
    });
  });

  it('keeps our comments and style where keys next to each other change', () => {
    const result = merge(
      'a.md',
      page('a: 1\nb: 1\n', ''),
      page('# note\na: "2"\nb: 1\n', ''),
      page("a: 1\nb: '3'\n", ''),
    );
    expect(result).toEqual({ text: page('# note\na: "2"\nb: \'3\'\n', ''), clashes: false });
  });

  it('keeps ours where a key changed on both sides', () => {
    expect(merge('a.md', page('a: 1\n', 'x\n'), page('a: 2\n', 'x\n'), page('a: 3\n', 'y\n'))).toEqual({
      text: page('a: 2\n', 'y\n'),
      clashes: true,
    });
  });

  it('tells large numbers apart and keeps ours whole when the block is no mapping', () => {
    const big = page('n: 12345678901234567890\na: 1\n', '');
    const bigger = page('n: 12345678901234567891\na: 1\n', '');
    expect(merge('a.md', big, big.replace('a: 1', 'a: 2'), bigger).text).toBe(bigger.replace('a: 1', 'a: 2'));
    expect(merge('a.md', page('a: 1\n', ''), page('a: [\n', ''), page('a: 2\n', ''))).toEqual({
      text: page('a: [\n', ''),
      clashes: true,
    });
  });

  it('does not take a rule in the body for front matter', () => {
    expect(merge('a.md', 'a\n---\nb\n---\nc\n', 'A\n---\nb\n---\nc\n', 'a\n---\nb\n---\nC\n').text).toBe(
      'A\n---\nb\n---\nC\n',
    );
  });
});

describe('laws', () => {
  const line = fc.constantFrom(
    'a\n',
    'b\n',
    'c\n',
    '\n',
    '---\n',
    'k: 1\n',
    'k: 2\n',
    'm: [1]\n',
    'x',
    '{"a":1}\n',
    'é\r\n',
  );
  const anyText = fc.array(line, { maxLength: 12 }).map((lines) => lines.join(''));
  const front = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc.constantFrom('1', 'two', '[1, 2]', '{x: 1}', '"q"'),
  );
  const page = fc.tuple(front, anyText).map(
    ([keys, body]) =>
      `---\n${Object.entries(keys)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join('')}---\n${body}`,
  );
  const json = fc
    .tuple(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(0, 2))
    .map(([value, indent]) => JSON.stringify(value, null, indent));
  const records = fc
    .uniqueArray(fc.record({ id: fc.constantFrom('p', 'q', 'r', 's'), v: fc.nat(2) }), { selector: ({ id }) => id })
    .map((list) => JSON.stringify({ list }, null, 2));
  const versions = fc.oneof(
    fc.record({ path: fc.constant('a.txt'), base: anyText, ours: anyText, theirs: anyText }),
    fc.record({ path: fc.constant('a.md'), base: page, ours: page, theirs: page }),
    fc.record({ path: fc.constant('a.json'), base: json, ours: json, theirs: json }),
    fc.record({ path: fc.constant('a.json'), base: records, ours: records, theirs: records }),
    fc.record({ path: fc.constant('a.json'), base: anyText, ours: json, theirs: anyText }),
  );

  it('one side changed = that side; both the same = that', () => {
    fc.assert(
      fc.property(versions, ({ path, base, ours, theirs }) => {
        expect(merge(path, base, base, theirs)).toEqual({ text: theirs, clashes: false });
        expect(merge(path, base, ours, base)).toEqual({ text: ours, clashes: false });
        expect(merge(path, base, ours, ours)).toEqual({ text: ours, clashes: false });
      }),
      RUNS,
    );
  });

  it('writes no marker, keeps JSON valid, and clashes the same way seen from either side', () => {
    fc.assert(
      fc.property(versions, ({ path, base, ours, theirs }) => {
        const merged = merge(path, base, ours, theirs);
        expect(merged.text).not.toMatch(MARKERS);
        if (path === 'a.json') expect(isJson(ours) && !isJson(merged.text)).toBe(false);
        if (isJson(ours) === isJson(theirs)) expect(merge(path, base, theirs, ours).clashes).toBe(merged.clashes);
      }),
      RUNS,
    );
  });

  it('gives each key of a JSON object what the one side that changed it says', () => {
    const record = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(2));
    fc.assert(
      fc.property(record, record, record, (base, ours, theirs) => {
        const [b, o, t] = [base, ours, theirs].map((value) => JSON.stringify(value, null, 1));
        const merged = JSON.parse(merge('a.json', b ?? '', o ?? '', t ?? '').text) as Record<string, number>;
        for (const key of ['a', 'b', 'c', 'd', 'e']) {
          if (ours[key] === base[key]) expect(merged[key]).toBe(theirs[key]);
          else expect(merged[key]).toBe(ours[key] ?? (theirs[key] === base[key] ? undefined : theirs[key]));
        }
      }),
      RUNS,
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('trees', () => {
  const entry = (oid: string, mode = '100644'): Entry => ({ oid, mode, bytes: 1 });
  const tree = (files: Record<string, string | Entry>): Tree =>
    new Map(Object.entries(files).map(([path, file]) => [path, typeof file === 'string' ? entry(file) : file]));
  const isPlain = (path: string, { mode }: Entry) => mode.startsWith('100') && !path.startsWith('.');
  const mergeOf = (base: Tree, ours: Tree, theirs: Tree) => {
    const steps = mergeTrees(base, ours, theirs, isPlain);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  };

  it('takes additions, changes and deletions of one side', () => {
    const base = tree({ keep: '1', mod: '1', del: '1', mine: '1' });
    const { taken, contents, conflicts } = mergeOf(
      base,
      tree({ keep: '1', mod: '1', del: '1', mine: '2' }),
      tree({ keep: '1', mod: '2', add: '3', mine: '1' }),
    );
    expect(Object.fromEntries(taken)).toEqual({ mod: entry('2'), del: null, add: entry('3') });
    expect([contents, conflicts]).toEqual([[], []]);
  });

  it('keeps the changed one of delete and modify, either way round', () => {
    const base = tree({ x: '1', y: '1' });
    const { taken, conflicts } = mergeOf(base, tree({ x: '2' }), tree({ y: '2' }));
    expect(Object.fromEntries(taken)).toEqual({ y: entry('2') });
    expect(conflicts).toEqual([
      { file: 'x', kind: 'delete-modify', base: '1', ours: '2', theirs: null },
      { file: 'y', kind: 'delete-modify', base: '1', ours: null, theirs: '2' },
    ]);
  });

  it('never merges foreign entries', () => {
    const link = (oid: string) => entry(oid, '120000');
    const { taken, contents, conflicts } = mergeOf(
      tree({ a: link('1'), '.b': '1', c: '1' }),
      tree({ a: link('2'), '.b': '1', c: '2' }),
      tree({ a: link('3'), '.b': '2', c: link('3') }),
    );
    expect(Object.fromEntries(taken)).toEqual({ '.b': entry('2') });
    expect(contents).toEqual([]);
    expect(conflicts.map(({ file, kind }) => [file, kind])).toEqual([
      ['a', 'foreign'],
      ['c', 'foreign'],
    ]);
  });

  it('never answers a file where a directory must be', () => {
    expect(mergeOf(tree({}), tree({ a: '1' }), tree({ 'a/b': '2' })).conflicts.map(({ kind }) => kind)).toEqual([
      'directory-file',
    ]);
    expect(mergeOf(tree({}), tree({ 'a/b': '1' }), tree({ a: '2' })).taken.size).toBe(0);
    const replaced = mergeOf(tree({ a: '1' }), tree({ a: '1' }), tree({ 'a/b': '2' }));
    expect(Object.fromEntries(replaced.taken)).toEqual({ 'a/b': entry('2'), a: null });
    expect(replaced.conflicts).toEqual([]);
  });

  it('holds for random trees: a legal tree, every difference taken, merged or reported', () => {
    const paths = fc.constantFrom('a', 'b', 'a/x', 'a/y', 'b/x/z', 'c', '.d');
    const anyTree = fc
      .uniqueArray(fc.tuple(paths, fc.constantFrom('1', '2', '3')), { selector: ([path]) => path })
      .map((files) =>
        tree(Object.fromEntries(files.filter(([path]) => !files.some(([other]) => path.startsWith(`${other}/`))))),
      );
    fc.assert(
      fc.property(anyTree, anyTree, anyTree, (base, ours, theirs) => {
        const { taken, contents, conflicts } = mergeOf(base, ours, theirs);
        const result = new Set([...ours.keys()].filter((path) => taken.get(path) !== null));
        for (const [path, taking] of taken) if (taking !== null) result.add(path);
        for (const path of result) expect([...result].some((other) => path.startsWith(`${other}/`))).toBe(false);
        const explained = new Set([
          ...taken.keys(),
          ...contents.map(({ path }) => path),
          ...conflicts.map(({ file }) => file),
        ]);
        for (const [path, { oid }] of theirs) {
          const changedThere = base.get(path)?.oid !== oid && ours.get(path)?.oid !== oid;
          if (changedThere) expect(explained.has(path)).toBe(true);
        }
      }),
      RUNS,
    );
  });
});
