import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sweepHomes } from '../store/file-homes.ts';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

type Content = Record<string, unknown>;

const bed = await bedOfFile();
let node = await bed.start();
let brains = 0;
let brain = '';

beforeAll(async () => {
  bed.registry.grant('boss', 'acme', 'admin');
});

/** Made by an editor of acme, so that it is at home there. */
beforeEach(async () => {
  brains += 1;
  brain = `b${brains}`;
  await EDITOR.ok('brain_push', { name: brain, create: true });
  await EDITOR.ok('brain_write', { brain, name: 'a', content: 'kept' });
});

const caller = (subject: Subject | null) =>
  testCaller(() => node, subject === null ? null : { ...subject, verified: true });

const EDITOR = caller({ userId: 'ed', agentId: 'ed', workspace: 'acme', roles: ['editor'] });
/** Acts in its own workspace now, and is an admin of acme. */
const BOSS = caller({ userId: 'boss', agentId: 'boss', workspace: 'else', roles: ['editor'] });
const STRANGER = caller({ userId: 'mal', agentId: 'mal', workspace: 'default', roles: ['admin'] });
const OPERATOR = caller(null);

const inData = (...parts: string[]): string => join(bed.dataDir, ...parts);

async function rows(table: string): Promise<number> {
  const sql = `SELECT count(*)::int AS n FROM brain.${table} WHERE brain = $1`;
  const [found] = await poolClient(bed.database.pool).$queryRawUnsafe<{ n: number }[]>(sql, brain);
  return found?.n ?? -1;
}

describe('where things are at home', () => {
  const homeOf = (resource: string) =>
    createOperationClient({ bus: node.bus, clock: systemClock }, BRAIN, 'habitat').home({ resource });

  test('a file is where who made it works, also after others removed and made it again', async () => {
    await STRANGER.ok('brain_write', { brain, name: 'theirs', content: 'x' });
    await OPERATOR.ok('brain_write', { brain, name: 'free', content: 'x' });
    expect(await homeOf(`brain:${brain}`)).toEqual({ own: 'acme', brain: 'acme' });
    expect(await homeOf(`brain:${brain}/theirs.md`)).toEqual({ own: 'default', brain: 'acme' });
    for (const name of ['a', 'free']) {
      expect(await homeOf(`brain:${brain}/${name}.md`)).toEqual({ own: null, brain: 'acme' });
      await STRANGER.ok('brain_delete_file', { brain, name });
      await STRANGER.ok('brain_write', { brain, name, content: 'mine now' });
      expect(await homeOf(`brain:${brain}/${name}.md`)).toEqual({ own: null, brain: 'acme' });
    }
    await EDITOR.ok('brain_delete_file', { brain, name: 'theirs' });
    await EDITOR.ok('brain_write', { brain, name: 'theirs', content: 'again' });
    expect(await homeOf(`brain:${brain}/theirs.md`)).toMatchObject({ own: 'default' });
    expect(await homeOf('brain:nowhere')).toEqual({ own: null, brain: null });
  });

  test('what is on another branch is at home where it is there; names and processes change nothing', async () => {
    await EDITOR.ok('svc_create_branch', { brain, name: 'side', from: 'main' });
    await EDITOR.ok('brain_write', { brain, branch: 'main', name: 'later', content: 'x' });
    await STRANGER.ok('brain_write', { brain, branch: 'side', name: 'later', content: 'y' });
    expect(await homeOf(`brain:${brain}/later.md`)).toMatchObject({ own: null });
    await STRANGER.ok('brain_write', { brain, branch: 'side', name: 'new', content: 'y' });
    await BOSS.ok('brain_rename', { name: brain, to: `${brain}-new` });
    await node.stop();
    node = await bed.start();
    expect(await homeOf(`brain:${brain}-new/new.md`)).toEqual({ own: 'default', brain: 'acme' });
  });

  test('that a file was there is forgotten long after it is gone, and not while it is there', async () => {
    for (const name of ['gone', 'there']) await STRANGER.ok('brain_write', { brain, name, content: 'x' });
    await EDITOR.ok('brain_delete_file', { brain, name: 'gone' });
    const client = poolClient(bed.database.pool);
    await sweepHomes(client, 90);
    expect(await homeOf(`brain:${brain}/gone.md`)).toMatchObject({ own: 'default' });
    await client.$executeRawUnsafe(`UPDATE brain.brain_file_homes SET at = now() - interval '100 days'`);
    await sweepHomes(client, 90);
    expect(await homeOf(`brain:${brain}/gone.md`)).toMatchObject({ own: null });
    expect(await homeOf(`brain:${brain}/there.md`)).toMatchObject({ own: 'default' });
  });

  test('an island is where all of its name are', async () => {
    const name = `island-${brain}`;
    expect(await homeOf(`_island:${name}`)).toMatchObject({ own: null });
    await STRANGER.ok('svc_create_island', { brain, name, content: 'x' });
    expect(await homeOf(`_island:${name}`)).toMatchObject({ own: 'default' });
    await EDITOR.ok('svc_create_island', { brain: 'svc', name, content: 'x' });
    expect(await homeOf(`_island:${name}`)).toMatchObject({ own: null });
  });

  test('a write that comes to nothing notes nothing', async () => {
    await STRANGER.no('brain_write', { brain, name: 'never', content: 'x', ifMatch: 'f'.repeat(64) });
    await EDITOR.ok('brain_write', { brain, name: 'never', content: 'x' });
    expect(await homeOf(`brain:${brain}/never.md`)).toMatchObject({ own: null });
  });
});

describe('how many brains', () => {
  const make = (who: typeof EDITOR, name: string) => who.no('brain_push', { name, create: true });
  const others = (n: number) => caller({ userId: `o${n}`, agentId: `o${n}`, workspace: 'full', roles: ['editor'] });

  test('a workspace has, and a family makes in all its workspaces, before the node is asked', async () => {
    const family = 'root';
    const maker = (n: number) =>
      caller({ userId: `m${n}`, agentId: `m${n}`, workspace: `w${n}`, roles: ['admin'], family });
    for (let n = 0; n < 16; n += 1) await maker(n % 4).ok('brain_push', { name: `fam-${n}`, create: true });
    expect(await make(maker(9), 'fam-16')).toMatchObject({
      code: 'E_QUOTA',
      limit: 16,
      error: expect.stringContaining('spawned'),
    });
    for (let n = 0; n < 16; n += 1) await others(n).ok('brain_push', { name: `full-${n}`, create: true });
    expect(await make(others(99), 'full-16')).toMatchObject({
      code: 'E_QUOTA',
      limit: 16,
      error: expect.stringContaining('workspace full'),
    });
    const ways = [
      ['brain_switch', { name: 'full-16', create: true }],
      ['brain_load', { brains: 'full-16', create: true }],
    ] as const;
    for (const [tool, args] of ways) expect(await others(99).no(tool, args)).toMatchObject({ code: 'E_QUOTA' });
    await OPERATOR.ok('brain_push', { name: 'by-operator', create: true });
    bed.registry.grant('o0', 'full', 'admin');
    const admin = caller({ userId: 'o0', agentId: 'o0', workspace: 'full', roles: ['admin'] });
    await admin.ok('brain_delete', { name: 'full-3', confirm: 'full-3' });
    await others(99).ok('brain_push', { name: 'full-16', create: true });
  });
});

describe('the lease', () => {
  test('is held for at most five minutes by who has no role where the brain is at home, and says so', async () => {
    const now = Date.now();
    const held = await STRANGER.ok('svc_lock', { brain, action: 'acquire', ttlMs: 3_600_000 });
    expect(held).toMatchObject({ heldAtMostMs: 300_000 });
    expect(Number(held['expiresAt']) - now).toBeLessThan(310_000);
    const again = await STRANGER.ok('svc_lock', { brain, action: 'acquire', ttlMs: 3_600_000, token: held['token'] });
    expect(again).toMatchObject({ refreshed: true, expiresAt: held['expiresAt'] });
    expect(await EDITOR.no('brain_write', { brain, name: 'x', content: 'x' })).toMatchObject({ code: 'E_LOCKED' });
  });

  test('may be forced by an admin of that home, wherever it acts, and by nobody else but operators', async () => {
    await STRANGER.ok('svc_lock', { brain, action: 'acquire' });
    expect(await EDITOR.no('svc_lock', { brain, action: 'force' })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await STRANGER.no('svc_lock', { brain, action: 'force' })).toMatchObject({ code: 'FORBIDDEN' });
    expect(await BOSS.ok('svc_lock', { brain, action: 'force' })).toMatchObject({ forceReleased: true });
    const held = await EDITOR.ok('svc_lock', { brain, action: 'acquire', ttlMs: 3_600_000 });
    expect(held).not.toHaveProperty('heldAtMostMs');
    expect(Number(held['expiresAt']) - Date.now()).toBeGreaterThan(3_000_000);
    expect(await OPERATOR.ok('svc_lock', { brain, action: 'force' })).toMatchObject({ forceReleased: true });
  });

  test('needs the right to write at the root of the brain', async () => {
    bed.registry.setPolicy(`brain:${brain}`, { writableBy: ['user:boss'] });
    expect(await EDITOR.no('svc_lock', { brain, action: 'acquire' })).toEqual({ code: 'RLS_DENIED' });
  });
});

describe('a deleted brain', () => {
  test('is gone for everybody, kept whole, and comes back by what the answer says', async () => {
    await EDITOR.ok('svc_commit', { brain, message: 'state' });
    await EDITOR.ok('svc_create_branch', { brain, name: 'side/one', switch: true });
    await EDITOR.ok('brain_write', { brain, branch: 'side/one', name: 'dirty', content: 'not committed' });
    await EDITOR.ok('brain_push', { name: brain, branch: 'side/one' });
    const args = { name: brain, confirm: brain };
    for (const who of [EDITOR, STRANGER]) expect(await who.no('brain_delete', args)).toEqual({ code: 'FORBIDDEN' });
    expect(await BOSS.no('brain_delete', { ...args, confirm: 'other' })).toEqual({ code: 'VAF_INPUT_INVALID' });
    const keyed = { idempotencyKey: brain };
    const done = await BOSS.ok('brain_delete', args, keyed);
    expect(done).toMatchObject({ deleted: true, name: brain });
    expect(await BOSS.ok('brain_delete', args, keyed)).toMatchObject({ kept: done['kept'] });
    expect(await BOSS.no('brain_delete', args)).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect(await EDITOR.no('brain_read', { brain, name: 'a' })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect((await EDITOR.ok('brain_stack'))['stack']).not.toContain(brain);
    expect((await EDITOR.ok('brain_list'))['names']).not.toContain(brain);
    for (const table of ['brain_files', 'brain_leases', 'brain_owners', 'brain_homes', 'brain_moves'])
      expect([table, await rows(table)]).toEqual([table, 0]);
    for (const kind of ['brains', 'worktrees', 'cache']) expect(existsSync(inData(kind, brain))).toBe(false);
    const kept = inData(String(done['kept']));
    expect(readFileSync(join(kept, 'worktrees', 'side+one', 'dirty.md'), 'utf8')).toBe('not committed');
    // As the answer says.
    for (const command of String(done['restore']).matchAll(/mv (\S+) (\S+?);/g))
      renameSync(inData(String(command[1])), inData(String(command[2])));
    renameSync(join(kept, 'worktrees'), inData('worktrees', brain));
    expect(await EDITOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'kept' });
    const dirty = await EDITOR.ok('brain_read', { brain, branch: 'side/one', name: 'dirty' });
    expect(dirty).toMatchObject({ content: 'not committed', dirty: true });
    // At home where it was.
    expect(await STRANGER.no('brain_delete', args)).toEqual({ code: 'FORBIDDEN' });
    expect(await BOSS.ok('brain_delete', args)).toMatchObject({ deleted: true });
  });

  test('leaves its name to those whom its boundaries admit', async () => {
    bed.registry.setPolicy(`brain:${brain}/hr`, { readableBy: ['role:editor'], container: 'acme' });
    await BOSS.ok('brain_delete', { name: brain, confirm: brain });
    expect(await STRANGER.no('brain_push', { name: brain, create: true })).toEqual({ code: 'RLS_DENIED' });
    expect(existsSync(inData('brains', brain))).toBe(false);
    expect(await EDITOR.ok('brain_push', { name: brain, create: true })).toMatchObject({ created: true });
    expect(await EDITOR.no('brain_read', { brain, name: 'a' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  });

  test('has new handles under an old name', async () => {
    bed.registry.setPolicy(`brain:${brain}`, { mask: ['secret'] });
    const heads = async () => (await EDITOR.ok('svc_list_branches', { brain }))['branches'] as Content[];
    const before = (await heads())[0]?.['commit'];
    const at = inData('brains', brain);
    const saved = inData(`${brain}-copy`);
    execFileSync('cp', ['-a', at, saved]);
    await OPERATOR.ok('brain_delete', { name: brain, confirm: brain });
    await EDITOR.ok('brain_push', { name: brain, create: true });
    // The same history, made again by a guesser.
    await node.stop();
    rmSync(at, { recursive: true });
    renameSync(saved, at);
    node = await bed.start();
    expect((await heads())[0]?.['commit']).not.toBe(before);
  });

  test('waits for nobody who holds its lease, and never is the default one', async () => {
    await EDITOR.ok('svc_lock', { brain, action: 'acquire' });
    expect(await BOSS.no('brain_delete', { name: brain, confirm: brain })).toMatchObject({ code: 'E_LOCKED' });
    expect(await EDITOR.ok('brain_write', { brain, name: 'b', content: 'goes on' })).toMatchObject({ created: true });
    const refused = await OPERATOR.no('brain_delete', { name: 'svc', confirm: 'svc' });
    expect(refused).toEqual({ code: 'VAF_INPUT_INVALID' });
  });

  test('takes along what others are writing at that moment, or refuses it', async () => {
    const writes = Array.from({ length: 40 }, async (_, index) => {
      const name = `w${index}.md`;
      const written = await EDITOR.ok('brain_write', { brain, name, content: name }).catch(
        (error: Error) => error.message,
      );
      return { name, isThere: typeof written === 'object' && 'saved' in written, said: written };
    });
    const done = await OPERATOR.ok('brain_delete', { name: brain, confirm: brain });
    const outcomes = await Promise.all(writes);
    for (const { name, isThere, said } of outcomes) {
      expect([name, existsSync(inData(String(done['kept']), 'brain', name))]).toEqual([name, isThere]);
      if (!isThere) expect(said).toBe('BRAIN_LOAD_FAIL');
    }
  });

  test('that a killed process decided on and did not move goes when the next one starts', async () => {
    await node.stop();
    const client = poolClient(bed.database.pool);
    const values = `('${brain}', NULL, '2026-${brain}', 'boss', now())`;
    await client.$executeRawUnsafe(`INSERT INTO brain.brain_moves (brain, "to", folder, by, at) VALUES ${values}`);
    // Part of it was moved.
    mkdirSync(inData('backups', 'deleted', `2026-${brain}`), { recursive: true });
    node = await bed.start();
    expect(existsSync(inData('backups', 'deleted', `2026-${brain}`, 'brain', 'a.md'))).toBe(true);
    expect(await EDITOR.no('brain_read', { brain, name: 'a' })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect(await rows('brain_moves')).toBe(0);
  });

  test('is refused when the disk would not take it, and nothing changed', async () => {
    const deleted = inData('backups', 'deleted');
    mkdirSync(deleted, { recursive: true });
    renameSync(deleted, `${deleted}-away`);
    writeFileSync(deleted, 'in the way');
    try {
      expect(await BOSS.no('brain_delete', { name: brain, confirm: brain })).toMatchObject({ code: 'E_STATE_WRITE' });
    } finally {
      rmSync(deleted);
      renameSync(`${deleted}-away`, deleted);
    }
    expect(await EDITOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'kept' });
    expect(readdirSync(inData('brains')).filter((name) => name.startsWith('.svc-'))).toEqual([]);
  });
});

describe('a renamed brain', () => {
  test('goes on under its new name with its branches, sessions, boundaries and handles', async () => {
    const to = `${brain}-new`;
    bed.registry.setPolicy(`brain:${brain}/hr`, { readableBy: ['user:boss'], writableBy: ['user:boss'] });
    await BOSS.ok('brain_write', { brain, name: 'hr/pay', content: 'secret' });
    await EDITOR.ok('svc_create_branch', { brain, name: 'side', switch: true });
    await EDITOR.ok('brain_write', { brain, branch: 'side', name: 'dirty', content: 'not committed' });
    const { commit } = ((await EDITOR.ok('svc_list_branches', { brain }))['branches'] as Content[])[0] ?? {};
    expect(await STRANGER.no('brain_rename', { name: brain, to })).toEqual({ code: 'FORBIDDEN' });
    expect(await BOSS.no('brain_rename', { name: brain, to: 'svc' })).toMatchObject({ code: 'E_DUPLICATE' });
    expect(await BOSS.ok('brain_rename', { name: brain, to })).toMatchObject({ name: to, from: brain, boundaries: 1 });
    expect(await EDITOR.no('brain_read', { brain, name: 'a' })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect((await EDITOR.ok('brain_stack'))['entries']).toContainEqual({ brain: to, branch: 'side', type: 'private' });
    expect(await EDITOR.ok('brain_read', { brain: to, branch: 'main', name: 'a' })).toMatchObject({ content: 'kept' });
    expect(await EDITOR.ok('brain_read', { brain: to, name: 'dirty' })).toMatchObject({ content: 'not committed' });
    expect(await EDITOR.no('brain_read', { brain: to, branch: 'main', name: 'hr/pay' })).toMatchObject({
      code: 'E_FILE_ABSENT',
    });
    expect(await BOSS.ok('brain_read', { brain: to, branch: 'main', name: 'hr/pay' })).toMatchObject({
      content: 'secret',
    });
    const [head] = (await EDITOR.ok('svc_list_branches', { brain: to }))['branches'] as Content[];
    expect(head).toMatchObject({ commit });
    expect(await EDITOR.ok('brain_save', { brain: to, branch: 'side' })).toMatchObject({ committed: true });
    // The old name keeps its boundaries: a stranger's brain would inherit them.
    expect(await STRANGER.no('brain_push', { name: brain, create: true })).toEqual({ code: 'RLS_DENIED' });
    expect(await BOSS.ok('brain_rename', { name: to, to: brain })).toMatchObject({ name: brain });
  });

  test('that somebody else holds keeps its name, and the other one is as free as before', async () => {
    const to = `${brain}-new`;
    bed.registry.setPolicy(`brain:${brain}/hr`, { readableBy: ['user:boss'], writableBy: ['user:boss'] });
    await EDITOR.ok('svc_lock', { brain, action: 'acquire' });
    expect(await BOSS.no('brain_rename', { name: brain, to })).toMatchObject({ code: 'E_LOCKED' });
    expect(await STRANGER.ok('brain_push', { name: to, create: true })).toMatchObject({ created: true });
  });
});
