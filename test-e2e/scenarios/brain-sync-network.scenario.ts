/** Sync over a network: a host that wants a token, and remotes that do not do their part: silent, slow, absent, full, refusing. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller } from '../client.ts';
import { assertSound, git } from '../instruments/git.ts';
import { GitRemotes, HOST_TOKEN } from '../instruments/git-remotes.ts';
import { HttpsGitRemote } from '../instruments/https-git-remote.ts';
import { SilentPort } from '../instruments/slow-remote.ts';
import { callerOf } from '../instruments/tenants.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import { brainFolder, logsOf } from '../targets/target.ts';
import { newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const SILENCE_MS = 3000;
/** What the contract allows a remote that hangs. */
const PATIENCE_MS = 30_000;
const HOSTED = ['silent', 'refs-only', 'half', 'slow', 'gone', 'repo'] as const;

interface Ground {
  readonly remotes: GitRemotes;
  readonly stranger: HttpsGitRemote;
}

let ground: Ground | null = null;

const target = ownTarget(async () => {
  const remotes = await GitRemotes.open({ filed: ['a', 'e'], hosted: HOSTED.map((name) => `owner/${name}`) });
  const { host, folder } = remotes;
  const stranger = await HttpsGitRemote.start(folder, HOST_TOKEN);
  const port = await SilentPort.open();
  rmSync(remotes.bare('owner/gone'), { recursive: true });
  ground = { remotes, stranger };
  const settings = remotes.settings({
    ...Object.fromEntries(HOSTED.map((name) => [name, `${host.url}/owner/${name}.git`])),
    port: `https://127.0.0.1:${port.port}/owner/repo.git`,
    nobody: 'https://no-such-host.invalid/owner/repo.git',
    closed: 'https://127.0.0.1:1/owner/repo.git',
    stranger: `${stranger.url}/owner/half.git`,
  });
  return {
    environment: { ...settings, HOST_REPO: 'owner/repo', SVC_SYNC_SILENCE_MS: String(SILENCE_MS) },
    async dispose() {
      await Promise.all([stranger.stop(), port[Symbol.asyncDispose]()]);
      await remotes.close();
    },
  };
});

function theGround(): Ground {
  if (ground === null) throw new Error('no remotes');
  return ground;
}

const theRemotes = (): GitRemotes => theGround().remotes;
const on = { on: target } as const;
const within = (user: Caller, ms: number): Caller => user.with({ headers: { 'x-svc-timeout-ms': String(ms) } });

async function withFile({ fresh }: Scenario): Promise<{ user: Caller; brain: string }> {
  const { user, brain } = await fresh();
  await user.ok('brain_save', { name: 'x', content: 'one' });
  return { user, brain };
}

for (const remote of ['port', 'silent', 'refs-only', 'half'] as const) {
  verifies(
    'sync:silent',
    async (scenario) => {
      const { user, brain } = await withFile(scenario);
      const { host } = theRemotes();
      if (remote !== 'port') {
        const person = theRemotes().person(`owner/${remote}`, brain);
        person.start();
        person.push({ 'y.md': 'y'.repeat(50_000) });
        host.manners.set(`owner/${remote}`, remote);
      }
      const head = git(brainFolder(scenario.place, brain), 'rev-parse', 'main');
      // only what comes in can stop half way
      for (const direction of remote === 'half' ? ['pull'] : ['pull', 'push']) {
        const startedAt = performance.now();
        let isWaiting = true;
        const waiting = user.refused('E_REMOTE_UNREACHABLE', 'svc_sync', { remote, direction }).finally(() => {
          isWaiting = false;
        });
        let served = 0;
        for (; isWaiting && served < 5; served += 1) {
          await user.ok('brain_write', { name: `beside-${direction}`, content: String(served) });
        }
        expect(served).toBe(5);
        expect(await waiting).toMatchObject({
          synced: false,
          remote,
          host: expect.stringContaining(remote === 'port' ? '127.0.0.1' : 'localhost'),
          kind: 'silent',
          error: expect.stringContaining('no sign of life for 3 s'),
        });
        const tookMs = performance.now() - startedAt;
        expect(tookMs).toBeLessThan(PATIENCE_MS);
        scenario.report(`${remote} ${direction}: given up after ${Math.round(tookMs)} ms of ${SILENCE_MS} of silence`);
      }
      expect(git(brainFolder(scenario.place, brain), 'rev-parse', 'main')).toBe(head);
      assertSound(brainFolder(scenario.place, brain));
    },
    { ...on, title: `at the stage "${remote}"` },
  );
}

verifies(
  'sync:under-way',
  async (scenario) => {
    const listener = await scenario.socket();
    const { user, brain } = await withFile(scenario);
    const { host } = theRemotes();
    const person = theRemotes().person('owner/slow', brain);
    person.start();
    // much enough that of each of git's packets of 64 KiB some come every second
    const words = (): string => Array.from({ length: 90_000 }, () => scenario.random.int(0, 1e9)).join('\n');
    const commit = person.push({ 'long.md': words(), 'longer.md': words(), 'longest.md': words() });
    host.manners.set('owner/slow', 'slow');
    const call = { remote: 'slow', direction: 'pull' };
    const keyed = { headers: { 'idempotency-key': `slow-${brain}` } };
    const hasty = within(user, 4000);
    const startedAt = performance.now();
    const refusal = await hasty.refused('E_UNDER_WAY', 'svc_sync', call, keyed);
    expect(performance.now() - startedAt).toBeLessThan(4000 + 2000);
    expect(refusal).toMatchObject({ synced: false, remote: 'slow', direction: 'pull', retryAfterMs: 5000 });
    await listener.until('progress', ({ name, ...event }) => name === 'sync:progress' && event.brain === brain);
    const done = await listener.until('the end', (event) => event.brain === brain && event.name === 'sync:complete');
    expect(done).toMatchObject({ status: 'fetched', direction: 'pull' });
    const told = listener.of(brain, 'sync:progress');
    for (const [index, event] of told.entries()) {
      expect(event).toMatchObject({ branch: 'main', remote: 'slow', direction: 'pull' });
      expect(event.at - (told[index - 1]?.at ?? 0)).toBeGreaterThan(900);
    }
    // what the remote counts and compresses before it sends may be told first, on a slow machine
    expect(told.map(({ stage }) => stage)).toContain('receiving');
    host.manners.delete('owner/slow');
    expect(await user.ok('svc_sync', call, keyed)).toMatchObject({ remoteCommit: commit, status: 'merged' });
    expect(listener.of(brain, 'sync:error')).toEqual([]);
    // a remote that is silent for longer than the caller waits is no unknown outcome either
    host.manners.set('owner/slow', 'silent');
    await within(user, 1800).refused('E_UNDER_WAY', 'svc_sync', call);
    await user.refused('E_REMOTE_UNREACHABLE', 'svc_sync', call);
  },
  on,
);

verifies(
  'sync:kinds',
  async (scenario) => {
    const { user } = await withFile(scenario);
    const { stranger } = theGround();
    const cases = [
      ['nobody', 'E_REMOTE_UNREACHABLE', 'dns', 'no-such-host.invalid'],
      ['closed', 'E_REMOTE_UNREACHABLE', 'refused', '127.0.0.1:1'],
      ['gone', 'E_REMOTE_ABSENT', 'absent', 'localhost'],
      ['stranger', 'E_REMOTE_TLS', 'certificate', new URL(stranger.url).host],
    ] as const;
    for (const [remote, code, kind, host] of cases) {
      for (const direction of ['pull', 'push']) {
        const refusal = await user.refused(code, 'svc_sync', { remote, direction });
        expect(refusal).toMatchObject({ synced: false, remote, kind, host: expect.stringContaining(host), said: null });
        expect(refusal.error).toContain(host);
        expect(JSON.stringify(refusal)).not.toContain(HOST_TOKEN);
      }
    }
    expect(await user.refused('E_NOT_CONFIGURED', 'svc_sync', { remote: 'nowhere' })).toMatchObject({
      error: expect.stringContaining('SVC_SYNC_REMOTES'),
    });
    const hook = join(theRemotes().bare('a'), 'hooks/pre-receive');
    const refuse = (text: string) => writeFileSync(hook, `#!/bin/sh\necho '${text}'\nexit 1\n`, { mode: 0o755 });
    refuse('policy 7: no notes about narwhals');
    expect(await user.refused('E_REMOTE_REJECTED', 'svc_sync', { remote: 'a', direction: 'push' })).toMatchObject({
      kind: 'hook',
      host: null,
      said: 'policy 7: no notes about narwhals',
    });
    // what a sync pulled before its push was refused is told with the refusal
    expect(await user.refused('E_REMOTE_REJECTED', 'svc_sync', { remote: 'a' })).toMatchObject({
      pulled: { status: 'up-to-date', conflicts: 0, rescue: null },
    });
    refuse('fatal: write error: No space left on device');
    await user.refused('E_REMOTE_FULL', 'svc_sync', { remote: 'a', direction: 'push' });
  },
  on,
);

verifies(
  'sync:words-hidden',
  async (scenario) => {
    const { user: operator, brain } = await withFile(scenario);
    const { workspace, ids } = await workspaceWith(scenario.place, 'editor');
    const editor = callerOf(scenario.place, await mint(scenario.place, ids[0]));
    const hook = join(theRemotes().bare('e'), 'hooks/pre-receive');
    writeFileSync(hook, `#!/bin/sh\necho 'keys/master.md is too large'\nexit 1\n`, { mode: 0o755 });
    const push = { brain, remote: 'e', direction: 'push' };
    const open = await editor.refused('E_REMOTE_REJECTED', 'svc_sync', push);
    expect(open).toMatchObject({ kind: 'hook', said: 'keys/master.md is too large' });
    const policy = { container: workspace, readableBy: ['role:admin'], writableBy: [] };
    await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/keys`, policy });
    const hidden = await editor.refused('E_REMOTE_REJECTED', 'svc_sync', push);
    expect(hidden).toMatchObject({ kind: 'hook', said: null });
    expect(JSON.stringify(hidden)).not.toContain('master');
  },
  on,
);

verifies(
  'sync:unreachable',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    await user.ok('brain_save', { name: 'x', content: 'one' });
    const head = git(brainFolder(place, brain), 'rev-parse', 'main');
    for (const direction of ['pull', 'push']) {
      const refusal = await user.refused('E_REMOTE_UNREACHABLE', 'svc_sync', { remote: 'closed', direction });
      expect(refusal).toMatchObject({ synced: false });
    }
    expect(git(brainFolder(place, brain), 'rev-parse', 'main')).toBe(head);
  },
  on,
);

verifies(
  'sync:not-configured',
  async ({ fresh }) => {
    const { user } = await fresh();
    expect(await user.refused('E_NOT_CONFIGURED', 'svc_sync', { remote: 'nowhere' })).toMatchObject({ synced: false });
  },
  on,
);

verifies(
  ['sync:https', 'sync:auth'],
  async ({ fresh, caller, place, socket }) => {
    const listener = await socket();
    const { folder, host } = theRemotes();
    const bare = theRemotes().bare('owner/repo');
    const { user, brain } = await fresh();
    await user.ok('brain_save', { name: 'x', content: 'over https' });
    expect(await user.ok('svc_sync')).toMatchObject({ synced: true, remote: 'origin' });
    expect(git(bare, 'show', `refs/heads/brain/${brain}/main:x.md`)).toBe('over https');
    const operator = caller();
    await operator.ok('brain_save', { name: newName('f'), content: 'of the default brain' });
    await operator.ok('svc_sync', { direction: 'push' });
    expect(git(bare, 'rev-parse', 'refs/heads/main')).toBe(git(brainFolder(place, 'svc'), 'rev-parse', 'main'));

    const clone = join(folder, 'clone');
    git(folder, 'clone', '-q', '-b', `brain/${brain}/main`, bare, clone);
    writeFileSync(join(clone, 'x.md'), 'changed at the host');
    git(clone, 'commit', '-qam', 'person');
    git(clone, 'push', '-q');
    expect(await user.ok('svc_sync', { direction: 'pull' })).toMatchObject({ status: 'fast-forward' });
    expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'changed at the host' });

    host.token = 'another';
    expect(await user.refused('E_REMOTE_AUTH', 'svc_sync', { direction: 'pull' })).toMatchObject({ synced: false });
    host.token = HOST_TOKEN;
    await user.ok('svc_sync', { direction: 'pull' });
    await listener.until('the error', (event) => event.brain === brain && event.name === 'sync:error');
    const config = readFileSync(join(brainFolder(place, brain), '.git/config'), 'utf8');
    const shown = [
      logsOf(place),
      config,
      JSON.stringify(listener.heard),
      host.asked.join('\n'),
      (await user.call('svc_health')).text,
    ];
    expect(
      shown.filter(
        (text) => text.includes(HOST_TOKEN) || text.includes(Buffer.from(HOST_TOKEN).toString('base64').slice(0, 20)),
      ),
    ).toEqual([]);
  },
  on,
);
