/** What all tools with an argument of a kind refuse in the same way: a row for each tool and code. */
import { join } from 'node:path';
import type { CallErrorCode, RefusalCode } from '@svc/contract/codes.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import { simpleGit } from 'simple-git';
import { beforeAll, expect, test } from 'vitest';
import { leaveConflict } from '../../testing/brain-conflict.ts';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { brainTools } from './all.ts';

type Fields = Record<string, unknown>;
type Code = RefusalCode | CallErrorCode;
type Tool = (typeof brainTools)[number];

interface Kind {
  /** It concerns tools that have this argument. */
  readonly argument: string;
  readonly args: Fields;
  readonly over?: Partial<Envelope>;
  /** Tools that have the argument and are refused for another reason first; other tests meet the code. */
  readonly not?: readonly string[];
}

const ABSENT = 'nobody-made-it';
const NOWHERE = 'f'.repeat(40);
const HASH = 'a'.repeat(64);
const ANONYMOUS: Partial<Envelope> = { operator: false, principal: 'anon:1', subject: {} };
const SOMEBODY: Partial<Envelope> = {
  operator: false,
  principal: 'tok:somebody',
  subject: { agentId: 'somebody', verified: true },
  session: 'b'.repeat(64),
};
/** A session that has `plain` on its stack to read in. */
const READER = 'c'.repeat(64);
/** Whole brains: FORBIDDEN to others. */
const OF_ADMINS = ['brain_delete', 'brain_rename'];
/** They want a remote, or a backup. */
const PARTICULAR = ['svc_sync', 'svc_sync_rebase', 'svc_sync_pullAny', 'svc_sync_pushAll', 'svc_brain_restore'];

const KINDS: Partial<Record<Code, Kind>> = {
  BRAIN_LOAD_FAIL: { argument: 'brain', args: { brain: ABSENT }, not: ['brain_connections'] },
  VAF_PATH_BLOCKED: { argument: 'file', args: { file: '../up' }, not: ['svc_conflicts'] },
  E_BRANCH_ABSENT: {
    argument: 'branch',
    args: { branch: ABSENT },
    not: ['svc_conflicts', 'svc_geometry_knows', 'brain_switch'],
  },
  E_REF_ABSENT: { argument: 'at', args: { at: NOWHERE } },
  UNAUTHORIZED: { argument: 'fence', args: {}, over: ANONYMOUS },
  FORBIDDEN: { argument: 'agentId', args: { agentId: 'somebody-else' }, over: SOMEBODY },
  E_LOCKED: { argument: 'fence', args: { brain: 'leased' }, over: SOMEBODY, not: OF_ADMINS },
  E_FENCED: { argument: 'fence', args: { brain: 'leased', fence: 999_999, agentId: 'holder' } },
  RLS_DENIED: { argument: 'fence', args: { brain: 'shut' }, over: SOMEBODY, not: OF_ADMINS },
  E_READ_ONLY: { argument: 'fence', args: { brain: 'plain' }, over: { session: READER }, not: OF_ADMINS },
  // Another branch than that which a person has taken the files of may go.
  E_BRAIN_DIVERTED: {
    argument: 'fence',
    args: { brain: 'diverted' },
    not: ['svc_branch_delete', 'svc_branch_rename'],
  },
  E_CONFLICT: { argument: 'ifMatch', args: { ifMatch: HASH } },
};

/** Of tools without an example, or whose example changes nothing. */
const PLAIN: Readonly<Record<string, Fields>> = {
  svc_branch_merge: { dryRun: false },
  svc_conflict_resolve: { take: 'theirs' },
  brain_get_file: { name: 'learnings/first' },
  brain_save: { name: 'learnings/first', content: 'y' },
  brain_delete_file: { name: 'learnings/first' },
  brain_remove: { name: 'learnings/first' },
  svc_storage_read: { path: 'learnings/first' },
  svc_storage_exists: { path: 'learnings' },
  svc_storage_list: { dir: 'learnings' },
  svc_storage_listRecursive: { dir: 'learnings' },
  svc_storage_cp: { src: 'learnings/first', dest: 'learnings/second' },
  svc_storage_rm: { path: 'learnings/first' },
};

const ROWS = brainTools.flatMap((tool) =>
  [...tool.refuses, ...tool.raises].flatMap((code) => {
    const kind = KINDS[code];
    if (kind === undefined || !(kind.argument in tool.input.shape)) return [];
    if ([...PARTICULAR, ...(kind.not ?? [])].includes(tool.name)) return [];
    return [[tool.name, code, tool, kind] as const];
  }),
);

/** By the brain. */
const conflicts = new Map<string, string>();

const CATEGORY_UP = { category: '../up', filename: 'x', query: 'x' };
const NAME_UP = { name: '../up' };
const PATH_UP = { path: '../up', dir: '../up', src: '../up', key: '../up' };
const NO_ISLAND = { name: ABSENT, triggers: ['a'] };

/** What only one tool or a few refuse so. */
const SINGLE: readonly (readonly [tool: string, code: Code, args: Fields])[] = [
  ['svc_get_memory', 'VAF_PATH_BLOCKED', CATEGORY_UP],
  ['svc_set_memory', 'VAF_PATH_BLOCKED', CATEGORY_UP],
  ['svc_search', 'VAF_PATH_BLOCKED', CATEGORY_UP],
  ['brain_list_files', 'VAF_PATH_BLOCKED', CATEGORY_UP],
  ['brain_read', 'VAF_PATH_BLOCKED', NAME_UP],
  ['brain_get_file', 'VAF_PATH_BLOCKED', NAME_UP],
  ['brain_write', 'VAF_PATH_BLOCKED', NAME_UP],
  ['brain_save', 'VAF_PATH_BLOCKED', NAME_UP],
  ['brain_delete_file', 'VAF_PATH_BLOCKED', NAME_UP],
  ['brain_remove', 'VAF_PATH_BLOCKED', NAME_UP],
  ['svc_storage_read', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_exists', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_list', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_listRecursive', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_write', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_cp', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_rm', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_storage_mkdir', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_brain_update_my_stuff', 'VAF_PATH_BLOCKED', PATH_UP],
  ['svc_disable_island', 'E_ISLAND_ABSENT', NO_ISLAND],
  ['svc_enable_island', 'E_ISLAND_ABSENT', NO_ISLAND],
  ['svc_delete_island', 'E_ISLAND_ABSENT', NO_ISLAND],
  ['svc_update_island_triggers', 'E_ISLAND_ABSENT', NO_ISLAND],
  ['brain_rename', 'VAF_INPUT_INVALID', { name: 'svc', to: 'other' }],
];

/** A PNG of 8 × 8 pixels. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAADElEQVR42mNgGB4AAADIAAGTvaWOAAAAAElFTkSuQmCC';

const bed = await bedOfFile();
const node = await bed.start();

async function prepare(brain: string): Promise<void> {
  await node.call('brain_switch', { name: brain, create: true });
  await node.call('svc_set_memory', { category: 'learnings', filename: 'first', content: 'x' });
  await node.call('svc_create_island', { name: 'ops', triggers: ['a'], content: 'b' });
  await node.call('svc_storage_write', { path: 'pictures/dot.png', content: DOT, encoding: 'base64' });
  await node.call('svc_commit', { message: 'one' });
  conflicts.set(brain, await leaveConflict(node, brain));
  await node.call('svc_create_branch', { name: 'experiment' });
}

beforeAll(async () => {
  for (const name of ['diverted', 'leased', 'shut', 'plain']) await prepare(name);
  await node.call('svc_lock', { action: 'acquire', agentId: 'holder', ttlMs: 600_000, brain: 'leased' });
  await node.call('brain_load', { brains: 'plain', type: 'public' }, { session: READER });
  const person = simpleGit({ baseDir: join(bed.dataDir, 'brains', 'diverted') });
  await person.raw('checkout', '--quiet', '--detach');
  for (const name of ['shut', 'kept-for-others'])
    bed.registry.setPolicy(`brain:${name}`, { writableBy: ['user:nobody'] });
});

function codeOf({ name, input, example }: Tool, { args, over }: Kind): Promise<unknown> {
  const known = Object.fromEntries(Object.entries(args).filter(([key]) => key in input.shape));
  const { brain = 'plain' } = known;
  const id = conflicts.get(typeof brain === 'string' ? brain : '') ?? 'cfl_none';
  const settled = name.startsWith('svc_conflict_') ? { id } : {};
  return node.call(name, { ...example, ...PLAIN[name], ...settled, ...known }, over).then(
    ({ code }) => code,
    (error: Error) => error.message,
  );
}

test.each(SINGLE)('%s refuses with %s what it alone takes', async (name, code, args) => {
  const tool = brainTools.find((one) => one.name === name) ?? expect.fail(name);
  expect(await codeOf(tool, { argument: '', args })).toBe(code);
});

test.each(['brain_push', 'brain_switch', 'brain_load'])('%s makes no brain for whom it may not', async (tool) => {
  const subject = { agentId: 'somebody', verified: true, roles: ['viewer'] };
  const make = (name: string, over: Partial<Envelope>) =>
    node.call(tool, { ...(tool === 'brain_load' ? { brains: name } : { name }), create: true }, over);
  await expect(make('new-one', { ...SOMEBODY, subject })).rejects.toThrow('FORBIDDEN');
  await expect(make('kept-for-others', SOMEBODY)).rejects.toThrow('RLS_DENIED');
});

test('there are rows for most tools', () => {
  expect(ROWS.length).toBeGreaterThan(150);
});

test.each(ROWS)('%s refuses with %s', async (_name, code, tool, kind) => {
  expect(await codeOf(tool, kind)).toBe(code);
});
