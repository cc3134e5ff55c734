/** Several brains with one remote: pulled and pushed together, put on top of what the remote has, looked at. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { assertSound, git } from '../instruments/git.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { brainFolder } from '../targets/target.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

let folder = '';

const target = ownTarget(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-e2e-several-'));
  git(tmpdir(), 'init', '-q', '--bare', '-b', 'main', bare());
  return {
    environment: { SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `origin=file://${bare()}` },
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
});

const on = { on: target } as const;
const bare = () => join(folder, 'r.git');

/** Two brains of one session, both at the remote. */
async function twoBrains({ fresh }: Scenario): Promise<{ user: Caller; brains: [string, string] }> {
  const { user, brain } = await fresh();
  const second = `${brain}-b`;
  await user.ok('brain_push', { name: second, create: true });
  for (const name of [brain, second]) await user.ok('brain_write', { brain: name, name: 'base.md', content: 'base\n' });
  await user.ok('svc_sync_pushAll');
  return { user, brains: [second, brain] };
}

/** A person who has the brain from the remote changes a file there. */
function theirs(brain: string, name: string, content: string): void {
  const clone = mkdtempSync(join(folder, 'person-'));
  git(folder, 'clone', '-q', '-b', `brain/${brain}/main`, bare(), clone);
  writeFileSync(join(clone, name), content);
  git(clone, 'add', '-A');
  git(clone, 'commit', '-q', '-m', 'person');
  git(clone, 'push', '-q');
}

verifies(
  'sync:several',
  async (scenario) => {
    const listener = await scenario.socket();
    const { user, brains } = await twoBrains(scenario);
    for (const brain of brains) theirs(brain, 'theirs.md', 'theirs');
    const { results } = await user.ok<{ results: Fields[] }>('svc_sync_pullAny');
    expect(results).toMatchObject(brains.map((brain) => ({ brain, remote: 'origin', status: 'fast-forward' })));
    for (const brain of brains) {
      expect(await user.ok('brain_read', { brain, name: 'theirs' })).toMatchObject({ content: 'theirs' });
      await user.ok('brain_write', { brain, name: 'ours.md', content: 'ours' });
    }
    expect(await user.ok('svc_sync_status')).toMatchObject({
      enabled: true,
      pendingPush: 2,
      remotes: brains.map((brain) => ({ brain, name: 'origin', branch: 'main', ahead: 0, behind: 0 })),
    });
    const pushed = await user.ok('svc_sync_pushAll', { message: 'evening' });
    expect(pushed).toMatchObject({ synced: true, success: true, errors: [] });
    for (const brain of brains) {
      expect(git(bare(), 'log', '-1', '--format=%s', `brain/${brain}/main`)).toBe('evening');
      expect(git(bare(), 'show', `brain/${brain}/main:ours.md`)).toBe('ours');
      await listener.until('the end of a push', (event) => event.name === 'sync:complete' && event.brain === brain);
    }
  },
  on,
);

verifies(
  'sync:lease',
  async (scenario) => {
    const { user, brains } = await twoBrains(scenario);
    const [brain] = brains;
    const other = scenario.caller({ session: 'other' });
    await other.ok('brain_load', { brains: brain });
    await user.ok('brain_save', { brain, name: 'base.md', content: 'committed' });
    await user.ok('svc_lock', { brain, action: 'acquire', agentId: 'holder' });
    expect(await other.refused('E_LOCKED', 'svc_sync', { direction: 'pull' })).toMatchObject({ synced: false });
    expect(await other.refused('E_LOCKED', 'svc_sync_pullAny')).toMatchObject({ synced: false });
    expect(await other.refused('E_LOCKED', 'svc_sync_rebase')).toMatchObject({ rebased: false });
    expect(await other.ok('svc_sync', { direction: 'push' })).toMatchObject({ synced: true, status: 'pushed' });
    await scenario.caller().ok('svc_lock', { brain, action: 'force' });
  },
  on,
);

verifies(
  'sync:rebase',
  async (scenario) => {
    const { user, brains } = await twoBrains(scenario);
    const [brain, second] = brains;
    const root = brainFolder(scenario.place, brain);
    theirs(brain, 'theirs.md', 'theirs');
    for (const name of ['a', 'b']) await user.ok('brain_save', { brain, name, content: name });
    const answer = await user.ok('svc_sync_rebase', { brain });
    expect(answer).toMatchObject({ rebased: true, status: 'rebased', replayed: 2, pulled: { added: 1 } });
    expect(git(root, 'log', '--format=%s', '-4', 'main').split('\n').slice(0, 3)).toEqual([
      'save b.md',
      'save a.md',
      'person',
    ]);
    expect([git(root, 'status', '--porcelain'), git(root, 'rev-list', '--merges', '--count', 'main')]).toEqual([
      '',
      '0',
    ]);
    expect(await user.ok('svc_sync', { brain, direction: 'push' })).toMatchObject({ status: 'pushed', pushed: 2 });
    assertSound(root);

    theirs(second, 'base.md', 'theirs\n');
    await user.ok('brain_save', { brain: second, name: 'base.md', content: 'ours\n' });
    const head = git(brainFolder(scenario.place, second), 'rev-parse', 'main');
    const refused = await user.refused('E_SYNC_CONFLICT', 'svc_sync_rebase', { brain: second });
    expect(refused).toMatchObject({ rebased: false, conflicts: [{ file: 'base.md' }], rescue: expect.any(String) });
    expect(git(brainFolder(scenario.place, second), 'rev-parse', 'main')).toBe(head);
    for (const [side, content] of [
      ['ours', 'ours\n'],
      ['theirs', 'theirs\n'],
    ]) {
      const at = `rescue/${String(refused['rescue'])}/${side}`;
      expect(await user.ok('brain_read', { brain: second, name: 'base', at })).toMatchObject({ content });
    }
  },
  on,
);

verifies(
  'settings:pulled',
  async (scenario) => {
    const { user, brains } = await twoBrains(scenario);
    const [brain] = brains;
    const key = 'market.skillsEnabled';
    await user.ok('svc_config_set', { key, value: false });
    const inForce = await user.ok('svc_config_get', { key });
    expect(inForce).toMatchObject({ value: false });
    theirs(brain, 'config.json', JSON.stringify({ [key]: true, 'notes.language': 'de' }));
    expect(await user.ok('svc_sync', { brain, direction: 'pull' })).toMatchObject({ status: 'fast-forward' });
    expect(await user.ok('svc_config_get', { key: 'notes.language' })).toMatchObject({ value: 'de', source: 'brain' });
    for (const gateway of [0, 1])
      expect(await user.ok('svc_config_get', { key, brain }, { gateway })).toMatchObject({
        value: false,
        source: inForce['source'],
      });
    const editor = memberAt(await createMembers(scenario.place, 'editor'), 0).caller;
    await editor.ok('brain_switch', { name: brain });
    await editor.refused('E_SKILL_DISABLED', 'market_skill_list', { title: 'mooring', price: null });
    await editor.fails('FORBIDDEN', 'svc_config_set', { key, value: true });
  },
  on,
);
