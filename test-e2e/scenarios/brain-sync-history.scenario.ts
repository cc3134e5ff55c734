/** Sync beside writers, counted, and with a history that is not the one that was pulled. */
import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { GitRemotes } from '../instruments/git-remotes.ts';
import { brainFolder } from '../targets/target.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

let remotes: GitRemotes | null = null;

const target = ownTarget(async () => {
  const opened = await GitRemotes.open({ filed: ['busy', 'counted', 'empty', 'rewritten', 'unrelated'] });
  remotes = opened;
  return { environment: opened.settings(), dispose: () => opened.close() };
});

function theRemotes(): GitRemotes {
  if (remotes === null) throw new Error('no remotes');
  return remotes;
}

const on = { on: target } as const;

async function withFile({ fresh }: Scenario): Promise<{ user: Caller; brain: string }> {
  const { user, brain } = await fresh();
  await user.ok('brain_save', { name: 'x', content: 'one' });
  return { user, brain };
}

verifies(
  'sync:busy',
  async (scenario) => {
    const { user, brain } = await withFile(scenario);
    await user.ok('svc_sync', { remote: 'busy' });
    const person = theRemotes().person('busy', brain);
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
        const result = await user.ok('svc_sync', { remote: 'busy', direction: 'pull' });
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
    const sync = (args: Fields = {}) => user.ok('svc_sync', { remote: 'counted', ...args });
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

    await user.ok('svc_sync', { remote: 'rewritten' });
    const person = theRemotes().person('rewritten', brain);
    person.take();
    const before = person.push({ 'withdrawn.md': 'pulled once' });
    expect(await pull('rewritten')).toMatchObject({ status: 'fast-forward', after: before });
    await user.ok('brain_save', { name: 'ours', content: 'local work' });
    const ours = head();
    person.git('reset', '-q', '--hard', 'HEAD~1');
    const rewritten = person.push({ 'theirs.md': 'instead' }, '--force');
    const result = await pull('rewritten');
    expect(result).toMatchObject({ status: 'merged', rewritten: true, remoteCommit: rewritten, conflicts: [] });
    const rescue = `refs/rescue/${String(result.rescue)}`;
    expect(git(folder, 'rev-parse', `${rescue}/theirs`, `${rescue}/ours`)).toBe(`${before}\n${ours}`);
    expect(
      await user.ok('brain_read', { name: 'withdrawn', at: `rescue/${String(result.rescue)}/theirs` }),
    ).toMatchObject({
      content: 'pulled once',
    });
    expect(filesAt(folder, 'main')).toEqual(['ours.md', 'theirs.md', 'withdrawn.md', 'x.md']);
    expect(await pull('rewritten')).toMatchObject({ status: 'up-to-date', rewritten: false });

    const unrelated = theRemotes().person('unrelated', brain);
    unrelated.start();
    unrelated.push({ 'elsewhere.md': 'grown apart', 'x.md': 'another one' });
    const merged = await pull('unrelated');
    expect(merged).toMatchObject({ status: 'merged-with-conflicts', rewritten: false });
    expect(filesAt(folder, 'main')).toContain('elsewhere.md');
    expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'one' });
    expect(await user.ok('svc_sync', { remote: 'unrelated' })).toMatchObject({ status: 'pushed' });
    expect(git(theRemotes().bare('unrelated'), 'rev-parse', unrelated.branch)).toBe(head());
    assertSound(folder);
  },
  on,
);
