/** Names of files, branches and brains; text that looks like options of git. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { filesAt, git } from '../instruments/git.ts';
import { hashOutside } from '../instruments/outside.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const BAD_PATHS = [
  '../x',
  '..',
  '.',
  '/etc/x',
  'a/../b',
  'a//b',
  '/',
  'a/',
  '.git/config',
  '.GIT/x',
  'a/.git/hooks/x',
  '.gitattributes',
  '.svc-x.tmp',
  'git~1',
  'GIT~1/x',
  '.g\u200cit/x',
  'CON.md',
  'con',
  'a/NUL',
  'LPT1.txt',
  '-v',
  '--upload-pack=touch canary',
  'a/-x',
  'x.',
  'x ',
  'a./b',
  'a /b',
  'a\\b',
  'a:b',
  'C:/x',
  'x\u0000y',
  'x\ny',
  'x\u202ey',
  'x\u0085y',
  'x\u2028y',
  'x\ufffdy',
  'x\ud800y',
  'x\u200by',
  'x\uf03ay',
  'x\u{e0041}y',
  '\u00a0x',
  'x\u3000',
  'COM¹.md',
  'conin$',
  '\u200c.git/x',
  'gi\u200ct~1',
  'gitmod~1',
  '．git',
  '日'.repeat(67),
  'a'.repeat(101),
  'a/b/c/d/e/f/g/h/i',
  `${'abcdefghij'.repeat(9)}/`.repeat(6) + 'x',
  ':(glob)*',
  'a|b',
  '<x>',
  '"x"',
  '*',
  '?',
  '',
];

verifies('brain:path:blocked', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'kept', content: 'k' });
  const before = hashOutside(place);
  const files = () => readdirSync(brainFolder(place, brain)).filter((name) => name !== '.git');
  for (const name of BAD_PATHS) {
    for (const [tool, args] of [
      ['brain_write', { name, content: 'x' }],
      ['svc_set_memory', { file: name, content: 'x' }],
      ['brain_read', { name }],
      ['brain_delete_file', { name }],
      ['brain_save', { name, content: 'x' }],
    ] as const) {
      const reply = await user.call(tool, args);
      const allowed = name === '' ? ['VAF_PATH_BLOCKED', 'VAF_INPUT_INVALID'] : ['VAF_PATH_BLOCKED'];
      expect([tool, name, reply.status, allowed.includes(codeOf(reply) ?? '')], reply.text).toEqual([
        tool,
        name,
        400,
        true,
      ]);
    }
  }
  await user.fails('VAF_PATH_BLOCKED', 'svc_set_memory', { category: '..', filename: 'x', content: 'x' });
  await user.fails('VAF_PATH_BLOCKED', 'svc_set_memory', { category: 'a', filename: '../../x', content: 'x' });
  expect(files()).toEqual(['kept.md']);
  expect(hashOutside(place)).toBe(before);
});

verifies('brain:path:case', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'Dir/File', content: 'x' });
  for (const name of ['Dir/file', 'dir/other', 'DIR/FILE'])
    await user.fails('VAF_PATH_BLOCKED', 'brain_write', { name, content: 'y' });
  await user.ok('brain_write', { name: 'Dir/File', content: 'z' });
});

verifies('brain:names:brain', async ({ caller }) => {
  const user = caller();
  for (const name of [
    '',
    '.',
    '..',
    '.git',
    '-x',
    'a/b',
    'a\\b',
    'x'.repeat(65),
    'é',
    'a b',
    'x.lock',
    'a..b',
    'CON',
    '--help',
    'x\n',
    '../svc',
  ]) {
    await user.fails('VAF_INPUT_INVALID', 'brain_switch', { name, create: true });
    await user.fails('VAF_INPUT_INVALID', 'brain_read', { name: 'x', brain: name });
  }
});

verifies('brain:names:branch', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('svc_create_branch', { name: 'Feat/One' });
  for (const name of [
    '',
    'HEAD',
    'head',
    'brain',
    'brain/x',
    'rescue',
    'rescue/x',
    '-d',
    '--upload-pack=touch canary',
    'a..b',
    'a.lock',
    'x/y.lock',
    'a.',
    '/a',
    'a/',
    'a//b',
    '@{-1}',
    'a~1',
    'a^',
    'a:b',
    'a b',
    'é',
    '.a',
    'a/.b',
    'x'.repeat(101),
    'a/b/c/d/e/f/g/h/i',
    'refs/../x',
    'a\nb',
    '*',
    '@',
  ]) {
    const reply = await user.call('svc_create_branch', { name });
    expect([name, reply.status, codeOf(reply)]).toEqual([name, 400, 'VAF_INPUT_INVALID']);
  }
  for (const name of ['feat/one', 'FEAT/ONE', 'Feat/One'])
    await user.refused('E_BRANCH_EXISTS', 'svc_create_branch', { name });
  for (const name of ['Feat', 'Feat/One/more']) await user.refused('E_BRANCH_EXISTS', 'svc_create_branch', { name });
  expect(
    git(brainFolder(place, brain), 'for-each-ref', '--format=%(refname)', 'refs/heads').split('\n').sort(),
  ).toEqual(['refs/heads/Feat/One', 'refs/heads/main']);
});

verifies('brain:names:options-as-text', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const texts = [
    '--upload-pack=touch canary',
    '-F/etc/passwd',
    '--amend',
    '-m',
    '--',
    '$(touch canary)',
    '`touch canary`',
    'ext::sh -c touch% canary',
    '#only a comment',
    'a\n\nSigned-off-by: x',
  ];
  for (const [index, message] of texts.entries()) {
    await user.ok('brain_write', { name: 'x', content: `${message} ${index}` });
    const { commit } = await user.ok<{ commit: string }>('svc_commit', { message, agentId: '--exec=touch canary' });
    expect(git(folder, 'log', '-1', '--format=%B', commit).startsWith(message)).toBe(true);
    expect(git(folder, 'log', '-1', '--format=%an', commit)).not.toBe('');
  }
  const places = [place.root, join(place.root, 'cwd'), place.dataDir, folder, join(folder, '.git')];
  expect(places.filter((one) => existsSync(join(one, 'canary')))).toEqual([]);
  for (const at of ['--upload-pack=touch canary', '-p', '--output=canary', 'main:x.md', 'main..side', '^main']) {
    const reply = await user.call('brain_read', { name: 'x', at });
    expect([at, ['E_REF_ABSENT', 'VAF_INPUT_INVALID'].includes(codeOf(reply) ?? '')], reply.text).toEqual([at, true]);
  }
});

verifies('brain:git:foreign', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'plain', content: 'p' });
  writeFileSync(join(folder, '.secret'), 'dot');
  symlinkSync('/etc/passwd', join(folder, 'link.md'));
  mkdirSync(join(folder, 'bad-'), { recursive: true });
  writeFileSync(join(folder, 'bad-', 'trailing. '), 'odd');
  symlinkSync('/etc', join(folder, 'etc'));
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'by hand');
  const inCommit = filesAt(folder, 'main');
  for (const name of ['link', 'link.md', 'etc/passwd', 'etc/hostname']) {
    const reply = await user.call('brain_read', { name });
    expect(
      [name, ['E_FILE_ABSENT', 'VAF_PATH_BLOCKED', 'E_NOT_TEXT'].includes(codeOf(reply) ?? '')],
      reply.text,
    ).toEqual([name, true]);
  }
  const { files } = await user.ok<{ files: Fields[] }>('brain_list_files');
  expect(files.map(({ file, kind }) => [file, kind])).toEqual([
    ['.secret', 'other'],
    ['bad-/trailing. ', 'other'],
    ['etc', 'link'],
    ['link.md', 'link'],
    ['plain.md', 'text'],
  ]);
  const write = await user.call('brain_write', { name: 'etc/svc-canary', content: 'x' });
  expect(['VAF_PATH_BLOCKED', 'E_STATE_WRITE'].includes(codeOf(write) ?? ''), write.text).toBe(true);
  expect(existsSync('/etc/svc-canary.md')).toBe(false);
  expect(await user.ok('svc_search', { query: 'root bin bash' })).toMatchObject({ total: 0 });
  await user.ok('brain_write', { name: 'plain', content: 'p2' });
  await user.ok('svc_commit', { message: 'by the service' });
  expect(filesAt(folder, 'main')).toEqual(inCommit);
});
