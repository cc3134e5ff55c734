/** What every change of a brain meets in the same way: a disk, a git or a queue that takes no more, a brain that is full. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RefusalCode } from '@svc/contract/codes.ts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';
import { leaveConflict } from '../../testing/brain-conflict.ts';
import { fillBrain, fullDatabase } from '../../testing/refusing-disk.ts';
import { MAX_WORKTREES } from '../brain/open-brain.ts';
import { worktreeName } from '../git/worktrees.ts';
import { QUEUE_LIMITS } from '../writer/queue.ts';

type Fields = Record<string, unknown>;

const NEW_ISLAND = { name: 'new', triggers: ['a'], content: 'b' };

/** Each change with arguments that work in a brain as `prepare` leaves it. */
const CHANGES: Readonly<Record<string, Fields>> = {
  svc_set_memory: { category: 'learnings', filename: 'first', content: 'longer' },
  svc_commit: { message: 'more' },
  svc_create_branch: { name: 'fresh', switch: true },
  svc_branch_auto: {},
  svc_branch_merge: { from: 'experiment', dryRun: false },
  svc_branch_delete: { name: 'experiment' },
  svc_branch_rename: { name: 'experiment', to: 'other' },
  svc_create_island: NEW_ISLAND,
  svc_bulk_create_islands: { islands: [NEW_ISLAND] },
  svc_delete_island: { name: 'ops' },
  svc_enable_island: { name: 'off' },
  svc_disable_island: { name: 'ops' },
  svc_update_island_triggers: { name: 'ops', triggers: ['z', 'longer'] },
  brain_write: { name: 'facts/answer', content: '42' },
  brain_save: { name: 'learnings/first', content: 'longer' },
  brain_delete_file: { name: 'learnings/first' },
  brain_remove: { name: 'learnings/first' },
  svc_memory_learn: { key: 'one', content: 'y' },
  svc_memory_clear: { what: 'learned' },
  svc_geometry_remember: { category: 'learnings', key: 'one', content: 'y' },
  svc_brain_backup: { path: 'kept' },
  svc_sync: {},
};

/** By the brain; their ids are what svc_conflict_resolve wants. */
const conflicts = new Map<string, string>();

const OF_ISLANDS = Object.keys(CHANGES).filter((tool) => tool.includes('island'));
const OF_MEMORY = ['svc_memory_learn', 'svc_memory_clear', 'svc_geometry_remember'];
const OF_FILES = ['svc_set_memory', 'brain_write', 'brain_save', 'brain_delete_file', 'brain_remove', ...OF_ISLANDS];

let bed: BrainTestBed;
let node: BrainNode;

beforeAll(async () => {
  bed = await openBrainTestBed();
  // Where there is nothing: what is refused here does not come to it.
  node = await bed.start({
    SVC_SYNC_ALLOW_FILE: 'on',
    SVC_SYNC_REMOTES: `origin=file://${join(bed.dataDir, 'r.git')}`,
  });
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

async function prepare(brain: string): Promise<void> {
  const call = (tool: string, args: Fields) => node.call(tool, { brain, ...args });
  await node.call('brain_switch', { name: brain, create: true });
  await call('svc_set_memory', { category: 'learnings', filename: 'first', content: 'x' });
  await call('svc_create_island', { name: 'ops', triggers: ['a'], content: 'b' });
  await call('svc_create_island', { name: 'off', triggers: ['a'], content: 'b' });
  await call('svc_disable_island', { name: 'off' });
  await call('svc_commit', { message: 'one' });
  conflicts.set(brain, await leaveConflict(node, brain));
  await call('svc_create_branch', { name: 'experiment' });
  await call('brain_write', { branch: 'experiment', name: 'more', content: 'b' });
  await call('svc_commit', { branch: 'experiment', message: 'two' });
  await call('brain_write', { name: 'dirty', content: 'not committed' });
}

function rows(code: RefusalCode, tools: readonly string[]): [tool: string, code: RefusalCode][] {
  return tools.map((tool) => [tool, code]);
}

async function codeOf(tool: string, where: Fields & { readonly brain: string }): Promise<unknown> {
  const settles = tool === 'svc_conflict_resolve' ? { id: conflicts.get(where.brain), take: 'theirs' } : {};
  const answer = await node.call(tool, { ...CHANGES[tool], ...settles, ...where });
  return answer['code'];
}

function gitPath(brain: string, ...parts: string[]): string {
  return join(bed.dataDir, 'brains', brain, '.git', ...parts);
}

describe('a database without room', () => {
  const brain = 'no-room';
  beforeAll(() => prepare(brain));

  test.each(rows('E_STATE_WRITE', [...OF_FILES, 'svc_brain_backup', 'svc_conflict_resolve']))(
    '%s refuses with %s',
    async (tool, code) => {
      await using _disk = await fullDatabase(bed.database);
      expect(await codeOf(tool, { brain })).toBe(code);
    },
  );
});

describe('a git that takes no change', () => {
  const brain = 'no-git';
  const branches = ['fresh', 'experiment', 'other', 'main'];
  beforeAll(async () => {
    await prepare(brain);
    for (const branch of branches) mkdirSync(gitPath(brain, 'refs', 'heads', `${branch}.lock`));
  });

  test.each(rows('E_STATE_WRITE', ['svc_create_branch', 'svc_branch_merge', 'svc_branch_rename', 'svc_branch_delete']))(
    '%s refuses with %s',
    async (tool, code) => {
      expect(await codeOf(tool, { brain })).toBe(code);
    },
  );
});

describe('a repository whose objects have no room', () => {
  const brain = 'no-objects';
  beforeAll(async () => {
    await prepare(brain);
    execFileSync('git', ['-C', join(bed.dataDir, 'brains', brain), 'gc', '--quiet', '--prune=now']);
    for (let prefix = 0; prefix < 256; prefix += 1) {
      const place = gitPath(brain, 'objects', prefix.toString(16).padStart(2, '0'));
      if (!existsSync(place)) writeFileSync(place, '');
    }
  });

  test.each(rows('E_STATE_WRITE', ['svc_commit', 'svc_branch_auto', 'brain_save']))(
    '%s refuses with %s',
    async (tool, code) => {
      expect(await codeOf(tool, { brain })).toBe(code);
    },
  );
});

describe('a brain that is full', () => {
  const brain = 'full';
  beforeAll(async () => {
    await prepare(brain);
    // Switched on, it becomes longer: what does not is taken by a full brain too.
    writeFileSync(join(bed.dataDir, 'brains', brain, 'islands', 'off.md'), '---\nw: &w false\nenabled: *w\n---\nB\n');
    fillBrain(bed.dataDir, brain);
    const isLeft = async () =>
      expect(await node.call('svc_branch_is_dirty', { brain })).toMatchObject({ left: [{ file: 'large.bin' }] });
    await vi.waitFor(isLeft, 30_000);
  });

  test.each(
    rows('E_QUOTA', [
      'svc_set_memory',
      'brain_write',
      'brain_save',
      'svc_conflict_resolve',
      ...OF_ISLANDS.filter((tool) => tool !== 'svc_delete_island'),
    ]),
  )('%s refuses with %s', async (tool, code) => {
    expect(await codeOf(tool, { brain })).toBe(code);
  });
});

describe('a branch for which too much waits', () => {
  const brain = 'crowded';
  const end = Promise.withResolvers<void>();
  let waiting: Promise<unknown> = Promise.resolve();
  beforeAll(async () => {
    await prepare(brain);
    const open = node.openBrains().find(({ context }) => context.name === brain) ?? expect.fail('it is not open');
    const queues = ['main', 'experiment'].map(async (branch) => {
      const writer = await open.writer(branch);
      if (!writer.ok) throw new Error(writer.code);
      const begun = Promise.withResolvers<void>();
      const wait = () =>
        writer.value.alone(Number.POSITIVE_INFINITY, () => {
          begun.resolve();
          return end.promise;
        });
      const first = wait();
      await begun.promise; // so that it is not among those that wait
      return [first, ...Array.from({ length: QUEUE_LIMITS.waiting }, wait)];
    });
    waiting = Promise.all((await Promise.all(queues)).flat());
  });
  afterAll(async () => {
    end.resolve();
    await waiting;
  });

  test.each(
    rows('E_BUSY', [
      ...OF_FILES,
      'svc_commit',
      'svc_create_branch',
      'svc_branch_auto',
      'svc_branch_merge',
      'svc_branch_delete',
      'svc_branch_rename',
      'svc_conflict_resolve',
    ]),
  )('%s refuses with %s', async (tool, code) => {
    expect(await codeOf(tool, { brain })).toBe(code);
  });
});

describe('a brain with as many working trees as there may be', () => {
  const brain = 'many';
  beforeAll(async () => {
    await prepare(brain);
    for (let index = 0; index < MAX_WORKTREES; index += 1) {
      await node.call('svc_create_branch', { brain, name: `b${index}` });
      if (index === 0) conflicts.set(brain, await leaveConflict(node, brain, { branch: 'b0' }));
      if (index > 0) await node.call('brain_write', { brain, branch: `b${index}`, name: 'x', content: 'dirty' });
    }
    await node.call('brain_write', { brain, branch: 'main', name: 'x', content: 'dirty' });
  });

  test.each(rows('E_LIMIT', [...OF_FILES, ...OF_MEMORY, 'svc_commit', 'svc_branch_auto', 'svc_sync']))(
    '%s refuses with %s',
    async (tool, code) => {
      expect(await codeOf(tool, { brain, branch: 'b0' })).toBe(code);
    },
  );

  test('svc_conflict_resolve refuses with E_LIMIT what is on such a branch', async () => {
    expect(await codeOf('svc_conflict_resolve', { brain })).toBe('E_LIMIT');
  });

  test.each<readonly [tool: string, args: Fields]>([
    ['svc_create_branch', {}],
    ['svc_switch_branch', { name: 'b0' }],
    ['svc_branch_merge', { into: 'b0' }],
  ])('%s refuses with E_LIMIT to open what %j names', async (tool, args) => {
    expect(await codeOf(tool, { brain, ...args })).toBe('E_LIMIT');
  });

  test.each(['svc_branch_delete', 'svc_branch_rename'])(
    '%s refuses with E_LIMIT a tree that is not open',
    async (tool) => {
      mkdirSync(join(bed.dataDir, 'worktrees', brain, worktreeName('b0')), { recursive: true });
      expect(await codeOf(tool, { brain, name: 'b0' })).toBe('E_LIMIT');
    },
  );
});

describe('what somebody else holds', () => {
  const brain = 'held';
  beforeAll(() => prepare(brain));

  test('a merge and a commit wait for the index of a person, and say so', async () => {
    const lock = gitPath(brain, 'index.lock');
    writeFileSync(lock, '');
    expect(await codeOf('svc_branch_merge', { brain })).toBe('E_BUSY');
    expect(await codeOf('svc_commit', { brain })).toBe('E_BUSY');
    rmSync(lock);
  });
});
