/** Disks that are full, read-only or say no, and people who remove what is in use. */
import { cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { assertSound, git } from '../instruments/git.ts';
import { makeImmutable, makeReadOnly, mountSmallDisk, type SmallDisk } from '@svc/testing/small-disk.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder, logsOf, type TargetPlace } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const DISK_MIB = 160;

let disk: SmallDisk | null = null;

const target = ownTarget(
  async () => {
    disk = mountSmallDisk(DISK_MIB);
    const environment: Record<string, string> = disk === null ? {} : { SVC_DATA_DIR: join(disk.path, 'data') };
    return { environment, dispose: async () => disk?.dispose() };
  },
  { only: 'embedded', fresh: {} },
);

const on = { on: target } as const;

/** Every tool that changes something, with arguments that work on a good disk. */
function changes(): readonly (readonly [string, Fields])[] {
  const name = newName('n');
  return [
    ['brain_write', { name: `a/${name}`, content: 'x'.repeat(20_000) }],
    ['svc_set_memory', { category: 'learnings', filename: name, content: 'x'.repeat(20_000) }],
    ['svc_storage_write', { path: `s/${name}`, content: 'x'.repeat(20_000) }],
    ['svc_storage_cp', { src: 'kept', dest: `c/${name}` }],
    ['svc_storage_mkdir', { dir: `d/${name}` }],
    ['svc_brain_update_my_stuff', { key: name, content: 'x'.repeat(20_000) }],
    ['svc_commit', { message: name }],
    ['brain_save', { message: name }],
    ['svc_create_branch', { name }],
    ['svc_branch_auto', {}],
    ['svc_switch_branch', { name: 'side' }],
    ['brain_push', { name, create: true }],
    ['brain_switch', { name, create: true }],
    ['svc_create_island', { name: `i-${name}`, triggers: ['t'], content: 'x'.repeat(20_000) }],
    [
      'svc_bulk_create_islands',
      { islands: [1, 2].map((n) => ({ name: `b${n}-${name}`, triggers: ['t'], content: 'x'.repeat(20_000) })) },
    ],
  ];
}

/** Prepares a brain with one committed file, one changed file and a branch that nobody has opened. */
async function prepare(user: Caller): Promise<void> {
  await user.ok('brain_write', { name: 'kept', content: 'kept' });
  await user.ok('svc_commit', { message: 'first' });
  await user.ok('svc_create_branch', { name: 'side' });
  await user.ok('brain_write', { name: 'changed', content: 'changed' });
}

async function problemCodes(user: Caller): Promise<string[]> {
  const { problems } = await user.ok<{ problems: { code: string; text: string }[] }>('svc_health');
  return problems.map(({ code, text }) => `${code}: ${text}`);
}

async function expectReads(user: Caller, brain: string): Promise<void> {
  expect(await user.ok('brain_read', { brain, name: 'kept' })).toMatchObject({ content: 'kept' });
  expect(await user.ok('brain_list_files', { brain })).toMatchObject({ files: expect.anything() as unknown });
  expect(codeOf(await user.call('svc_search', { brain, query: 'changed' }))).toBeNull();
}

/** Each change is refused with a code, or did what it says; answers those that were refused by the disk. */
async function tryChanges(user: Caller, brain: string): Promise<Map<string, Reply>> {
  const refused = new Map<string, Reply>();
  for (const [tool, args] of changes()) {
    const reply = await user.call(
      tool,
      tool.startsWith('brain_push') || tool === 'brain_switch' ? args : { brain, ...args },
    );
    const code = codeOf(reply);
    expect([tool, code, reply.status], reply.text).not.toEqual([tool, 'INTERNAL', 500]);
    if (code === 'E_STATE_WRITE') refused.set(tool, reply);
    else expect([tool, code], reply.text).toEqual([tool, null]);
  }
  await user.ok('brain_switch', { name: brain });
  return refused;
}

/** Nothing of what failed is left: no drafts, no records of work under way, no locks. */
function leftovers({ dataDir }: TargetPlace): string[] {
  const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const journals = readdirSync(join(dataDir, 'journal')).map((name) => join('journal', name));
  const drafts = names.filter(
    (name) =>
      !name.startsWith('database') &&
      /(?:^|\/)\.svc-|\.lock$|\.git\/svc\/|\.tmp$/.test(name) &&
      name !== 'service.lock',
  );
  return [...journals, ...drafts];
}

async function expectAllWell(user: Caller, brain: string, place: TargetPlace): Promise<void> {
  await waitFor(async () => (await problemCodes(user)).every((problem) => !problem.startsWith('E_STATE_WRITE')), {
    everyMs: 200,
    what: 'health to be well again',
  });
  for (const [tool, args] of changes().filter(([name]) => name !== 'svc_switch_branch')) {
    const reply = await user.call(tool, args);
    expect([tool, codeOf(reply)], reply.text).toEqual([tool, null]);
  }
  await user.ok('brain_switch', { name: brain });
  assertSound(brainFolder(place, brain));
  expect(logsOf(place)).not.toContain('an operation for another process failed');
}

verifies(
  'disk:full',
  async ({ fresh, place, caller }) => {
    if (disk === null) return;
    const { user, brain } = await fresh();
    await prepare(user);
    disk.fill();
    onTestFinished(() => disk?.empty());
    expect(disk.freeKib()).toBe(0);
    const refused = await tryChanges(user, brain);
    expect([...refused.keys()]).toEqual(
      expect.arrayContaining([
        'brain_write',
        'svc_commit',
        'svc_create_branch',
        'svc_branch_auto',
        'brain_push',
        'svc_bulk_create_islands',
      ]),
    );
    for (const reply of refused.values()) expect(reply.text).toContain('no space');
    await expectReads(user, brain);
    expect(await problemCodes(user)).toContainEqual(expect.stringMatching(/^E_STATE_WRITE: .*free space 0 MiB/));
    await expect.poll(async () => (await fetch(`${caller().url()}/ready`)).status).toBe(200);
    expect(leftovers(place)).toEqual([]);
    disk.empty();
    await expectAllWell(user, brain, place);
  },
  on,
);

verifies(
  'disk:read-only',
  async ({ fresh, place }) => {
    if (disk === null) return;
    const { user, brain } = await fresh();
    await prepare(user);
    const end = makeReadOnly(place.dataDir);
    let isOver = false;
    onTestFinished(() => (isOver ? undefined : end()));
    const refused = await tryChanges(user, brain);
    expect(refused.size).toBeGreaterThan(6);
    for (const reply of refused.values()) expect(reply.text).toContain('read-only');
    await expectReads(user, brain);
    expect(await problemCodes(user)).toContainEqual(expect.stringMatching(/^E_STATE_WRITE: .*read-only/));
    end();
    isOver = true;
    await expectAllWell(user, brain, place);
    expect(leftovers(place)).toEqual([]);
  },
  on,
);

verifies(
  'disk:permission',
  async ({ fresh, place }) => {
    if (disk === null) return;
    const { user, brain } = await fresh();
    await prepare(user);
    const end = makeImmutable(join(brainFolder(place, brain), 'kept.md'));
    let isOver = false;
    onTestFinished(() => (isOver ? undefined : end()));
    const refused = await user.call('brain_write', { name: 'kept', content: 'new' });
    expect(codeOf(refused)).toBe('E_STATE_WRITE');
    expect(refused.text).toContain('permission');
    expect(codeOf(await user.call('brain_delete_file', { name: 'kept' }))).toBe('E_STATE_WRITE');
    expect(codeOf(await user.call('svc_storage_rm', { path: 'kept' }))).toBe('E_STATE_WRITE');
    await expectReads(user, brain);
    expect(await problemCodes(user)).toContainEqual(expect.stringMatching(`^E_STATE_WRITE: ${brain}: .*permission`));
    expect(leftovers(place)).toEqual([]);
    await user.ok('brain_write', { name: 'other', content: 'goes on' });
    end();
    isOver = true;
    await user.ok('brain_write', { name: 'kept', content: 'new' });
    expect(await problemCodes(user)).toEqual([]);
  },
  on,
);

verifies(
  'disk:index-lock',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    await prepare(user);
    const folder = brainFolder(place, brain);
    const lock = join(folder, '.git', 'index.lock');
    writeFileSync(lock, '');
    const blocked = await user.call('svc_commit', { message: 'while it is locked' });
    expect([null, 'E_BUSY'], blocked.text).toContain(codeOf(blocked));
    expect(existsSync(lock)).toBe(true);
    await user.ok('brain_write', { name: 'meanwhile', content: 'written' });
    rmSync(lock);
    await user.ok('svc_commit', { message: 'after' });
    expect(git(folder, 'status', '--porcelain')).toBe('');
    assertSound(folder);
  },
  on,
);

verifies(
  'disk:folder-removed',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    const other = await fresh();
    await prepare(user);
    const folder = brainFolder(place, brain);
    const backup = join(place.dataDir, '..', `backup-${brain}`);
    cpSync(folder, backup, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    for (const [tool, args] of [
      ...changes().filter(([name]) => !name.startsWith('brain_push') && name !== 'brain_switch'),
      ['brain_read', { name: 'kept' }],
      ['brain_list_files', {}],
      ['svc_search', { query: 'kept' }],
      ['svc_branch_is_dirty', {}],
      ['svc_list_branches', {}],
      ['svc_get_islands', {}],
    ] as const) {
      const reply = await user.call(tool, { brain, ...args });
      expect([tool, codeOf(reply), reply.status], reply.text).toEqual([tool, 'BRAIN_LOAD_FAIL', 404]);
    }
    expect(existsSync(folder)).toBe(false);
    expect(await problemCodes(other.user)).toContainEqual(expect.stringMatching(`^BRAIN_LOAD_FAIL: ${brain}: `));
    await other.user.ok('brain_write', { name: 'x', content: 'x' });

    renameSync(backup, folder);
    expect(await user.ok('brain_read', { brain, name: 'changed' })).toMatchObject({ content: 'changed' });
    await user.ok('brain_write', { brain, name: 'after', content: 'after' });
    await user.ok('svc_commit', { brain, message: 'after' });
    expect(await problemCodes(user)).toEqual([]);
    assertSound(folder);
  },
  on,
);

verifies(
  'disk:repository-damaged',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    await prepare(user);
    const folder = brainFolder(place, brain);
    const aside = join(place.dataDir, '..', `git-${brain}`);
    const expectReason = async (reason: RegExp): Promise<void> => {
      for (const [tool, args] of [
        ['brain_read', { name: 'kept' }],
        ['brain_write', { name: 'kept', content: 'two' }],
        ['svc_commit', { message: 'm' }],
      ] as const) {
        const reply = await user.call(tool, { brain, ...args });
        expect([tool, codeOf(reply), reply.status], reply.text).toEqual([tool, 'BRAIN_LOAD_FAIL', 503]);
        expect(reply.body.error?.message).toMatch(reason);
        expect(reply.text).not.toContain(place.dataDir);
      }
      expect(await problemCodes(user)).toContainEqual(expect.stringMatching(`^BRAIN_LOAD_FAIL: ${brain}: `));
    };
    renameSync(join(folder, '.git'), aside);
    await expectReason(/^Failed to load brain: .*\.git is missing/);
    renameSync(aside, join(folder, '.git'));
    expect(await user.ok('brain_read', { brain, name: 'kept' })).toMatchObject({ content: 'kept' });

    const objects = join(folder, '.git', 'objects');
    renameSync(objects, aside);
    await user.call('svc_commit', { brain, message: 'finds it out' });
    await expectReason(/^Failed to load brain: \S/);
    renameSync(aside, objects);
    await user.ok('brain_write', { brain, name: 'kept', content: 'two' });
    await user.ok('svc_commit', { brain, message: 'whole again' });
    assertSound(folder);
  },
  on,
);
