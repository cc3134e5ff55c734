import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { IgnoreList } from './ignore-list.ts';
import { IgnoreRules } from './ignore-rules.ts';

const roots: string[] = [];

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** A working tree; what ends in a slash is a directory. */
function makeTree(files: Readonly<Record<string, string | Uint8Array>>) {
  const root = mkdtempSync(join(tmpdir(), 'ignore-'));
  roots.push(root);
  execFileSync('git', ['init', '-q', root], { env: ENVIRONMENT });
  for (const [path, content] of Object.entries(files)) {
    if (path.endsWith('/')) mkdirSync(join(root, path), { recursive: true });
    else place(root, path, content);
  }
  return { root, rules: new IgnoreRules(root, join(root, '.git')) };
}

function place(root: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const ENVIRONMENT = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

function ignoredByGit(root: string, paths: readonly string[]): Set<string> {
  const { stdout, status, stderr } = spawnSync('git', ['check-ignore', '--no-index', '-z', '--stdin'], {
    cwd: root,
    input: paths.map((path) => `${path}\0`).join(''),
    env: ENVIRONMENT,
  });
  if (status !== 0 && status !== 1) throw new Error(stderr.toString());
  return new Set(stdout.toString('utf8').split('\0').filter(Boolean));
}

/** Numbers from a seed, and what is made of them. */
function createDice(seed: number) {
  let state = seed;
  const roll = (sides: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
  const of = <Item>(items: readonly Item[]): Item => items[roll(items.length)] as Item;
  return { roll, of };
}

type Dice = ReturnType<typeof createDice>;

const SEGMENTS = [
  'a',
  'b',
  'ab',
  'ba',
  'a.md',
  'b.md',
  'x y',
  'é',
  'aé',
  '[a]',
  '.h',
  'a!',
  '#x',
  'a-b',
  'A',
  '日',
  'a\\b',
];
const PIECES = (
  '* * ** ** ? [ab] [!a] [^b] [a-b] [[:alpha:]] [![:upper:]] []a] [a\\-] [\\]a] [!-é] [[:nope:]] [[:a] \\* \\? \\\\ / / ' +
  'a b .md é \\ [ ] - a/b **/ /** **/** *.md *a* ! #'
).split(' ');

function randomLine({ roll, of }: Dice): string {
  if (roll(30) === 0) return of(['', '#a', ' ', '!', '/', '//', '\\', '\\ ', '**', '!**', '*', '\\#x', '\\!a']);
  let line = roll(4) === 0 ? '!' : '';
  if (roll(4) === 0) line += '/';
  for (let left = 1 + roll(4); left > 0; left -= 1) line += roll(2) === 0 ? of(SEGMENTS) : of(PIECES);
  if (roll(4) === 0) line += '/';
  if (roll(9) === 0) line += of([' ', '  ', '\\ ', '\\  ', '\t']);
  return line;
}

function randomRules(dice: Dice): string {
  const { roll } = dice;
  const lines = Array.from({ length: 1 + roll(4) }, () => randomLine(dice));
  return (roll(20) === 0 ? '\ufeff' : '') + lines.join(roll(9) === 0 ? '\r\n' : '\n') + (roll(4) === 0 ? '' : '\n');
}

function randomTree(dice: Dice): { files: Record<string, string>; paths: string[] } {
  const { roll, of } = dice;
  const directories = [''];
  const files: Record<string, string> = {};
  for (let left = 5; left > 0; left -= 1) {
    const directory = `${of(directories)}${of(SEGMENTS)}/`;
    if (!directories.includes(directory)) directories.push(directory);
  }
  for (const directory of directories) {
    for (const segment of SEGMENTS) {
      if (roll(2) === 0 && !directories.includes(`${directory}${segment}/`)) files[`${directory}${segment}`] = '';
    }
  }
  const paths = [...Object.keys(files), ...directories.filter(Boolean).map((directory) => directory.slice(0, -1))];
  for (const directory of directories) {
    files[directory] = '';
    if (directory === '' || roll(3) === 0) files[`${directory}.gitignore`] = randomRules(dice);
  }
  delete files[''];
  if (roll(2) === 0) files['.git/info/exclude'] = randomRules(dice);
  return { files, paths };
}

const TREES = 60;

test(`what git ignores in ${TREES} trees with rules at every level is ignored, and nothing else`, () => {
  let ignored = 0;
  let judged = 0;
  for (let seed = 1; seed <= TREES; seed += 1) {
    const { files, paths } = randomTree(createDice(seed));
    const { root, rules } = makeTree(files);
    const wanted = ignoredByGit(root, paths);
    const found = paths.filter((path) => rules.isIgnored(path, `${path}/` in files));
    const written = Object.entries(files).filter(([path]) => /(?:\.gitignore|exclude)$/.test(path));
    expect([seed, written, found.sort()]).toEqual([seed, written, [...wanted].sort()]);
    ignored += wanted.size;
    judged += paths.length;
  }
  expect(judged).toBeGreaterThan(2000);
  expect(ignored / judged).toBeGreaterThan(0.05);
  expect(ignored / judged).toBeLessThan(0.9);
});

test('a change of a rule file counts from when it is told', () => {
  const { root, rules } = makeTree({ 'sub/': '' });
  expect(rules.isIgnored('sub/x.log', false)).toBe(false);
  place(root, 'sub/.gitignore', '*.log\n');
  expect(rules.isIgnored('sub/x.log', false)).toBe(false);
  rules.changed('sub/.gitignore');
  expect(rules.isIgnored('sub/x.log', false)).toBe(true);
  place(root, '.git/info/exclude', 'sub/\n');
  expect(rules.isIgnored('sub/y', false)).toBe(false);
  rules.changed('');
  expect([rules.isIgnored('sub', true), rules.isIgnored('sub/y', false)]).toEqual([true, true]);
});

test('rules are read from regular files of a sane size only', () => {
  const { root, rules } = makeTree({
    rules: '*\n',
    'a/.gitignore/': '',
    'b/.gitignore': '*\n'.repeat(600_000),
    'd/': '',
  });
  symlinkSync('rules', join(root, '.gitignore'));
  symlinkSync('/dev/zero', join(root, 'd', '.gitignore'));
  execFileSync('mkfifo', [join(root, 'a', 'fifo')]);
  for (const path of ['x', 'a/x', 'b/x', 'd/x']) expect([path, rules.isIgnored(path, false)]).toEqual([path, false]);
});

const spentOn = (work: () => void): number => {
  const before = process.cpuUsage().user;
  work();
  return process.cpuUsage().user - before;
};

const listOf = (text: string): IgnoreList => {
  const list = IgnoreList.parse(Buffer.from(text));
  if (list === null) throw new Error('too many rules');
  return list;
};

test('hostile rules cost no more than their length times that of the name', () => {
  const decide = (length: number): void => {
    const name = `${'ab'.repeat(length)}c`;
    const path = `${'a/'.repeat(length)}c`;
    for (const rule of ['*a'.repeat(12), '[ab]*'.repeat(12), '?*'.repeat(12), '*a**b'.repeat(6)])
      expect(listOf(`${rule}x`).decide(name, false)).toBeNull();
    for (const rule of ['**/a/'.repeat(12), '**/'.repeat(5000), '**/*/'.repeat(12), '/**/a*/**/'.repeat(6)])
      expect(listOf(`${rule}x`).decide(path, false)).toBeNull();
  };
  decide(50);
  expect(spentOn(() => decide(1000))).toBeLessThan(
    20 *
      Math.max(
        spentOn(() => decide(250)),
        10_000,
      ),
  );
});

test('reading rules costs what the file is long', () => {
  const read = (length: number): void => {
    for (const line of [' '.repeat(length), `a${'\\'.repeat(length)}  `, '['.repeat(length), '**/'.repeat(length)])
      listOf(line).decide('abc', false);
  };
  read(1000);
  expect(spentOn(() => read(200_000))).toBeLessThan(
    20 *
      Math.max(
        spentOn(() => read(50_000)),
        10_000,
      ),
  );
});

test('many rules are looked up, not tried one after the other', () => {
  const rules = Array.from({ length: 3000 }, (_, index) => (index % 2 === 0 ? `name${index}` : `*.ext${index}`)).join(
    '\n',
  );
  const list = listOf(rules);
  const few = listOf('name0\n*.ext1');
  const ask = (asked: IgnoreList) => () => {
    for (let round = 0; round < 20_000; round += 1) asked.decide(`notes/file ${round}.md`, false);
  };
  ask(list)();
  ask(few)();
  expect(spentOn(ask(list))).toBeLessThan(10 * Math.max(spentOn(ask(few)), 10_000));
  expect([list.decide('x/name8', false), list.decide('x.ext9', false), list.decide('x.ext8', false)]).toEqual([
    true,
    true,
    null,
  ]);
});
