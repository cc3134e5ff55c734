import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

type Content = Record<string, unknown>;
interface Row {
  readonly commit: string;
  readonly parents: string[];
  readonly author: string;
  readonly message: string;
  readonly files: { file: string; change: string }[];
  readonly count: number;
}

const bed = await bedOfFile();
const node = await bed.start();
let brains = 0;
let brain = '';

beforeEach(async () => {
  brains += 1;
  brain = `h${brains}`;
  await OPERATOR.ok('brain_push', { name: brain, create: true });
});

function caller(subject: Subject | null) {
  const own = testCaller(() => node, subject);
  return {
    ok: (tool: string, args: Content = {}) => own.ok(tool, { brain, ...args }),
    no: (tool: string, args: Content = {}) => own.no(tool, { brain, ...args }),
    async history(args: Content = {}): Promise<Row[]> {
      const rows: Row[] = [];
      for (let cursor: unknown; ; ) {
        const page = await own.ok('svc_history', { brain, ...args, ...(cursor === undefined ? {} : { cursor }) });
        rows.push(...(page['history'] as Row[]));
        cursor = page['nextCursor'];
        if (cursor === undefined) return rows;
      }
    },
  };
}

const ADA = caller({ userId: 'ada', workspace: 'acme', roles: ['admin'] });
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });
const OPERATOR = { ok: (tool: string, args: Content) => node.call(tool, args, { session: 'f'.repeat(64) }) };
const ADMINS = { readableBy: ['role:admin'], writableBy: ['role:admin'], container: 'acme' };

const PERSON = {
  ...process.env,
  GIT_AUTHOR_NAME: 'Pat',
  GIT_AUTHOR_EMAIL: 'p@x',
  GIT_COMMITTER_NAME: 'Pat',
  GIT_COMMITTER_EMAIL: 'p@x',
};

/** As a person beside the service, in a clone that is pushed back. */
function personGit(dir: string, ...args: string[]): string {
  return execFileSync('git', ['-C', dir, ...args], {
    encoding: 'utf8',
    env: PERSON,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

const home = (): string => join(bed.dataDir, 'brains', brain);

function put(file: string, text: string): void {
  mkdirSync(dirname(join(home(), file)), { recursive: true });
  writeFileSync(join(home(), file), text);
}

describe('the history', () => {
  test('names who did what, newest first, of the brain and of one file, also one that is gone', async () => {
    await ADA.ok('brain_save', { name: 'a', content: '1', message: 'first' });
    await ADA.ok('brain_write', { name: 'dir/b', content: '1' });
    await ADA.ok('brain_write', { name: 'a', content: '2' });
    await ADA.ok('svc_commit', { message: 'second' });
    await ADA.ok('brain_delete_file', { name: 'a' });
    await ADA.ok('svc_commit', { message: 'third' });
    const rows = await ADA.history();
    expect(rows.map(({ message }) => message)).toEqual(['third', 'second', 'first', 'Empty brain']);
    expect(rows[1]).toMatchObject({
      author: 'ada',
      count: 2,
      files: [
        { file: 'a.md', change: 'modified' },
        { file: 'dir/b.md', change: 'added' },
      ],
      parents: [rows[2]?.commit],
    });
    const ofFile = await ADA.history({ file: 'a' });
    expect(ofFile.map(({ message, files }) => [message, files])).toEqual([
      ['third', [{ file: 'a.md', change: 'deleted' }]],
      ['second', [{ file: 'a.md', change: 'modified' }]],
      ['first', [{ file: 'a.md', change: 'added' }]],
    ]);
    expect(ofFile[0]?.parents).toEqual([ofFile[1]?.commit]);
    expect(await ADA.history({ at: rows[2]?.commit })).toEqual(rows.slice(2));
    expect(await ADA.history({ file: 'never' })).toEqual([]);
    expect(await ADA.no('svc_history', { at: 'f'.repeat(40) })).toMatchObject({ code: 'E_REF_ABSENT' });
    for (const cursor of ['x', Buffer.from('c:x 1').toString('base64url')])
      expect(await ADA.no('svc_history', { cursor })).toEqual({ code: 'VAF_INPUT_INVALID' });
  });

  test('goes on where the page before ended, whatever is committed meanwhile', async () => {
    for (let index = 0; index < 7; index += 1)
      await ADA.ok('brain_save', { name: 'a', content: `${index}`, message: `m${index}` });
    const whole = await ADA.history();
    const first = await ADA.ok('svc_history', { limit: 3 });
    await ADA.ok('brain_save', { name: 'a', content: 'x', message: 'later' });
    const second = await ADA.ok('svc_history', { limit: 3, cursor: first['nextCursor'] });
    const third = await ADA.ok('svc_history', { limit: 3, cursor: second['nextCursor'] });
    expect([first, second, third].flatMap((page) => page['history'])).toEqual(whole);
    expect(third).not.toHaveProperty('nextCursor');
  });

  test('shows merges of a person with all their parents', async () => {
    await ADA.ok('brain_save', { name: 'a', content: '1', message: 'base' });
    personGit(home(), 'checkout', '-q', '-b', 'side');
    put('side.md', 'x');
    personGit(home(), 'add', '.');
    personGit(home(), 'commit', '-qm', 'on side');
    personGit(home(), 'checkout', '-q', 'main');
    put('main.md', 'x');
    personGit(home(), 'add', '.');
    personGit(home(), 'commit', '-qm', 'on main');
    personGit(home(), 'merge', '-q', '-m', 'both', 'side');
    const rows = await ADA.history();
    expect(rows.find(({ message }) => message === 'both')).toMatchObject({
      author: 'Pat',
      parents: personGit(home(), 'rev-parse', 'main^1', 'main^2').split('\n'),
      files: [{ file: 'side.md', change: 'added' }],
    });
    expect((await ADA.history({ file: 'side' })).map(({ message }) => message)).toEqual(['on side']);
  });
});

describe('what may not be read', () => {
  /** Random commits on two branches and merges of them; each touches open files, hidden ones, or both. */
  function live(seed: number): { open: string[]; hidden: string[] } {
    let state = seed;
    const random = (count: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * count);
    };
    const messages = { open: [] as string[], hidden: [] as string[] };
    personGit(home(), 'branch', 'side');
    for (let step = 0; step < 24; step += 1) {
      const branch = random(2) === 0 ? 'main' : 'side';
      personGit(home(), 'checkout', '-q', branch);
      if (random(6) === 0) {
        personGit(home(), 'merge', '-q', '--no-ff', '-m', `merge ${step}`, branch === 'main' ? 'side' : 'main');
        continue;
      }
      const isHidden = random(2) === 0;
      const names = isHidden ? ['hr'] : random(3) === 0 ? ['open', 'hr'] : ['open'];
      for (const name of names) put(`${name}/${branch}-${step}.md`, `${step}`);
      const message = `${isHidden ? 'hidden' : 'open'} ${step}`;
      messages[isHidden ? 'hidden' : 'open'].push(message);
      personGit(home(), 'add', '.');
      personGit(home(), 'commit', '-qm', message);
    }
    personGit(home(), 'checkout', '-q', 'main');
    personGit(home(), 'merge', '-q', '--no-ff', '-m', 'merge all', 'side');
    return messages;
  }

  test.each([1, 2, 3])('leaves no trace in a history with merges, seed %i', async (seed) => {
    bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
    const { open, hidden } = live(seed);
    expect(hidden.length).toBeGreaterThan(3);
    const rows = await BOB.history();
    const said = JSON.stringify(rows);
    expect(said).not.toMatch(/hidden|hr\//);
    expect(
      rows
        .filter(({ message }) => message.startsWith('open'))
        .map(({ message }) => message)
        .sort(),
    ).toEqual(open.sort());
    const listed = new Set(rows.map(({ commit }) => commit));
    for (const { parents } of rows) for (const parent of parents) expect(listed).toContain(parent);
    for (const id of personGit(home(), 'rev-list', '--all').split('\n')) expect(said).not.toContain(id);
    expect(await BOB.history({ limit: 3 })).toEqual(rows);
    expect((await ADA.history()).filter(({ message }) => message.startsWith('hidden'))).toHaveLength(hidden.length);
    const [hiddenFile = ''] = (await ADA.history())
      .flatMap(({ files }) => files.map(({ file }) => file))
      .filter((file) => file.startsWith('hr/'));
    expect(hiddenFile).toMatch(/^hr\//);
    expect(await BOB.ok('svc_history', { file: hiddenFile })).toEqual({
      ...(await BOB.ok('svc_history', { file: 'hr/never.md' })),
      file: hiddenFile,
    });
  });

  test('is in no diff, neither files nor fields', async () => {
    bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
    bed.registry.setPolicy(`brain:${brain}/people`, { mask: ['salary'] });
    await ADA.ok('brain_write', { name: 'people/eve.json', content: '{\n  "name": "Eve",\n  "salary": 91000\n}\n' });
    await ADA.ok('brain_write', { name: 'hr/pay.md', content: 'secret' });
    await ADA.ok('svc_commit', { message: 'state' });
    put('people/eve.json', '{\n  "name": "Eva",\n  "salary": 92000\n}\n');
    put('hr/pay.md', 'more secret');
    const [state] = await BOB.history();
    const diff = await BOB.ok('svc_diff');
    expect(diff).toMatchObject({ fromCommit: state?.commit, toCommit: null });
    expect(diff['files']).toEqual([
      {
        file: 'people/eve.json',
        change: 'modified',
        added: 1,
        removed: 1,
        truncated: false,
        patch:
          '--- a/people/eve.json\n+++ b/people/eve.json\n@@ -1,4 +1,4 @@\n {\n-  "name": "Eve",\n+  "name": "Eva",\n   "salary": "[masked]"\n }\n',
      },
    ]);
    expect(JSON.stringify(await BOB.ok('svc_diff', { from: state?.commit, to: 'main' }))).not.toMatch(
      /9[12]000|secret/,
    );
  });
});

describe('a difference', () => {
  test('is told between any two states, with what only the working tree has', async () => {
    await ADA.ok('brain_write', { name: 'gone', content: 'x\n' });
    await ADA.ok('brain_write', { name: 'same', content: 'same\n' });
    await ADA.ok('brain_write', { name: 'a', content: 'one\ntwo\n' });
    await ADA.ok('svc_commit', { message: 'first' });
    const [first] = await ADA.history();
    await ADA.ok('brain_delete_file', { name: 'gone' });
    await ADA.ok('brain_write', { name: 'a', content: 'one\n2\n' });
    await ADA.ok('svc_commit', { message: 'second' });
    await ADA.ok('brain_write', { name: 'new', content: 'n\n' });
    await ADA.ok('brain_write', { name: 'a', content: 'one\n2\nthree\n' });
    await ADA.ok('brain_write', { name: 'gone', content: 'x\n' });
    const files = async (args: Content) => (await ADA.ok('svc_diff', args))['files'] as Content[];
    const short = (rows: Content[]) => rows.map(({ file, change, added, removed }) => [file, change, added, removed]);
    expect(short(await files({}))).toEqual([
      ['a.md', 'modified', 1, 0],
      ['gone.md', 'added', 1, 0],
      ['new.md', 'added', 1, 0],
    ]);
    expect(short(await files({ from: first?.commit, to: 'main' }))).toEqual([
      ['a.md', 'modified', 1, 1],
      ['gone.md', 'deleted', 0, 1],
    ]);
    expect(short(await files({ from: first?.commit }))).toEqual([
      ['a.md', 'modified', 2, 1],
      ['new.md', 'added', 1, 0],
    ]);
    expect(short(await files({ from: 'main', to: first?.commit, file: 'gone' }))).toEqual([['gone.md', 'added', 1, 0]]);
    expect((await files({ file: 'a' }))[0]?.['patch']).toBe(
      '--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,3 @@\n one\n 2\n+three\n',
    );
    expect((await files({ bytes: 0 }))[0]).toMatchObject({ patch: '', truncated: true, added: 1 });
    const page = await ADA.ok('svc_diff', { limit: 2 });
    const rest = await ADA.ok('svc_diff', { limit: 2, cursor: page['nextCursor'] });
    expect(short([...(page['files'] as Content[]), ...(rest['files'] as Content[])])).toEqual(short(await files({})));
    expect(await ADA.no('svc_diff', { to: 'nowhere' })).toMatchObject({ code: 'E_REF_ABSENT' });
  });

  test('tells of what is not served, without its bytes', async () => {
    put('big.md', 'small\n');
    put('photo.png', 'x');
    await ADA.ok('svc_commit', { message: 'state' });
    put('big.md', 'x'.repeat(1_100_000));
    writeFileSync(join(home(), 'photo.png'), Buffer.from([0, 1, 2]));
    const rows = (await ADA.ok('svc_diff'))['files'] as Content[];
    expect(rows).toEqual([
      { file: 'big.md', change: 'modified', added: null, removed: null, patch: null, truncated: false },
      { file: 'photo.png', change: 'modified', added: null, removed: null, patch: null, truncated: false },
    ]);
    await ADA.ok('svc_commit', { message: 'grown' });
    rmSync(join(home(), 'big.md'));
    expect((await ADA.ok('svc_diff'))['files']).toEqual([
      { file: 'big.md', change: 'deleted', added: null, removed: null, patch: null, truncated: false },
    ]);
  });
});
