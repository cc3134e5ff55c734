/** Temporary files, cache and stash, as members of a workspace use them at once. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { codeOf } from '../client.ts';
import { expectHarmless, shownServed } from '../instruments/hostile-calls.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { NAMES } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { ownTarget, verifies } from '../verifies.ts';

verifies(['tmp:mine', 'tmp:handed', 'tmp:one-store', 'tmp:clear', 'tmp:stash'], async ({ place, fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'kept', content: 'kept' });
  const workspace = await createMembers(place, 'editor', 'editor', 'viewer', 'admin');
  const [ada, bob, cleo, admin] = [0, 1, 2, 3].map((index) => memberAt(workspace, index));
  if (ada === undefined || bob === undefined || cleo === undefined || admin === undefined) throw new Error('members');
  const other = memberAt(await createMembers(place, 'admin'), 0);
  await ada.caller.ok('svc_tmp_myStuffPut', { name: 'n', content: 'mine' });
  await bob.caller.refused('E_TMP_ABSENT', 'svc_tmp_myStuffGet', { name: 'n' }, { gateway: 1 });
  expect(await bob.caller.ok('svc_tmp_myStuffList')).toMatchObject({ files: [] });

  const { hash: dropped } = await ada.caller.ok('svc_brain_drop_file', { name: 'n', content: 'shared' });
  expect(dropped).toBe(hash('sha256', 'shared', 'hex'));
  expect(await bob.caller.ok('svc_tmp_dropboxGet', { name: 'n' }, { gateway: 1 })).toMatchObject({
    content: 'shared',
    hash: dropped,
    by: ada.id,
  });
  await other.caller.refused('E_TMP_ABSENT', 'svc_tmp_dropboxGet', { name: 'n' });
  expect(await other.caller.ok('svc_tmp_dropboxList')).toMatchObject({ files: [] });

  await ada.caller.ok('svc_tmp_yourStuffPut', { name: 'n', content: 'for bob', to: bob.id });
  expect(await bob.caller.ok('svc_tmp_yourStuffGet', { name: 'n' })).toMatchObject({ content: 'for bob' });
  await cleo.caller.refused('E_TMP_ABSENT', 'svc_tmp_yourStuffGet', { name: 'n' });
  await ada.caller.refused('AGENT_NOT_FOUND', 'svc_tmp_yourStuffPut', { name: 'n', content: 'x', to: other.id });
  expect(await ada.caller.ok('svc_tmp_yourStuffDelete', { name: 'n' })).toMatchObject({ deleted: true });
  await bob.caller.refused('E_TMP_ABSENT', 'svc_tmp_yourStuffGet', { name: 'n' });

  await cleo.caller.ok('svc_tmp_dropboxPut', { name: 'of cleo', content: 'c' });
  await cleo.caller.fails('FORBIDDEN', 'svc_tmp_dropboxPut', { name: 'n', content: 'over it' });
  expect(await cleo.caller.ok('svc_tmp_dropboxClear')).toMatchObject({ cleared: true, count: 1 });
  await bob.caller.ok('svc_brain_stash', { data: { page: 14 } });
  expect(await admin.caller.ok('svc_brain_clear')).toMatchObject({ cleared: true, count: 1 });
  expect(await ada.caller.ok('svc_brain_your_stuff')).toMatchObject({ stash: null, empty: true });
  expect(await ada.caller.ok('svc_brain_my_get', { name: 'n' })).toMatchObject({ content: 'mine' });
  expect(await user.ok('brain_list_files', { brain })).toMatchObject({ files: [{ file: 'kept.md' }] });
  expect(await bob.caller.ok('svc_brain_get_file', { name: 'n' })).toMatchObject({ content: 'shared' });
  expect(await admin.caller.ok('svc_tmp_dropboxClear')).toMatchObject({ count: 1 });
});

verifies('tmp:quota', async ({ place }) => {
  const workspace = await createMembers(place, 'editor', 'editor');
  const [ada, bob] = [memberAt(workspace, 0).caller, memberAt(workspace, 1).caller];
  const mebibyte = 'x'.repeat(1024 * 1024);
  const answers: (string | null)[] = [];
  const put = async (n: number): Promise<void> => {
    const caller = n % 2 === 0 ? ada : bob;
    answers.push(codeOf(await caller.call('svc_tmp_dropboxPut', { name: `f${n}`, content: mebibyte }, { gateway: n })));
  };
  const names = Array.from({ length: 70 }, (_, n) => n);
  const worker = async (): Promise<void> => {
    for (let n = names.pop(); n !== undefined; n = names.pop()) await put(n);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(answers.filter((code) => code === null)).toHaveLength(64);
  expect(answers.filter((code) => code === 'E_QUOTA')).toHaveLength(6);
  expect(await ada.ok('svc_tmp_list')).toMatchObject({ spaces: [{ space: 'dropbox', files: 64 }, {}, {}] });
  const texts = ['a', 'b'].map((letter) => letter.repeat(300_000));
  await Promise.all(texts.map((content) => ada.ok('svc_tmp_myStuffPut', { name: 'both', content })));
  expect(texts).toContain((await ada.ok('svc_tmp_myStuffGet', { name: 'both' }))['content']);
});

verifies('tmp:events', async ({ place, socket }) => {
  const workspace = await createMembers(place, 'editor', 'viewer');
  const [ada, vera] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const listeners = await Promise.all(
    [ada, vera].map(async (member, gateway) => {
      const { 'x-habitat-token': token = '' } = member.caller.headers();
      const listener = await socket({ gateway, auth: { token } });
      expect(await listener.subscribe()).toMatchObject({ ok: true });
      return listener;
    }),
  );
  await ada.caller.ok('svc_tmp_myStuffPut', { name: 'mine', content: 'x' });
  await ada.caller.ok('svc_tmp_yourStuffPut', { name: 'handed', content: 'x', to: vera.id });
  await ada.caller.ok('svc_tmp_dropboxPut', { name: 'shared', content: 'x' });
  await ada.caller.ok('svc_tmp_dropboxDelete', { name: 'shared' });
  await ada.caller.ok('svc_tmp_cacheSet', { key: 'k', value: 1 });
  await ada.caller.ok('svc_tmp_cacheClear');
  const heard = await Promise.all(
    listeners.map(async (listener) => {
      await listener.until('the cache cleared', ({ name }) => name === 'tmp:cleared');
      return listener.heard.filter(({ name }) => name.startsWith('tmp:'));
    }),
  );
  const shared = [
    { name: 'tmp:put', space: 'yourStuff', workspace: workspace.workspace, by: ada.id },
    { name: 'tmp:put', space: 'dropbox' },
    { name: 'tmp:deleted', space: 'dropbox' },
    { name: 'tmp:cleared', space: 'cache', count: 1 },
  ];
  expect(heard[0]).toMatchObject([{ name: 'tmp:put', space: 'myStuff' }, ...shared]);
  expect(heard[1]).toMatchObject(shared);
});

verifies(
  'tmp:names',
  async ({ place, random, caller, report }) => {
    const served = await expectHarmless({
      user: caller(),
      place,
      random,
      names: NAMES,
      callsWith: (name) => [
        ['svc_tmp_dropboxPut', { name, content: 'x' }],
        ['svc_brain_my_drop', { name, content: 'x' }],
        ['svc_tmp_yourStuffPut', { name, content: 'x' }],
        ['svc_tmp_get', { space: 'dropbox', name }],
        ['svc_brain_delete_file', { name }],
        ['svc_tmp_myStuffDelete', { name }],
        ['svc_tmp_yourStuffDelete', { name }],
      ],
    });
    report(`${NAMES} hostile names, served: ${shownServed(served)}`);
  },
  { timeoutMs: 300_000 + NAMES * 200 },
);

const own = ownTarget();

verifies(
  'tmp:time',
  async ({ caller }) => {
    const user = caller();
    await user.ok('svc_tmp_dropboxPut', { name: 'short', content: 'x', ttl: 3000 });
    await user.ok('svc_tmp_dropboxPut', { name: 'long', content: 'x' });
    await user.ok('svc_tmp_cacheSet', { key: 'no', value: false });
    const { brains, whole } = own.get();
    await killed(brains);
    await whole();
    expect(await user.ok('svc_tmp_dropboxGet', { name: 'long' })).toMatchObject({ content: 'x' });
    expect(await user.ok('svc_tmp_cacheGet', { key: 'no' })).toMatchObject({ found: true, value: false });
    await sleep(3000);
    await user.refused('E_TMP_ABSENT', 'svc_tmp_dropboxGet', { name: 'short' });
  },
  { on: own },
);
