/** Files: bytes, hashes, compare-and-swap, the extension rule, the past. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { filesAt, git } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

verifies('brain:memory:round-trip', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const saved = await user.ok('svc_set_memory', { category: 'learnings', filename: 'x', content: 'a' });
  const hash = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
  expect(saved).toEqual({
    saved: true,
    success: true,
    category: 'learnings',
    filename: 'x.md',
    file: 'learnings/x.md',
    hash,
    bytes: 1,
    changed: true,
    created: true,
    brain,
    branch: 'main',
  });
  const { body } = await user.call('svc_get_memory', { category: 'learnings', filename: 'x' });
  expect(body.result).toMatchObject({
    content: 'a',
    hash,
    bytes: 1,
    file: 'learnings/x.md',
    brain,
    branch: 'main',
    modifiedAt: expect.any(Number),
  });
  expect(readFileSync(join(brainFolder(place, brain), 'learnings/x.md'), 'utf8')).toBe('a');
});

verifies('brain:memory:absent', async ({ fresh }) => {
  const { user } = await fresh();
  await user.refused('E_FILE_ABSENT', 'svc_get_memory', { category: 'a', filename: 'x' });
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'a/x' });
  await user.refused('E_FILE_ABSENT', 'brain_get_file', { name: 'a' });
});

verifies('brain:memory:dirty', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const read = () => user.ok('svc_get_memory', { category: '', filename: 'x' });
  expect(await read()).toMatchObject({ dirty: true, commit: null });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'm' });
  expect(await read()).toMatchObject({ dirty: false, commit });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  expect(await read()).toMatchObject({ dirty: true, commit: null });
});

verifies('brain:memory:at', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'm' });
  await user.ok('svc_create_branch', { name: 'side' });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  await user.ok('brain_write', { name: 'x', content: 'other', branch: 'side' });
  await user.ok('svc_commit', { message: 'side', branch: 'side' });
  for (const [at, content] of [
    [commit, 'one'],
    [commit.slice(0, 12), 'one'],
    ['main', 'one'],
    ['side', 'other'],
  ] as const) {
    expect([at, (await user.call('brain_read', { name: 'x', at })).body.result?.content]).toEqual([at, content]);
    expect((await user.call('svc_get_memory', { category: '', filename: 'x', at })).body.result?.content).toBe(content);
  }
  for (const at of ['0000000', 'nowhere', 'rescue/x/ours', '--all', 'HEAD~1'])
    await user.refused('E_REF_ABSENT', 'brain_read', { name: 'x', at });
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'never', at: commit });
  const { files } = await user.ok<{ files: Fields[] }>('brain_list_files', { at: 'side' });
  expect(files).toMatchObject([{ file: 'x.md', hash: sha256('other') }]);
});

verifies('brain:cas:one-winner', async ({ fresh }) => {
  const { user } = await fresh();
  const { hash } = await user.ok<{ hash: string }>('svc_set_memory', {
    category: 'learnings',
    filename: 'x',
    content: 'a',
  });
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      user.call(
        'svc_set_memory',
        { category: 'learnings', filename: 'x', content: `writer ${index}`, ifMatch: hash },
        { gateway: index },
      ),
    ),
  );
  const contents = replies.map(({ body }) => body.result?.content as Fields);
  const winners = contents.filter(({ saved }) => saved === true);
  expect(winners.length).toBe(1);
  expect(contents.filter(({ saved }) => saved !== true)).toEqual(
    Array.from({ length: 19 }, () =>
      expect.objectContaining({ code: 'E_CONFLICT', file: 'learnings/x.md', hash: winners[0]?.hash }),
    ),
  );
  const now = await user.ok<{ content: string; hash: string }>('brain_read', { name: 'learnings/x' });
  expect([now.hash, sha256(now.content)]).toEqual([winners[0]?.hash, winners[0]?.hash]);
});

verifies('brain:write:same-bytes', async ({ fresh, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: 'x', content: 'one' });
  const again = { name: 'x', content: 'two', ifMatch: hash };
  expect(await user.ok('brain_write', again)).toMatchObject({ saved: true, changed: true });
  expect(await user.ok('brain_write', again)).toMatchObject({ saved: true, changed: false, hash: sha256('two') });
  await user.ok('brain_write', { name: 'end', content: '.' });
  await listener.until('the end', (event) => event.brain === brain && event.file === 'end.md');
  expect(listener.of(brain, 'brain:change').map(({ file }) => file)).toEqual(['x.md', 'x.md', 'end.md']);
});

verifies('brain:write:if-match', async ({ fresh }) => {
  const { user } = await fresh();
  const none = await user.refused('E_CONFLICT', 'brain_write', { name: 'x', content: 'a', ifMatch: 'e'.repeat(64) });
  expect(none).toMatchObject({ file: 'x.md', hash: null });
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: 'x', content: 'a', ifMatch: 'none' });
  expect(await user.refused('E_CONFLICT', 'brain_write', { name: 'x', content: 'b', ifMatch: 'none' })).toMatchObject({
    hash,
  });
  expect(await user.refused('E_CONFLICT', 'brain_delete_file', { name: 'x', ifMatch: 'e'.repeat(64) })).toMatchObject({
    hash,
  });
  expect(await user.ok('brain_delete_file', { name: 'x', ifMatch: hash })).toMatchObject({ deleted: true, hash });
  for (const ifMatch of ['', 'NONE', 'E'.repeat(64), 'abc'])
    await user.fails('VAF_INPUT_INVALID', 'brain_write', { name: 'x', content: 'a', ifMatch });
});

verifies('brain:content:bytes', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const texts = [
    '',
    '\n',
    'a\r\nb\rc\n',
    '\uFEFFbom',
    '𝕏 é é 日本語 🧠',
    '<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> them\n',
    '--upload-pack=touch canary',
    '\u0001\u001b[0m',
    '\u2028\u2029',
  ];
  for (const [index, content] of texts.entries()) {
    const { hash, bytes } = await user.ok<Fields>('brain_write', { name: `t/${index}.txt`, content });
    expect([hash, bytes]).toEqual([sha256(content), Buffer.byteLength(content)]);
  }
  await user.ok('svc_commit', { message: 'texts' });
  for (const [index, content] of texts.entries()) {
    expect((await user.call('brain_read', { name: `t/${index}.txt` })).body.result?.content).toBe(content);
    expect((await user.call('brain_read', { name: `t/${index}.txt`, at: 'main' })).body.result?.content).toBe(content);
    expect(readFileSync(join(brainFolder(place, brain), `t/${index}.txt`))).toEqual(Buffer.from(content));
  }
});

verifies('brain:content:limits', async ({ fresh }) => {
  const { user } = await fresh();
  const mebibyte = 'é'.repeat(512 * 1024);
  expect(await user.ok('brain_write', { name: 'big', content: mebibyte })).toMatchObject({ bytes: 1024 * 1024 });
  for (const content of [`${mebibyte}x`, 'a\u0000b', '\ud800', 'x\udc00y']) {
    expect((await user.fails('VAF_INPUT_INVALID', 'brain_write', { name: 'bad', content })).message).toContain(
      'content',
    );
  }
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'bad' });
});

verifies('brain:content:not-text', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  writeFileSync(join(brainFolder(place, brain), 'raw.txt'), Buffer.from([0xff, 0xfe, 0x00, 0x41]));
  await waitFor(async () => (await user.call('brain_read', { name: 'raw.txt' })).text.includes('E_NOT_TEXT'), {
    what: 'E_NOT_TEXT',
  });
  await user.refused('E_NOT_TEXT', 'brain_get_file', { name: 'raw.txt' });
});

verifies('brain:path:extension', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const fileOf = async (name: string) => (await user.ok<{ file: string }>('brain_write', { name, content: name })).file;
  expect(await fileOf('x')).toBe('x.md');
  expect(await fileOf('x.md')).toBe('x.md');
  expect(await fileOf('data.json')).toBe('data.json');
  expect(await fileOf('v1.2')).toBe('v1.2.md');
  expect(await fileOf('a.b/c')).toBe('a.b/c.md');
  expect(await fileOf('long.abcdefghijk')).toBe('long.abcdefghijk.md');
  expect(await user.ok('svc_get_memory', { category: 'a.b', filename: 'c.md' })).toMatchObject({ file: 'a.b/c.md' });
  writeFileSync(join(brainFolder(place, brain), 'plain'), 'exact');
  writeFileSync(join(brainFolder(place, brain), 'plain.md'), 'with extension');
  await waitFor(async () => (await user.call('brain_read', { name: 'plain' })).body.result?.content === 'exact', {
    what: 'the exact file',
  });
  expect(await fileOf('plain')).toBe('plain');
});

verifies('brain:path:root', async ({ fresh }) => {
  const { user } = await fresh();
  expect(await user.ok('svc_set_memory', { category: '', filename: 'root', content: 'r' })).toMatchObject({
    file: 'root.md',
    category: '',
  });
  const deep = 'a/b/c/d/e/f/g/h';
  expect(await user.ok('brain_write', { name: deep, content: 'd' })).toMatchObject({ file: `${deep}.md` });
  expect(await user.ok('svc_get_memory', { category: 'a/b/c/d/e/f/g', filename: 'h' })).toMatchObject({
    file: `${deep}.md`,
  });
  await user.fails('VAF_PATH_BLOCKED', 'brain_write', { name: `${deep}/i`, content: 'd' });
});

verifies('brain:path:both-forms', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_set_memory', { file: 'a/x', content: 'one' });
  for (const args of [
    { category: 'a', filename: 'x' },
    { file: 'a/x' },
    { file: 'a/x.md' },
    { category: 'a', filename: 'x', file: 'a/x' },
  ]) {
    expect((await user.call('svc_get_memory', args)).body.result?.content).toBe('one');
  }
  await user.fails('VAF_INPUT_INVALID', 'svc_get_memory', { category: 'a', filename: 'x', file: 'b/y' });
  for (const args of [{}, { category: 'a' }, { filename: 'x' }])
    await user.fails('VAF_INPUT_INVALID', 'svc_get_memory', args);
});

verifies('brain:write:quiet-paths', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => user.ok('brain_write', { name: `d/${index % 9}`, content: `${index}` })),
  );
  await user.ok('svc_commit', { message: 'm' });
  const folder = brainFolder(place, brain);
  const strange = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.svc-|\.lock$|\.tmp$/.test(name),
  );
  expect(strange).toEqual([]);
});

verifies('brain:git:repository', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  expect(git(folder, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  expect(git(folder, 'rev-parse', 'main^{tree}')).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904');
  expect(git(folder, 'rev-list', '--count', 'main')).toBe('1');
  await user.ok('brain_write', { name: 'x', content: 'one' });
  await user.ok('svc_commit', { message: 'first' });
  expect(filesAt(folder, 'main')).toEqual(['x.md']);
  expect(git(folder, 'show', 'main:x.md')).toBe('one');
  expect(existsSync(join(folder, '.git'))).toBe(true);
});
