/** Sync with remotes that do not do their part: silent, slow, absent, full, refusing, rewritten. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { HttpsGitRemote } from '../instruments/https-git-remote.ts';
import { SilentPort } from '../instruments/slow-remote.ts';
import { callerOf } from '../instruments/tenants.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import { brainFolder } from '../targets/target.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

const TOKEN = 'host-token-that-must-show-up-nowhere';
const SILENCE_MS = 3000;
/** What the contract allows a remote that hangs. */
const PATIENCE_MS = 30_000;
const HOSTED = ['silent', 'refs-only', 'half', 'slow', 'gone'] as const;
const FILED = ['a', 'b', 'c', 'd', 'e', 'f', 'empty'] as const;

interface Ground {
  readonly folder: string;
  readonly host: HttpsGitRemote;
  readonly stranger: HttpsGitRemote;
}

let ground: Ground | null = null;

const target = ownTarget(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-network-'));
  const [host, stranger] = [await HttpsGitRemote.start(folder, TOKEN), await HttpsGitRemote.start(folder, TOKEN)];
  const port = await SilentPort.open();
  for (const name of [...HOSTED.map((name) => `owner/${name}`), ...FILED])
    git(tmpdir(), 'init', '-q', '--bare', '-b', 'main', join(folder, `${name}.git`));
  rmSync(join(folder, 'owner/gone.git'), { recursive: true });
  writeFileSync(join(folder, 'authority.pem'), host.certificate);
  ground = { folder, host, stranger };
  const remotes: Record<string, string> = {
    ...Object.fromEntries(HOSTED.map((name) => [name, `${host.url}/owner/${name}.git`])),
    ...Object.fromEntries(FILED.map((name) => [name, `file://${join(folder, `${name}.git`)}`])),
    port: `https://127.0.0.1:${port.port}/owner/repo.git`,
    nobody: 'https://no-such-host.invalid/owner/repo.git',
    closed: 'https://127.0.0.1:1/owner/repo.git',
    stranger: `${stranger.url}/owner/half.git`,
  };
  return {
    environment: {
      SVC_SYNC_ALLOW_FILE: 'on',
      SVC_SYNC_SILENCE_MS: String(SILENCE_MS),
      SVC_SYNC_REMOTES: Object.entries(remotes)
        .map(([name, url]) => `${name}=${url}`)
        .join(','),
      SVC_SYNC_CA_FILE: join(folder, 'authority.pem'),
      SVC_HOST_URL: host.url,
      HOST_TOKEN: TOKEN,
    },
    async dispose() {
      await Promise.all([host.stop(), stranger.stop(), port[Symbol.asyncDispose]()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

function theGround(): Ground {
  if (ground === null) throw new Error('no remotes');
  return ground;
}

const on = { on: target } as const;
const within = (user: Caller, ms: number): Caller => user.with({ headers: { 'x-svc-timeout-ms': String(ms) } });

/** What a person pushes to the brain's branch at a remote of ours. */
function personOf({ folder }: Ground, remote: string, brain: string) {
  const bare = join(folder, `${remote}.git`);
  const clone = mkdtempSync(join(folder, 'person-'));
  const branch = `brain/${brain}/main`;
  return {
    bare,
    branch,
    push(files: Readonly<Record<string, string>>, ...options: readonly string[]): string {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(join(clone, name, '..'), { recursive: true });
        writeFileSync(join(clone, name), content);
      }
      git(clone, 'add', '-A');
      git(clone, 'commit', '-q', '-m', 'person');
      git(clone, 'push', '-q', ...options, bare, `HEAD:refs/heads/${branch}`);
      return git(clone, 'rev-parse', 'HEAD');
    },
    start: () => git(clone, 'init', '-q', '-b', 'main'),
    take() {
      git(clone, 'init', '-q', '-b', 'main');
      git(clone, 'pull', '-q', bare, branch);
    },
    git: (...args: readonly string[]) => git(clone, ...args),
  };
}

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
      const { host } = theGround();
      if (remote !== 'port') {
        const person = personOf(theGround(), `owner/${remote}`, brain);
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
    const { host } = theGround();
    const person = personOf(theGround(), 'owner/slow', brain);
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
    const { folder, stranger } = theGround();
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
        expect(JSON.stringify(refusal)).not.toContain(TOKEN);
      }
    }
    expect(await user.refused('E_NOT_CONFIGURED', 'svc_sync', { remote: 'nowhere' })).toMatchObject({
      error: expect.stringContaining('SVC_SYNC_REMOTES'),
    });
    const hook = join(folder, 'a.git/hooks/pre-receive');
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
    const hook = join(theGround().folder, 'e.git/hooks/pre-receive');
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
  'sync:busy',
  async (scenario) => {
    const { user, brain } = await withFile(scenario);
    await user.ok('svc_sync', { remote: 'f' });
    const person = personOf(theGround(), 'f', brain);
    person.take();
    let isOver = false;
    let written = 0;
    const write = async (writer: number): Promise<void> => {
      for (let round = 0; !isOver; round += 1) {
        await user.ok('brain_write', { name: `w${writer}/${round % 20}`, content: `${round}` });
        written += 1;
      }
    };
    const writers = Array.from({ length: 4 }, (_, writer) => write(writer));
    try {
      for (let round = 0; round < 5; round += 1) {
        const before = written;
        const commit = person.push({ [`theirs${round}.md`]: 'theirs' }, '--force');
        const result = await user.ok('svc_sync', { remote: 'f', direction: 'pull' });
        expect(result).toMatchObject({ remoteCommit: commit, conflicts: [] });
        expect(written).toBeGreaterThan(before);
      }
    } finally {
      isOver = true;
      await Promise.all(writers);
    }
    const folder = brainFolder(scenario.place, brain);
    expect(filesAt(folder, 'main')).toEqual(expect.arrayContaining(['theirs0.md', 'theirs4.md', 'x.md']));
    assertSound(folder);
    scenario.report(`5 pulls beside 4 writers: ${written} writes`);
  },
  on,
);

/** Commits without a change, as a loop of a person makes them. */
function commitMany(folder: string, count: number): void {
  const commits = Array.from({ length: count }, (_, index) => {
    const from = index === 0 ? 'from refs/heads/main^0\n' : '';
    return `commit refs/heads/main\ncommitter Person <p@example.org> ${1_700_000_000 + index} +0000\ndata 1\nx\n${from}\n`;
  });
  execFileSync('git', ['fast-import', '--quiet'], { cwd: folder, input: commits.join('') });
}

verifies(
  'sync:counts',
  async (scenario) => {
    const { user, brain } = await withFile(scenario);
    const sync = (args: Fields = {}) => user.ok('svc_sync', { remote: 'b', ...args });
    const folder = brainFolder(scenario.place, brain);
    const commits = () => Number(git(folder, 'rev-list', '--count', 'main'));
    expect(await sync()).toMatchObject({ status: 'pushed', direction: 'both', pushed: commits(), uncommittedLeft: 0 });
    expect(await sync()).toMatchObject({ status: 'up-to-date', pushed: 0 });
    commitMany(folder, 1203);
    await user.ok('brain_write', { name: 'draft', content: 'not committed' });
    expect(await sync({ direction: 'push' })).toMatchObject({ status: 'pushed', pushed: 1203, uncommittedLeft: 1 });
    expect(await sync({ direction: 'push' })).toMatchObject({ status: 'up-to-date', pushed: 0, uncommittedLeft: 1 });
    // a pull commits what is there first, and a sync then pushes it
    expect(await sync()).toMatchObject({ status: 'pushed', pushed: 1, uncommittedLeft: 0 });
    await user.ok('svc_create_branch', { name: 'idea', switch: true });
    await user.ok('brain_save', { name: 'idea', content: 'new' });
    expect(await sync({ branch: 'idea' })).toMatchObject({ status: 'pushed', pushed: 1 });
  },
  on,
);

verifies(
  'sync:rewritten',
  async (scenario) => {
    const { user, brain } = await withFile(scenario);
    const folder = brainFolder(scenario.place, brain);
    const pull = (remote: string) => user.ok('svc_sync', { remote, direction: 'pull' });
    const head = () => git(folder, 'rev-parse', 'main');
    expect(await pull('empty')).toMatchObject({ status: 'up-to-date', remoteCommit: null, rewritten: false });

    await user.ok('svc_sync', { remote: 'c' });
    const person = personOf(theGround(), 'c', brain);
    person.take();
    const before = person.push({ 'withdrawn.md': 'pulled once' });
    expect(await pull('c')).toMatchObject({ status: 'fast-forward', after: before });
    await user.ok('brain_save', { name: 'ours', content: 'local work' });
    const ours = head();
    person.git('reset', '-q', '--hard', 'HEAD~1');
    const rewritten = person.push({ 'theirs.md': 'instead' }, '--force');
    const result = await pull('c');
    expect(result).toMatchObject({ status: 'merged', rewritten: true, remoteCommit: rewritten, conflicts: [] });
    const rescue = `refs/rescue/${String(result.rescue)}`;
    expect(git(folder, 'rev-parse', `${rescue}/theirs`, `${rescue}/ours`)).toBe(`${before}\n${ours}`);
    expect(
      await user.ok('brain_read', { name: 'withdrawn', at: `rescue/${String(result.rescue)}/theirs` }),
    ).toMatchObject({
      content: 'pulled once',
    });
    expect(filesAt(folder, 'main')).toEqual(['ours.md', 'theirs.md', 'withdrawn.md', 'x.md']);
    expect(await pull('c')).toMatchObject({ status: 'up-to-date', rewritten: false });

    const unrelated = personOf(theGround(), 'd', brain);
    unrelated.start();
    unrelated.push({ 'elsewhere.md': 'grown apart', 'x.md': 'another one' });
    const merged = await pull('d');
    expect(merged).toMatchObject({ status: 'merged-with-conflicts', rewritten: false });
    expect(filesAt(folder, 'main')).toContain('elsewhere.md');
    expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'one' });
    expect(await user.ok('svc_sync', { remote: 'd' })).toMatchObject({ status: 'pushed' });
    expect(git(join(theGround().folder, 'd.git'), 'rev-parse', unrelated.branch)).toBe(head());
    assertSound(folder);
  },
  on,
);
