/** The past of a brain, who may know it, and how a brain ends. */
import { execFileSync } from 'node:child_process';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { callerOf } from '../instruments/tenants.ts';
import { brainFolder, type TargetPlace } from '../targets/target.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, verifies } from '../verifies.ts';

interface Commit extends Fields {
  readonly commit: string;
  readonly parents: string[];
  readonly message: string;
  readonly files: Fields[];
}

async function member(place: TargetPlace, operator: Caller, workspaceId: string, role: string): Promise<Caller> {
  const userId = newName(role);
  await operator.ok('svc_habitat_addRole', { workspaceId, userId, role });
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId: userId });
  return callerOf(place, String(token));
}

async function workspaceOf(operator: Caller): Promise<string> {
  const workspaceId = newName('w');
  await operator.ok('svc_habitat_createWorkspace', { workspaceId });
  return workspaceId;
}

async function historyOf(who: Caller, args: Fields): Promise<Commit[]> {
  const commits: Commit[] = [];
  for (let cursor: unknown; ; ) {
    const page = await who.ok<{ history: Commit[]; nextCursor?: string }>('svc_history', {
      ...args,
      ...(cursor === undefined ? {} : { cursor }),
    });
    commits.push(...page.history);
    cursor = page.nextCursor;
    if (cursor === undefined) return commits;
  }
}

verifies('history:told', async ({ fresh }) => {
  const { user, brain } = await fresh();
  for (const version of ['one', 'two', 'three'])
    await user.ok('brain_save', { name: 'notes/log', content: `${version}\nstays\n`, message: version });
  await user.ok('brain_save', { name: 'other', content: 'x', message: 'other' });
  const whole = await historyOf(user, { brain });
  expect(whole.map(({ message }) => message)).toEqual(['other', 'three', 'two', 'one', 'Empty brain']);
  expect(await historyOf(user, { brain, limit: 2 })).toEqual(whole);
  const ofFile = await historyOf(user, { brain, file: 'notes/log' });
  expect(ofFile.map(({ message }) => message)).toEqual(['three', 'two', 'one']);
  const [three, two] = ofFile;
  expect(three?.parents).toEqual([two?.commit]);
  const { files } = await user.ok<{ files: Fields[] }>('svc_diff', { brain, from: two?.commit, to: three?.commit });
  expect(files).toEqual([
    {
      file: 'notes/log.md',
      change: 'modified',
      added: 1,
      removed: 1,
      patch: '--- a/notes/log.md\n+++ b/notes/log.md\n@@ -1,2 +1,2 @@\n-two\n+three\n stays\n',
      truncated: false,
    },
  ]);
  await user.ok('brain_write', { name: 'notes/log', content: 'four\nstays\n' });
  expect(await user.ok('svc_diff', { brain })).toMatchObject({
    fromCommit: whole[0]?.commit,
    toCommit: null,
    files: [{ file: 'notes/log.md', added: 1, removed: 1 }],
  });
});

verifies('history:hidden', async ({ fresh, place, socket }) => {
  const { user: operator, brain } = await fresh();
  const workspace = await workspaceOf(operator);
  const admin = await member(place, operator, workspace, 'admin');
  const viewer = await member(place, operator, workspace, 'editor');
  const listener = await socket();
  const hidden = { container: workspace, readableBy: ['role:admin'], writableBy: ['role:admin'] };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/hr`, policy: hidden });
  await operator.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/people`,
    policy: { container: workspace, readableBy: [], writableBy: [], mask: ['consents'] },
  });
  await admin.ok('brain_save', { brain, name: 'hr/pay', content: 'secret', message: 'hidden one' });
  await viewer.ok('brain_save', { brain, name: 'people/eve.json', content: '{"name":"Eve"}', message: 'eve' });
  await admin.ok('brain_save', { brain, name: 'hr/pay', content: 'more', message: 'hidden two' });
  const saved = await viewer.ok('brain_save', { brain, name: 'a', content: 'harbour', message: 'open' });
  const answers: unknown[] = [saved];
  const ask = async (tool: string, args: Fields = {}) => {
    answers.push(await viewer.ok(tool, { brain, ...args }));
  };
  const commits = await historyOf(viewer, { brain });
  answers.push(commits, await historyOf(viewer, { brain, limit: 1 }));
  expect(commits.map(({ message }) => message)).toEqual(['open', 'eve']);
  expect(commits[0]?.parents).toEqual([commits[1]?.commit]);
  await ask('svc_get_memory', { file: 'a' });
  await ask('svc_search', { query: 'harbour', budget: 500, explain: true });
  await ask('svc_list_branches');
  await ask('svc_diff', { from: commits[1]?.commit, to: commits[0]?.commit });
  await ask('brain_read', { name: 'a', at: saved.commit });
  await ask('svc_create_branch', { name: 'side', from: commits[1]?.commit });
  await viewer.ok('brain_switch', { name: brain });
  answers.push(await viewer.ok('brain_current'));
  await listener.until('the branch', (event) => event.brain === brain && event.name === 'branch:created');
  const ids = execFileSync('git', ['-C', brainFolder(place, brain), 'rev-list', '--all', '--objects'], {
    encoding: 'utf8',
  });
  const known = ids
    .split('\n')
    .flatMap((line) => (/^[0-9a-f]{40}(?: (?:hr|people))?\s*$/.test(line) ? [line.slice(0, 40)] : []));
  expect(known.length).toBeGreaterThan(8);
  const said = JSON.stringify([answers, listener.of(brain)]);
  for (const id of known) {
    expect(said).not.toContain(id.slice(0, 12));
    await viewer.refused('E_REF_ABSENT', 'brain_read', { brain, name: 'a', at: id });
    await viewer.refused('E_REF_ABSENT', 'svc_history', { brain, at: id.slice(0, 10) });
  }
  expect(said).not.toMatch(/hidden (one|two)|hr\/pay/);
  expect((await historyOf(admin, { brain })).map(({ message }) => message)).toEqual([
    'open',
    'hidden two',
    'eve',
    'hidden one',
    'Empty brain',
  ]);
});

verifies('lease:guest', async ({ place, caller }) => {
  const operator = caller();
  const [at, elsewhere] = [await workspaceOf(operator), await workspaceOf(operator)];
  const owner = await member(place, operator, at, 'editor');
  const admin = await member(place, operator, at, 'admin');
  const guest = await member(place, operator, elsewhere, 'admin');
  const brain = newName('b');
  await owner.ok('brain_switch', { name: brain, create: true });
  const asked = { brain, action: 'acquire', ttlMs: 3_600_000 };
  const held = await guest.ok('svc_lock', asked);
  expect(held).toMatchObject({ acquired: true, heldAtMostMs: 300_000 });
  expect(Number(held.expiresAt) - Date.now()).toBeLessThan(301_000);
  const renewed = await guest.ok('svc_lock', { ...asked, token: held.token });
  expect(renewed.expiresAt).toBe(held.expiresAt);
  await owner.refused('E_LOCKED', 'brain_write', { brain, name: 'x', content: 'x' });
  for (const who of [owner, guest]) await who.fails('FORBIDDEN', 'svc_lock', { brain, action: 'force' });
  expect(await admin.ok('svc_lock', { brain, action: 'force' })).toMatchObject({ forceReleased: true });
  const own = await owner.ok('svc_lock', asked);
  expect(Number(own.expiresAt) - Date.now()).toBeGreaterThan(3_000_000);
  expect(own).not.toHaveProperty('heldAtMostMs');
});

verifies('lease:departed', async ({ place, caller }) => {
  const operator = caller();
  const [at, elsewhere] = [await workspaceOf(operator), await workspaceOf(operator)];
  const [owner, leaver] = [await member(place, operator, at, 'editor'), await member(place, operator, at, 'editor')];
  const brains = [newName('b'), newName('b')] as const;
  const asked = { action: 'acquire', ttlMs: 3_600_000 };
  for (const name of brains) await owner.ok('brain_switch', { name, create: true });
  const kept = await owner.ok('svc_lock', { ...asked, brain: brains[0] });
  const { agentId, expiresAt } = await leaver.ok('svc_lock', { ...asked, brain: brains[1] });
  await operator.ok('svc_habitat_addRole', { workspaceId: elsewhere, userId: agentId, role: 'editor' });
  await operator.ok('svc_habitat_removeRole', { workspaceId: at, userId: agentId, role: 'editor' });
  const statusOf = async (brain: string) =>
    (await owner.ok<{ status: { expiresAt: number } }>('svc_lock', { action: 'status', brain })).status;
  const end = await waitFor(
    async () => {
      const status = await statusOf(brains[1]);
      return status.expiresAt < Number(expiresAt) && status;
    },
    { what: 'the lease of who has left' },
  );
  expect(end).toMatchObject({ state: 'held', agentId, expiresAt: Number(expiresAt) - 3_300_000 });
  expect(await statusOf(brains[0])).toMatchObject({ state: 'held', expiresAt: kept.expiresAt });
});

verifies('brains:deleted', async ({ place, caller, socket }) => {
  const operator = caller();
  const workspace = await workspaceOf(operator);
  const owner = await member(place, operator, workspace, 'editor');
  const admin = await member(place, operator, workspace, 'admin');
  const stranger = await member(place, operator, await workspaceOf(operator), 'admin');
  const brain = newName('b');
  const listener = await socket();
  await owner.ok('brain_push', { name: brain, create: true });
  await owner.ok('brain_save', { name: 'a', content: 'kept' });
  await owner.ok('svc_create_branch', { name: 'side', switch: true });
  await owner.ok('brain_write', { name: 'dirty', content: 'not committed' });
  for (const who of [owner, stranger]) await who.fails('FORBIDDEN', 'brain_delete', { name: brain, confirm: brain });
  await admin.fails('VAF_INPUT_INVALID', 'brain_delete', { name: brain, confirm: 'no' });
  const done = await admin.ok('brain_delete', { name: brain, confirm: brain });
  await listener.until('the end', (event) => event.brain === brain && event.name === 'brain:deleted');
  await owner.fails('BRAIN_LOAD_FAIL', 'brain_read', { brain, name: 'a' });
  expect((await owner.ok<{ stack: string[] }>('brain_stack')).stack).not.toContain(brain);
  expect(existsSync(brainFolder(place, brain))).toBe(false);
  const kept = join(place.dataDir, String(done.kept));
  renameSync(join(kept, 'brain'), brainFolder(place, brain));
  renameSync(join(kept, 'worktrees'), join(place.dataDir, 'worktrees', brain));
  expect(await owner.ok('brain_read', { brain, branch: 'main', name: 'a' })).toMatchObject({ content: 'kept' });
  expect(await owner.ok('brain_read', { brain, branch: 'side', name: 'dirty' })).toMatchObject({ dirty: true });
  await stranger.fails('FORBIDDEN', 'brain_delete', { name: brain, confirm: brain });
  execFileSync('git', ['-C', brainFolder(place, brain), 'fsck', '--strict']);
});

verifies('brains:renamed', async ({ place, caller }) => {
  const operator = caller();
  const workspace = await workspaceOf(operator);
  const owner = await member(place, operator, workspace, 'editor');
  const admin = await member(place, operator, workspace, 'admin');
  const stranger = await member(place, operator, await workspaceOf(operator), 'admin');
  const [brain, to] = [newName('b'), newName('b')];
  await owner.ok('brain_push', { name: brain, create: true });
  await owner.ok('brain_save', { name: 'a', content: 'kept' });
  await operator.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}`,
    policy: { container: workspace, readableBy: [], writableBy: [] },
  });
  await owner.ok('svc_create_branch', { name: 'side', switch: true });
  await owner.ok('brain_write', { name: 'dirty', content: 'not committed' });
  await owner.fails('FORBIDDEN', 'brain_rename', { name: brain, to });
  await stranger.fails('BRAIN_LOAD_FAIL', 'brain_rename', { name: brain, to });
  await admin.refused('E_DUPLICATE', 'brain_rename', { name: brain, to: 'svc' });
  expect(await admin.ok('brain_rename', { name: brain, to })).toMatchObject({ name: to, from: brain, boundaries: 1 });
  expect(await owner.ok('brain_read', { name: 'dirty' })).toMatchObject({ brain: to, branch: 'side' });
  expect(await owner.ok('brain_save', { message: 'goes on' })).toMatchObject({ brain: to, committed: true });
  await owner.fails('BRAIN_LOAD_FAIL', 'brain_read', { brain, name: 'a' });
  for (const name of [brain, to]) {
    await stranger.fails('BRAIN_LOAD_FAIL', 'brain_read', { brain: name, name: 'a' });
    await stranger.fails('BRAIN_LOAD_FAIL', 'brain_push', { name, create: true });
  }
  expect(await owner.ok('brain_push', { name: brain, create: true })).toMatchObject({ created: true });
});
