import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

type Content = Record<string, unknown>;

const bed = await bedOfFile();
let node = await bed.start();
/** Payloads of `brain:change`. */
const events: Content[] = [];
let brains = 0;

beforeAll(async () => {
  await listen();
});

async function listen(): Promise<void> {
  await node.bus.subscribe(SUBJECTS.events('brain'), (payload) => {
    for (const { event } of (JSON.parse(payload) as EventBatch).events)
      if (event.name === 'brain:change') events.push(event.payload);
  });
}

/** The changes of a file of the test's brain. */
function changesOf(file: string): Content[] {
  return events.filter((change) => change['brain'] === brain && change['file'] === file);
}

const caller = (subject: Subject | null) => testCaller(() => node, subject);

const ADA = caller({ userId: 'ada', workspace: 'acme', roles: ['admin'] });
const BOB = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });
const ANYBODY = caller({ workspace: 'default' });
const OPERATOR = caller(null);

const ADMINS = { readableBy: ['role:admin'], writableBy: ['role:admin'], container: 'acme' };
const PAY = { mask: ['salary'], filter: ['note'] };
const PERSON = '{\n  "name": "Ada",\n  "salary": 91000,\n  "note": "raised in May"\n}\n';

/** A brain of its own for each test. */
let brain = '';
beforeEach(async () => {
  brains += 1;
  brain = `b${brains}`;
  await OPERATOR.ok('brain_push', { name: brain, create: true });
});

async function write(name: string, content: string, by = OPERATOR): Promise<Content> {
  return by.ok('brain_write', { brain, name, content });
}

function onDisk(file: string): string {
  return readFileSync(join(bed.dataDir, 'brains', brain, file), 'utf8');
}

async function eventually(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !holds(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 25));
  expect(holds()).toBe(true);
}

describe('a file that may not be read', () => {
  beforeEach(async () => {
    await write('open/a.md', '# rome\nrome is open');
    await write('hr/secret.md', '# rome\nrome is secret and quixotic');
    bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
  });

  test('answers like one that is not there, in every byte', async () => {
    for (const [tool, key] of [
      ['brain_read', 'name'],
      ['brain_get_file', 'name'],
      ['svc_get_memory', 'file'],
    ] as const) {
      const secret = await BOB.no(tool, { brain, [key]: 'hr/secret' });
      const absent = await BOB.no(tool, { brain, [key]: 'hr/absent' });
      expect(JSON.stringify(secret).replaceAll('secret', 'absent')).toBe(JSON.stringify(absent));
      expect(secret).toMatchObject({ code: 'E_FILE_ABSENT' });
      expect(await ADA.ok(tool, { brain, [key]: 'hr/secret' })).toMatchObject({ file: 'hr/secret.md' });
    }
  });

  test('is in no list and no count, also of uncommitted files and commits', async () => {
    expect(await BOB.ok('brain_list_files', { brain })).toMatchObject({ files: [{ file: 'open/a.md' }] });
    expect(await BOB.ok('brain_corpus', { brain, content: true })).toMatchObject({ count: 1 });
    expect(await BOB.ok('svc_branch_is_dirty', { brain })).toMatchObject({ count: 1, files: [{ file: 'open/a.md' }] });
    expect(await BOB.ok('svc_list_branches', { brain })).toMatchObject({ branches: [{ changedFiles: 1 }] });
    const { brains: listed } = (await BOB.ok('brain_list')) as { brains: Content[] };
    expect(listed.find(({ name }) => name === brain)).toMatchObject({ files: 1 });
    const { brains: healthy } = (await BOB.ok('svc_health')) as { brains: Content[] };
    expect(healthy.find(({ name }) => name === brain)).toMatchObject({ files: 1, dirty: 1 });
    expect(await BOB.ok('svc_create_branch', { brain, name: 'side' })).toMatchObject({ uncommittedLeft: 1 });
    expect(await BOB.ok('svc_commit', { brain, message: 'all of it' })).toMatchObject({
      count: 1,
      files: [{ file: 'open/a.md' }],
    });
    expect(await ADA.ok('svc_branch_is_dirty', { brain })).toMatchObject({ dirty: false });
  });

  test('leaves no trace in a search', async () => {
    const query = { brain, query: 'rome quixotic', explain: true };
    const found = await BOB.ok('svc_search', query);
    expect(found).toMatchObject({ total: 1, results: [{ file: 'open/a.md' }] });
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(await ADA.ok('svc_search', query)).toMatchObject({ total: 2 });
    // The same as a brain that never had the file.
    const other = `${brain}-open`;
    await OPERATOR.ok('brain_push', { name: other, create: true });
    await OPERATOR.ok('brain_write', { brain: other, name: 'open/a.md', content: '# rome\nrome is open' });
    const tools = [
      'svc_search',
      'svc_search_hybrid',
      'svc_search_hyde',
      'svc_search_multiquery',
      'svc_search_semantic',
    ];
    for (const tool of tools) {
      const answer = await BOB.ok(tool, query);
      expect(answer).toMatchObject({ total: 1 });
      expect(JSON.stringify(answer)).not.toContain('secret');
      expect(answer).toEqual(
        JSON.parse(JSON.stringify(await BOB.ok(tool, { ...query, brain: other })).replaceAll(other, brain)),
      );
    }
  });

  test('is not there in a past state either', async () => {
    const { commit } = await ADA.ok('svc_commit', { brain, message: 'state' });
    const { branches } = (await BOB.ok('svc_list_branches', { brain })) as { branches: Content[] };
    const at = branches[0]?.['commit'];
    expect(at).not.toBe(commit);
    expect(await BOB.no('brain_read', { brain, name: 'hr/secret', at })).toMatchObject({ code: 'E_FILE_ABSENT' });
    expect(await BOB.no('brain_read', { brain, name: 'open/a', at: commit })).toMatchObject({ code: 'E_REF_ABSENT' });
    expect(await BOB.ok('brain_list_files', { brain, at })).toMatchObject({ files: [{ file: 'open/a.md' }] });
    expect(await ADA.ok('brain_read', { brain, name: 'hr/secret', at: commit })).toMatchObject({ brain });
  });

  test('is there from the next call on once the policy goes, and gone once it is back', async () => {
    for (let round = 0; round < 20; round += 1) {
      bed.registry.setPolicy(`brain:${brain}/hr`, round % 2 === 0 ? null : ADMINS);
      const found = await BOB.ok('svc_search', { brain, query: 'quixotic', mode: 'plain' });
      expect(found).toMatchObject({ total: round % 2 === 0 ? 1 : 0 });
    }
  });

  test('every denied read is audited, equal ones as one entry with a count', async () => {
    await Promise.all(Array.from({ length: 50 }, () => BOB.no('brain_read', { brain, name: 'hr/never' })));
    // Entries of the tests before may still be on their way.
    const entries = () =>
      bed.registry.audited.filter(({ event, data }) => event === 'row:denied' && data['file'] === 'hr/never');
    await eventually(() => entries().length === 1);
    expect(entries()[0]).toMatchObject({
      workspace: 'acme',
      subject: { userId: 'bob' },
      data: { brain, file: 'hr/never', mode: 'read', because: 'no-match', count: 1 },
    });
  });
});

test('a list of brains counts the files that the caller may read', async () => {
  for (const name of ['a', 'hr/b', 'hr/pay/c', 'hr-x/d', 'islands/e', 'islands/f']) await write(name, 'x');
  const countFor = async (user: typeof ADA): Promise<unknown> => {
    const { brains: listed } = (await user.ok('brain_list')) as { brains: Content[] };
    return listed.find(({ name }) => name === brain)?.['files'];
  };
  expect(await countFor(BOB)).toBe(6);
  bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
  expect(await countFor(BOB)).toBe(4);
  bed.registry.setPolicy('_island:e', ADMINS);
  expect([await countFor(BOB), await countFor(ADA)]).toEqual([3, 6]);
  bed.registry.setPolicy(`brain:${brain}/a.md`, ADMINS);
  expect([await countFor(BOB), await countFor(ADA)]).toEqual([2, 6]);
  bed.registry.setPolicy('_island:e', null);
});

describe('a write that may not be', () => {
  test('is denied whether or not the file is there, and changes nothing', async () => {
    await write('hr/secret.md', 'kept');
    bed.registry.setPolicy(`brain:${brain}/hr`, ADMINS);
    for (const name of ['hr/secret.md', 'hr/absent.md', 'hr/secret']) {
      expect(await BOB.no('brain_write', { brain, name, content: 'x' })).toEqual({ code: 'RLS_DENIED' });
      expect(await BOB.no('brain_delete_file', { brain, name })).toEqual({ code: 'RLS_DENIED' });
      expect(await OPERATOR.no('brain_write', { brain, name, content: 'x' })).toEqual({ code: 'RLS_DENIED' });
    }
    expect(onDisk('hr/secret.md')).toBe('kept');
  });

  test('every policy on the way must admit', async () => {
    bed.registry.setPolicy(`brain:${brain}/hr`, { writableBy: ['user:bob'] });
    bed.registry.setPolicy(`brain:${brain}/hr/pay`, { writableBy: ['user:ada'] });
    expect(await BOB.no('brain_write', { brain, name: 'hr/pay/x', content: 'x' })).toEqual({ code: 'RLS_DENIED' });
    expect(await ADA.no('brain_write', { brain, name: 'hr/pay/x', content: 'x' })).toEqual({ code: 'RLS_DENIED' });
    expect(await BOB.ok('brain_write', { brain, name: 'hr/x', content: 'x' })).toMatchObject({ created: true });
  });

  test('anonymous to a gated island, operator or not', async () => {
    bed.registry.setPolicy(`_island:gate${brain}`, {});
    const args = { brain, name: `islands/gate${brain}.md`, content: 'x' };
    expect(await OPERATOR.no('brain_write', args)).toEqual({ code: 'E_ISLAND_WRITE_DENIED' });
    expect(await ANYBODY.no('brain_write', args)).toEqual({ code: 'UNAUTHORIZED' });
    expect(await BOB.ok('brain_write', args)).toMatchObject({ created: true });
  });

  test('viewers and read-only tokens write nowhere', async () => {
    const viewer = caller({ userId: 'eve', workspace: 'acme', roles: ['viewer'] });
    expect(await viewer.no('brain_write', { brain, name: 'x', content: 'x' })).toEqual({ code: 'FORBIDDEN' });
    const token = { tokenId: 't', bound: null, readOnly: true, profile: null, expiresAt: Date.now() + 60_000 };
    const subject: Subject = { userId: 'ada', workspace: 'acme', roles: ['admin'], verified: true };
    const asked = node.call('brain_write', { brain, name: 'x', content: 'x' }, { subject, token });
    await expect(asked).rejects.toThrow('FORBIDDEN');
  });

  test('who may write but not read learns nothing of what was there', async () => {
    await write('box/there.md', 'before');
    bed.registry.setPolicy(`brain:${brain}/box`, { readableBy: ['user:ada'] });
    const there = await BOB.ok('brain_write', { brain, name: 'box/there.md', content: 'same' });
    const again = await BOB.ok('brain_write', { brain, name: 'box/there.md', content: 'same' });
    const fresh = await BOB.ok('brain_write', { brain, name: 'box/fresh.md', content: 'same', ifMatch: 'none' });
    expect(again).toEqual(there);
    expect({ ...fresh, name: '', file: '' }).toEqual({ ...there, name: '', file: '' });
    const guess = { brain, content: 'x', ifMatch: hash('sha256', 'same', 'hex') };
    expect(await BOB.no('brain_write', { ...guess, name: 'box/there.md' })).toMatchObject({ hash: null });
    expect(await BOB.no('brain_delete_file', { brain, name: 'box/there.md' })).toMatchObject({ code: 'E_FILE_ABSENT' });
    expect(onDisk('box/there.md')).toBe('same');
  });
});

describe('a brain that may not be read', () => {
  test('answers like one that is not there', async () => {
    await write('a.md', 'x');
    bed.registry.setPolicy(`brain:${brain}`, ADMINS);
    const absent = `${brain}-absent`;
    bed.registry.setPolicy(`brain:${absent}`, ADMINS);
    for (const name of [brain, absent]) {
      for (const [tool, args] of [
        ['brain_switch', { name }],
        ['brain_push', { name, create: true }],
        ['brain_load', { brains: [name] }],
        ['brain_read', { brain: name, name: 'a' }],
        ['brain_write', { brain: name, name: 'a', content: 'y' }],
        ['brain_list_files', { brain: name }],
        ['brain_state', { brain: name }],
        ['svc_search', { brain: name, query: 'x' }],
        ['svc_list_branches', { brain: name }],
        ['svc_create_branch', { brain: name, name: 'side' }],
        ['svc_switch_branch', { brain: name, name: 'main' }],
        ['svc_branch_auto', { brain: name }],
        ['svc_branch_is_dirty', { brain: name }],
        ['svc_commit', { brain: name, message: 'm' }],
        ['svc_sync', { brain: name }],
        ['svc_lock', { brain: name, action: 'acquire' }],
        ['svc_lock', { brain: name, action: 'status' }],
        ['svc_lock', { brain: name, action: 'stats' }],
        ['svc_lock', { brain: name, action: 'release', token: 't' }],
      ] as const) {
        expect([tool, await BOB.no(tool, args)]).toEqual([tool, { code: 'BRAIN_LOAD_FAIL' }]);
      }
    }
    const lists = [await BOB.ok('brain_list'), await BOB.ok('svc_branch_changed_brains'), await BOB.ok('svc_health')];
    for (const list of lists) expect(JSON.stringify(list)).not.toContain(`"${brain}"`);
    expect(await ADA.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'x' });
  });

  test('what belongs to it as a whole takes a writer of it', async () => {
    bed.registry.setPolicy(`brain:${brain}`, { writableBy: ['role:admin'] });
    for (const [tool, args] of [
      ['svc_commit', { brain, message: 'm' }],
      ['svc_create_branch', { brain, name: 'side' }],
      ['svc_branch_auto', { brain }],
      ['svc_sync', { brain }],
      ['svc_lock', { brain, action: 'acquire' }],
    ] as const) {
      expect([tool, await BOB.no(tool, args)]).toEqual([tool, { code: 'RLS_DENIED' }]);
    }
    expect(await ADA.ok('svc_create_branch', { brain, name: 'side' })).toMatchObject({ created: true });
  });
});

describe('hidden fields', () => {
  beforeEach(async () => {
    await write('people/ada.json', PERSON);
    await write('people/open.md', '# Ada\nopen');
    bed.registry.setPolicy(`brain:${brain}/people`, PAY);
  });

  test('are shown to nobody: read, list, search, past states', async () => {
    const shown = '{\n  "name": "Ada",\n  "salary": "[masked]"\n}\n';
    const read = await ADA.ok('svc_get_memory', { brain, file: 'people/ada.json' });
    expect(read).toMatchObject({ content: shown, bytes: shown.length });
    const { commit } = await ADA.ok('svc_commit', { brain, message: 'state' });
    expect(await ADA.ok('brain_read', { brain, name: 'people/ada.json', at: commit })).toMatchObject({
      content: shown,
    });
    const { files } = (await ADA.ok('brain_list_files', { brain })) as { files: Content[] };
    expect(files[0]).toMatchObject({ file: 'people/ada.json', bytes: shown.length, hash: read.hash });
    const { corpus } = (await ADA.ok('brain_corpus', { brain, content: true })) as { corpus: Content[] };
    expect(corpus[0]).toMatchObject({ content: shown, hash: read.hash });
    for (const query of ['91000', 'salary', 'masked', 'raised', 'note']) {
      expect([query, await ADA.ok('svc_search', { brain, query })]).toMatchObject([query, { total: 0 }]);
    }
    const found = await ADA.ok('svc_search', { brain, query: 'Ada', budget: 500, explain: true });
    expect(found).toMatchObject({ total: 2 });
    expect(JSON.stringify(found)).not.toMatch(/91000|salary|raised/);
  });

  test('the hash that is shown tells nothing, works as ifMatch, and differs by branch', async () => {
    const { hash: shown } = await ADA.ok('brain_read', { brain, name: 'people/ada.json' });
    const real = hash('sha256', PERSON, 'hex');
    expect(shown).not.toBe(real);
    const content = '{"name": "Lovelace"}';
    const args = { brain, name: 'people/ada.json', content };
    expect(await ADA.no('brain_write', { ...args, ifMatch: real })).toMatchObject({ code: 'E_CONFLICT', hash: shown });
    const written = await ADA.ok('brain_write', { ...args, ifMatch: shown });
    expect(written).toMatchObject({ changed: true });
    expect(JSON.parse(onDisk('people/ada.json'))).toEqual({ name: 'Lovelace', note: 'raised in May' });
    expect(await ADA.ok('brain_read', { brain, name: 'people/ada.json' })).toMatchObject({ hash: written.hash });
    // The same bytes elsewhere must not be told by their hash either.
    await ADA.ok('svc_commit', { brain, message: 'state' });
    await ADA.ok('svc_create_branch', { brain, name: 'side' });
    const side = await ADA.ok('brain_read', { brain, branch: 'side', name: 'people/ada.json' });
    expect(side.hash).not.toBe(written.hash);
    const change = { ...args, branch: 'side', content: '{"name": "King"}', ifMatch: side.hash };
    expect(await ADA.ok('brain_write', change)).toMatchObject({ changed: true });
  });

  test('are kept when the shown text is written back, and no event tells the hash', async () => {
    const { content, hash: shown } = await ADA.ok('brain_read', { brain, name: 'people/ada.json' });
    const back = await ADA.ok('brain_write', { brain, name: 'people/ada.json', content });
    expect(back).toMatchObject({ changed: false, hash: shown });
    expect(onDisk('people/ada.json')).toBe(PERSON);
    const more = String(content).replace('Ada', 'Countess');
    await ADA.ok('brain_write', { brain, name: 'people/ada.json', content: more, ifMatch: shown });
    expect(onDisk('people/ada.json')).toBe(PERSON.replace('Ada', 'Countess'));
    await eventually(() => changesOf('people/ada.json').length === 2);
    // The first was made before there was a policy.
    expect(changesOf('people/ada.json')).toMatchObject([{ change: 'created' }, { change: 'updated', hash: null }]);
  });

  test('a guess with a stale ifMatch does not tell whether it was right', async () => {
    const guesses = ['91000', '91001'].map((guess) => PERSON.replace('91000', guess));
    const answers = [];
    for (const content of guesses) {
      answers.push(await BOB.no('brain_write', { brain, name: 'people/ada.json', content, ifMatch: 'none' }));
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ code: 'E_CONFLICT' });
    expect(onDisk('people/ada.json')).toBe(PERSON);
  });

  test('a write that could not hold them is refused', async () => {
    const write = { brain, name: 'people/ada.json', content: '{"name": ' };
    expect(await BOB.no('brain_write', write)).toEqual({ code: 'VAF_INPUT_INVALID' });
    expect(onDisk('people/ada.json')).toBe(PERSON);
  });

  test('an edit by hand shows nothing, and tells no hash', async () => {
    writeFileSync(join(bed.dataDir, 'brains', brain, 'people/ada.json'), '{"salary": 92000, "broken": ');
    await eventually(() => changesOf('people/ada.json').length === 2);
    expect(changesOf('people/ada.json').at(-1)).toMatchObject({ source: 'external', hash: null });
    expect(await ADA.no('brain_read', { brain, name: 'people/ada.json' })).toMatchObject({ code: 'E_FILE_ABSENT' });
    expect(await ADA.ok('svc_search', { brain, query: '92000' })).toMatchObject({ total: 0 });
    const { files } = (await ADA.ok('brain_list_files', { brain })) as { files: Content[] };
    expect(files.map(({ file }) => file)).toEqual(['people/open.md']);
  });

  test('writers at the same time lose none of them', async () => {
    const writes = Array.from({ length: 40 }, (_, index) =>
      ADA.ok('brain_write', { brain, name: 'people/ada.json', content: `{"name": "${index}", "salary": "[masked]"}` }),
    );
    await Promise.all(writes);
    expect(JSON.parse(onDisk('people/ada.json'))).toMatchObject({ salary: 91000, note: 'raised in May' });
  });
});

describe('the registry', () => {
  test('is asked once per change of policies, and not at all while nothing changes', async () => {
    await write('a.md', 'x');
    const { rootsAsked } = bed.registry;
    const ofEveryBrain = 'brain:';
    const ofThisBrain = `brain:${brain}`;
    // The indexes of other brains are saved in the background, by the rules of that moment.
    const askedSince = (before: number) =>
      rootsAsked.slice(before).filter((root) => root === ofEveryBrain || root === ofThisBrain);
    let before = rootsAsked.length;
    await Promise.all(Array.from({ length: 50 }, () => BOB.ok('brain_read', { brain, name: 'a' })));
    expect(askedSince(before)).toEqual([]);
    bed.registry.touch();
    before = rootsAsked.length;
    await Promise.all(Array.from({ length: 50 }, () => BOB.ok('brain_read', { brain, name: 'a' })));
    expect(askedSince(before)).toEqual([ofThisBrain]);
    bed.registry.touch();
    before = rootsAsked.length;
    const { names } = await BOB.ok('brain_list');
    expect((names as string[]).length).toBeGreaterThan(5);
    expect(askedSince(before)).toEqual([ofEveryBrain]);
  });

  test('away, nothing is decided on what was known before', async () => {
    await write('a.md', 'x');
    const stamp = bed.registry.stamp();
    const anonymous = { subject: {}, operator: false };
    bed.registry.isAway = true;
    try {
      const known = node.call('brain_read', { brain, name: 'a' }, { ...anonymous, registry: stamp });
      expect(await known).toMatchObject({ content: 'x' });
      const later = { ...stamp, rev: stamp.rev + 1, policies: stamp.policies + 1 };
      for (const registry of [undefined, later]) {
        const asked = node.call('brain_read', { brain, name: 'a' }, { ...anonymous, registry });
        await expect(asked).rejects.toThrow('SERVICE_UNAVAILABLE');
      }
    } finally {
      bed.registry.isAway = false;
    }
  });
});

test('nothing that is hidden comes back after a restart', async () => {
  await write('people/ada.json', PERSON);
  bed.registry.setPolicy(`brain:${brain}/people`, PAY);
  const { hash: shown } = await ADA.ok('brain_read', { brain, name: 'people/ada.json' });
  await ADA.ok('svc_search', { brain, query: 'Ada' });
  await node.stop();
  node = await bed.start();
  await listen();
  expect(await ADA.ok('svc_search', { brain, query: '91000' })).toMatchObject({ total: 0 });
  expect(await ADA.ok('svc_search', { brain, query: 'Ada' })).toMatchObject({ total: 1 });
  expect(await ADA.ok('brain_read', { brain, name: 'people/ada.json' })).toMatchObject({ hash: shown });
  bed.registry.setPolicy(`brain:${brain}/people`, null);
  expect(await ADA.ok('brain_read', { brain, name: 'people/ada.json' })).toMatchObject({ content: PERSON });
  expect(await ADA.ok('svc_search', { brain, query: '91000' })).toMatchObject({ total: 1 });
});
