/** A backup that is made under writes and restored on a node that never had the brain. */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { BACKUP_FILES } from '../settings.ts';
import { startTarget } from '../targets/lent.ts';
import { brainFolder, type TargetPlace } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const BRANCHES = 3;
const CHANGES = 20;

const shelf = (place: TargetPlace) => join(dirname(dirname(brainFolder(place, 'svc'))), 'backups');
const headsOf = (folder: string) => git(folder, 'for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads');

/** An embedded node of its own, whichever the target is: a backup goes from one form to the other. */
async function freshNode(): Promise<TargetPlace> {
  const node = await startTarget('embedded', {});
  if (node === null) throw new Error('a node needs no servers');
  onTestFinished(() => node.stop(), 60_000);
  return node.place;
}

/** All rows that a backup carries and a tool shows. */
async function notedOf(caller: Caller, brain: string): Promise<Fields> {
  const limited = { brain, limit: 1000 };
  const { connections } = await caller.ok('brain_connections', { in: brain, brain: 'hub', depth: 1 });
  return {
    connections,
    citations: await caller.ok('svc_citations_list', limited),
    resolutions: await caller.ok('svc_resolution_list', limited),
    keys: await caller.ok('brain_geo_list', limited),
    sessions: await caller.ok('brain_evolution_history', limited),
  };
}

verifies(
  'backup:fresh',
  async ({ fresh, place, caller, report }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    for (let index = 0; index < BACKUP_FILES; index += 1) {
      mkdirSync(join(folder, `d${index % 20}`), { recursive: true });
      writeFileSync(join(folder, `d${index % 20}`, `f${index}.md`), `# ${index}\n\n${'word '.repeat(index % 50)}\n`);
    }
    await user.ok('svc_commit', { message: 'many' });
    await user.ok('brain_evolution_start', {});
    for (let index = 0; index < CHANGES; index += 1) {
      const { commit } = await user.ok('brain_save', { name: `d0/f0.md`, content: `changed ${index}` });
      await user.ok('svc_citations_add', { commit, context: `change ${index}` });
      await user.ok('svc_resolution_track', { file: `d0/f0.md`, change: `kept ${index}` });
      await user.ok('brain_link', { from: 'hub', to: `f${index}` });
      await user.ok('brain_geo_store', { key: `k${index}`, data: { index } });
    }
    await user.ok('brain_evolution_insight', { insight: 'seen' });
    await user.ok('brain_evolution_end', {});
    for (let index = 0; index < BRANCHES; index += 1) await user.ok('svc_create_branch', { name: `side-${index}` });
    for (const name of ['svc', brain]) await user.ok('brain_switch', { name });

    let isOver = false;
    let written = 0;
    const writing = (async () => {
      for (; !isOver; written += 1) {
        await user.ok('brain_write', { brain, name: `later/w${written}`, content: 'x' });
        await user.ok('brain_link', { brain, from: 'later', to: `w${written}` });
      }
    })();
    await waitFor(() => existsSync(join(folder, 'later', 'w0.md')), { what: 'the first write' });
    const { path, commit } = await caller().ok('svc_brain_backup', { brain });
    const during = written;
    isOver = true;
    await writing;

    const there = await freshNode();
    mkdirSync(shelf(there), { recursive: true });
    copyFileSync(join(shelf(place), String(path)), join(shelf(there), String(path)));
    const operator = new Caller(there);
    expect(await operator.ok('svc_brain_restore', { path })).toMatchObject({ brain, commit, kept: null });
    const copy = brainFolder(there, brain);
    expect(headsOf(copy)).toBe(headsOf(folder));
    expect(git(copy, 'rev-parse', 'main^{tree}')).toBe(git(folder, 'rev-parse', 'main^{tree}'));
    expect(filesAt(copy, 'main').length).toBe(BACKUP_FILES);
    expect(await notedOf(operator, brain)).toEqual(await notedOf(user, brain));
    const { connections } = await operator.ok<{ connections: { to: string }[] }>('brain_connections', {
      in: brain,
      brain: 'later',
      depth: 1,
    });
    const { files } = await operator.ok<{ files: { file: string }[] }>('brain_list_files', {
      brain,
      category: 'later',
      limit: 1000,
    });
    // One moment: whatever came before what is there is there, and a link only after its file.
    const numbers = Array.from({ length: files.length }, (_, index) => index);
    expect(new Set(files.map(({ file }) => file))).toEqual(new Set(numbers.map((index) => `later/w${index}.md`)));
    expect([files.length, files.length - 1]).toContain(connections.length);
    const linked = numbers.slice(0, connections.length).map((index) => `w${index}`);
    expect(new Set(connections.map(({ to }) => to))).toEqual(new Set(linked));
    // Paths between brains are habits of workspaces.
    expect(await operator.ok('brain_synapses')).toMatchObject({ edges: 0 });
    assertSound(copy);
    report(
      `${BACKUP_FILES} files and their rows on a fresh node; ${files.length} of ${during} writes before the moment`,
    );
  },
  { timeoutMs: 600_000 },
);
