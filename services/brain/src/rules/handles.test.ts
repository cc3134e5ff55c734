import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';
import { ID_FIELDS } from '../brain/shown-ids.ts';
import { brainTools } from '../tools/all.ts';

type Content = Record<string, unknown>;

let bed: BrainTestBed;
let node: BrainNode;
const events: { name: string; payload: Content }[] = [];
let brains = 0;
let brain = '';

beforeAll(async () => {
  bed = await openBrainTestBed();
  const remote = join(bed.dataDir, 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  node = await bed.start({ SVC_SYNC_ALLOW_FILE: '1', SVC_SYNC_REMOTES: `origin=file://${remote}` });
  await node.bus.subscribe(SUBJECTS.events('brain'), (payload) => {
    for (const { event } of (JSON.parse(payload) as EventBatch).events)
      events.push({ name: event.name, payload: event.payload });
  });
});

afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

beforeEach(async () => {
  brains += 1;
  brain = `h${brains}`;
  await OPERATOR.ok('brain_push', { name: brain, create: true });
});

const caller = (subject: Subject | null) => testCaller(() => node, subject);

const ADA = caller({ userId: 'ada', workspace: 'acme', roles: ['admin'] });
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });
const OPERATOR = caller(null);
const ADMINS = { readableBy: ['role:admin'], writableBy: ['role:admin'], container: 'acme' };

function git(...args: string[]): string {
  return execFileSync('git', ['-C', join(bed.dataDir, 'brains', brain), ...args], { encoding: 'utf8' }).trim();
}

/** Ids of everything that a commit of this brain names: commits, trees, blobs. */
function realIds(): string[] {
  const objects = git('cat-file', '--batch-check=%(objectname) %(objecttype)', '--batch-all-objects').split('\n');
  return objects.filter((line) => !line.endsWith(' blob')).map((line) => line.slice(0, 40));
}

test('every field that a tool declares to be the id of a commit is one that is renamed for whom something is hidden', () => {
  const declared = new Set<string>();
  const collect = (schema: unknown, name: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { pattern, properties, ...rest } = schema as { pattern?: string; properties?: Record<string, unknown> };
    if (pattern === '^[0-9a-f]{40}$') declared.add(name);
    for (const [key, inside] of Object.entries(properties ?? {})) collect(inside, key);
    for (const inside of Object.values(rest)) {
      for (const one of Array.isArray(inside) ? inside : [inside]) collect(one, name);
    }
  };
  for (const tool of brainTools) collect(z.toJSONSchema(tool.output, { io: 'output' }), '');
  expect(declared.size).toBeGreaterThan(4);
  expect([...declared].filter((field) => !ID_FIELDS.has(field))).toEqual([]);
});

test('no answer and no event names a commit or a tree as git does to whom something is hidden', async () => {
  const policies: [string, object][] = [
    [`brain:${brain}/people`, { mask: ['consents'] }],
    [`brain:${brain}/hr`, ADMINS],
  ];
  for (const [resource, policy] of policies) bed.registry.setPolicy(resource, policy);
  const answers: unknown[] = [];
  const ask = async (tool: string, args: Content): Promise<Content> => {
    const answer = await BOB.ok(tool, { brain, ...args });
    answers.push(answer);
    return answer;
  };
  await ADA.ok('brain_write', { brain, name: 'people/eve.json', content: '{"name":"Eve","consents":"yes"}' });
  await ADA.ok('brain_write', { brain, name: 'hr/pay.md', content: 'secret' });
  await ask('brain_write', { name: 'a.md', content: 'harbour' });
  const { commit } = await ask('svc_commit', { message: 'first' });
  await ask('brain_save', { name: 'b.md', content: 'kelp' });
  await ask('svc_get_memory', { file: 'a.md' });
  const past = await ask('brain_read', { name: 'a', at: commit });
  expect(past).toMatchObject({ content: 'harbour' });
  await ask('svc_search', { query: 'harbour', budget: 500, explain: true });
  await ask('svc_list_branches', {});
  await ask('svc_create_branch', { name: 'side', from: commit, switch: true });
  await ask('brain_switch', { name: brain });
  await ask('svc_switch_branch', { name: 'main' });
  await ask('brain_write', { name: 'c.md', content: 'salt' });
  await ask('svc_branch_auto', {});
  // Another brain may have been made in the same second, and then its first, empty commit is the same.
  const { brains: healthy } = (await BOB.ok('svc_health')) as { brains: Content[] };
  answers.push(
    await BOB.ok('brain_current'),
    healthy.filter(({ name }) => name === brain),
  );
  await expect.poll(() => events.filter(({ payload }) => payload['brain'] === brain).length).toBeGreaterThan(8);
  const said = JSON.stringify([answers, events.filter(({ payload }) => payload['brain'] === brain)]);
  const ids = realIds();
  expect(ids.length).toBeGreaterThan(6);
  for (const id of ids) {
    expect(said).not.toContain(id.slice(0, 12));
    for (const at of [id, id.slice(0, 10)])
      expect(await BOB.no('brain_read', { brain, name: 'a', at })).toMatchObject({ code: 'E_REF_ABSENT' });
  }
  expect(await BOB.no('svc_create_branch', { brain, name: 'x', from: git('rev-parse', 'main') })).toMatchObject({
    code: 'E_REF_ABSENT',
  });
  // Masked fields are masked to admins too; without them the ids are git's own, and handles still lead to them.
  bed.registry.setPolicy(`brain:${brain}/people`, null);
  expect(await ADA.ok('brain_read', { brain, name: 'a', at: commit })).toMatchObject({ content: 'harbour' });
  const { branches } = (await ADA.ok('svc_list_branches', { brain })) as { branches: Content[] };
  expect(branches.map((row) => row['commit'])).toContain(git('rev-parse', 'main'));
});

test('a masked yes or no cannot be computed from anything that is shown', async () => {
  // Everything a guesser needs to make the commit again is shown but the one value.
  const said: string[] = [];
  const real: string[] = [];
  for (const value of ['yes', 'no']) {
    const name = `${brain}${value}`;
    await OPERATOR.ok('brain_push', { name, create: true });
    bed.registry.setPolicy(`brain:${name}`, { mask: ['consents'] });
    const file = { brain: name, name: 'eve.json', content: `{"name":"Eve","consents":"${value}"}` };
    const written = await ADA.ok('brain_write', file);
    const committed = await ADA.ok('svc_commit', { brain: name, message: 'state' });
    const shown = [
      written,
      committed,
      await ADA.ok('brain_read', { brain: name, name: 'eve.json' }),
      await ADA.ok('brain_read', { brain: name, name: 'eve.json', at: committed.commit }),
      await ADA.ok('brain_list_files', { brain: name }),
      await ADA.ok('svc_search', { brain: name, query: 'Eve', explain: true }),
    ];
    const at = join(bed.dataDir, 'brains', name);
    real.push(
      execFileSync('git', ['-C', at, 'rev-parse', 'HEAD', 'HEAD^{tree}', 'HEAD:eve.json'], { encoding: 'utf8' }),
    );
    await expect
      .poll(() => events.some((event) => event.name === 'brain:save' && event.payload['brain'] === name))
      .toBe(true);
    const heard = events.filter(({ payload }) => payload['brain'] === name);
    const opaque = JSON.stringify([shown, heard]).replaceAll(name, 'B');
    for (const id of real.join('\n').split('\n').filter(Boolean)) expect(opaque).not.toContain(id.slice(0, 12));
    // Beyond handles and times the two are equal to the byte: sizes, counts, scores.
    said.push(opaque.replaceAll(/[0-9a-f]{40,64}/g, '#').replaceAll(/\d{13}(\.\d+)?/g, '@'));
  }
  expect(said[0]).toBe(said[1]);
  expect(said[0]).not.toMatch(/yes|no"/);
});

test('who is not told of a file hears of no commit that has nothing else, and counts only the others', async () => {
  bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
  const saves = () => events.filter(({ name, payload }) => name === 'brain:save' && payload['brain'] === brain);
  for (const name of ['hr/a', 'hr/b', 'open/c']) await ADA.ok('brain_write', { brain, name, content: name });
  await ADA.ok('svc_commit', { brain, message: 'all' });
  await ADA.ok('brain_write', { brain, name: 'hr/a', content: 'again' });
  const { commit } = await ADA.ok('svc_commit', { brain, message: 'hidden' });
  await expect.poll(() => saves().length).toBe(2);
  expect(saves()[0]?.payload).toMatchObject({ files: 1, resources: [`brain:${brain}`] });
  expect(saves()[1]?.payload).toMatchObject({ files: 1, resources: [`brain:${brain}`, `brain:${brain}/hr`] });
  expect(saves()[1]?.payload['commit']).not.toBe(commit);
  expect(await ADA.ok('brain_read', { brain, name: 'hr/a', at: saves()[1]?.payload['commit'] })).toMatchObject({
    content: 'again',
  });
});

test('commits that touch nothing else than what is hidden are not counted, neither pushed nor unmerged', async () => {
  bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
  const save = (by: typeof ADA, name: string, branch: string) =>
    by.ok('brain_save', { brain, name, content: `${name} ${branch}`, branch });
  const push = async (by: typeof ADA) => (await by.ok('svc_sync', { brain, direction: 'push' }))['pushed'];
  await push(ADA);
  for (const name of ['hr/a', 'open/b', 'hr/c']) await save(ADA, name, 'main');
  expect(await push(BOB)).toBe(1);
  for (const name of ['hr/d', 'open/e']) await save(ADA, name, 'main');
  expect(await push(ADA)).toBe(2);
  await save(ADA, 'hr/f', 'main');
  expect(await push(BOB)).toBe(0);
  for (const [by, branch, unmerged] of [
    [BOB, 'one', 1],
    [ADA, 'two', 3],
  ] as const) {
    await ADA.ok('svc_create_branch', { brain, name: branch });
    for (const name of ['hr/g', 'open/h', 'hr/i']) await save(ADA, name, branch);
    expect(await by.ok('svc_branch_delete', { brain, name: branch })).toMatchObject({ unmerged });
  }
});

test('handles stay the same through a restart', async () => {
  bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
  await BOB.ok('brain_save', { brain, name: 'a', content: 'x' });
  const { branches } = (await BOB.ok('svc_list_branches', { brain })) as { branches: Content[] };
  await node.stop();
  node = await bed.start();
  expect(await BOB.ok('brain_read', { brain, name: 'a', at: branches[0]?.['commit'] })).toMatchObject({ content: 'x' });
  expect(await BOB.ok('svc_list_branches', { brain })).toMatchObject({
    branches: [{ commit: branches[0]?.['commit'] }],
  });
});

test('the boundary of an island hides nothing in a brain that never held one, and its past once it did', async () => {
  bed.registry.setPolicy('_island:vault', ADMINS);
  const real = () => git('rev-parse', 'main');
  await BOB.ok('brain_save', { brain, name: 'a', content: 'x' });
  expect(await BOB.ok('svc_get_memory', { brain, file: 'a' })).toMatchObject({ commit: real() });
  expect(await BOB.ok('brain_read', { brain, name: 'a', at: real().slice(0, 12) })).toMatchObject({ content: 'x' });
  const { history } = (await BOB.ok('svc_history', { brain })) as { history: Content[] };
  expect(history.map(({ message }) => message)).toEqual(['save a.md', 'Empty brain']);
  await ADA.ok('brain_write', { brain, name: 'islands/vault', content: 'secret' });
  expect(await BOB.ok('svc_get_memory', { brain, file: 'a' })).toMatchObject({ commit: real() });
  await ADA.ok('svc_commit', { brain, message: 'held' });
  await ADA.ok('brain_delete_file', { brain, name: 'islands/vault' });
  await ADA.ok('svc_commit', { brain, message: 'gone' });
  expect((await BOB.ok('svc_get_memory', { brain, file: 'a' }))['commit']).not.toBe(real());
  expect(await BOB.no('brain_read', { brain, name: 'a', at: real() })).toMatchObject({ code: 'E_REF_ABSENT' });
  bed.registry.setPolicy('_island:vault', null);
});
