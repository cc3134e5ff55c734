/** Row rules and hidden fields through the doors of the brain. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, Fields, Reply } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { callerOf } from '../instruments/tenants.ts';
import { HIDDEN_ANSWERS, SEARCHED_FILES, SEARCHES } from '../settings.ts';
import { brainFolder, logsOf, type TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

interface Place {
  readonly workspace: string;
  readonly viewer: Caller;
  readonly editor: Caller;
  readonly admin: Caller;
}

/** A workspace with a member of each role. */
async function workspaceOf(place: TargetPlace, operator: Caller): Promise<Place> {
  const workspace = newName('w');
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: workspace });
  const member = async (role: string): Promise<Caller> => {
    const userId = `${role}-${workspace}`;
    await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId, role });
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: userId });
    return callerOf(place, String(token));
  };
  return {
    workspace,
    viewer: await member('viewer'),
    editor: await member('editor'),
    admin: await member('admin'),
  };
}

async function setPolicy(operator: Caller, resource: string, policy: Fields): Promise<void> {
  await operator.ok('svc_habitat_setPolicy', { resource, policy });
}

/** Runs the tasks, some at a time. */
async function inLanes(count: number, run: (index: number) => Promise<unknown>): Promise<void> {
  const lane = async (from: number): Promise<void> => {
    for (let index = from; index < count; index += 8) await run(index);
  };
  await Promise.all(Array.from({ length: 8 }, (_, from) => lane(from)));
}

const WORDS = 'harbour lighthouse kelp anchor tide gull mast rope salt storm pier buoy reef dune wreck sail'.split(' ');

verifies('rows:search-subset', async ({ place, fresh, random }) => {
  const { user: operator, brain: whole } = await fresh();
  const { brain: part } = await fresh();
  const { workspace, viewer } = await workspaceOf(place, operator);
  const folders = Array.from({ length: 10 }, (_, index) => `d${index}`);
  const open = folders.slice(0, 4);
  const texts = Array.from({ length: SEARCHED_FILES }, (_, index) => {
    const sentence = () => Array.from({ length: random.int(4, 30) }, () => random.pick(WORDS)).join(' ');
    return {
      name: `${folders[index % 10]}/f${index}.md`,
      content: `# ${random.pick(WORDS)}\n\n${sentence()}.\n\n${sentence()}.`,
    };
  });
  await inLanes(texts.length, async (index) => {
    const file = texts[index] ?? { name: '', content: '' };
    await operator.ok('brain_write', { ...file, brain: whole });
    if (open.some((folder) => file.name.startsWith(`${folder}/`)))
      await operator.ok('brain_write', { ...file, brain: part });
  });
  await operator.ok('svc_commit', { brain: whole, message: 'all' });
  await Promise.all(
    folders.slice(4).map((folder) =>
      setPolicy(operator, `brain:${whole}/${folder}`, {
        container: workspace,
        readableBy: ['role:admin'],
        writableBy: [],
      }),
    ),
  );
  await operator.ok('svc_commit', { brain: part, message: 'some' });
  const answer = async (brain: string, args: Fields, gateway: number): Promise<Fields> => {
    const found = await viewer.ok<{ results: Fields[]; nextCursor?: string }>(
      'svc_search',
      { ...args, brain },
      { gateway },
    );
    const results = found.results.map(({ brain: _brain, commit: _commit, ...row }) => row);
    // A cursor names the brain of what was shown.
    return { ...found, results, nextCursor: found.nextCursor !== undefined };
  };
  const differing: Fields[] = [];
  await inLanes(SEARCHES, async (index) => {
    const query = Array.from({ length: random.int(1, 4) }, () => random.pick(WORDS)).join(' ');
    const args = {
      query,
      mode: random.pick(['plain', 'hybrid']),
      group: random.pick(['file', 'passage']),
      limit: 20,
      explain: index % 2 === 0,
    };
    const [seen, alone] = [await answer(whole, args, index), await answer(part, args, index)];
    if (JSON.stringify(seen) !== JSON.stringify(alone)) differing.push(args);
  });
  expect(differing).toEqual([]);
  const { total } = await operator.ok('svc_search', { brain: whole, query: WORDS.join(' ') });
  expect(total).toBe(SEARCHED_FILES * 0.4);
  const { names } = await viewer.ok<{ names: string[] }>('brain_list', { limit: 1000 });
  expect(names).toContain(whole);
});

verifies('rows:masked-field', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const { workspace, editor } = await workspaceOf(place, operator);
  const page = '---\ntitle: Grace\nsalary: 91000\n---\n# Grace\n\nWrites compilers.\n';
  const person = '{\n  "name": "Ada",\n  "salary": 91000\n}\n';
  await operator.ok('brain_write', { brain, name: 'grace.md', content: page });
  await operator.ok('brain_write', { brain, name: 'ada.json', content: person });
  expect(await operator.ok('svc_search', { brain, query: '91000' })).toMatchObject({ total: 2 });
  await setPolicy(operator, `brain:${brain}`, {
    container: workspace,
    readableBy: [],
    writableBy: ['role:editor'],
    mask: ['salary'],
  });
  for (const query of ['91000', 'salary', 'masked']) {
    expect(await editor.ok('svc_search', { brain, query })).toMatchObject({ total: 0, results: [] });
  }
  const found = await editor.call('svc_search', { brain, query: 'Grace compilers Ada', explain: true, budget: 400 });
  expect(found.text).toContain('compilers');
  expect(found.text).not.toMatch(/91000|salary/);
  for (const [name, original] of [
    ['grace.md', page],
    ['ada.json', person],
  ] as const) {
    const { content, hash } = await editor.ok<{ content: string; hash: string }>('brain_read', { brain, name });
    expect(content).toContain('[masked]');
    expect(content).not.toContain('91000');
    const changed = content.replace(/Grace$|Ada/m, 'Hopper');
    const written = await editor.ok('brain_write', { brain, name, content: changed, ifMatch: hash });
    expect(written).toMatchObject({ changed: true });
    expect(readFileSync(join(brainFolder(place, brain), name), 'utf8')).toBe(original.replace(/Grace$|Ada/m, 'Hopper'));
    await editor.ok('brain_write', { brain, name, content });
    expect(readFileSync(join(brainFolder(place, brain), name), 'utf8')).toBe(original);
  }
});

/** Even ones hide the fields `salary` and `note`, odd ones whatever looks like a secret. */
function personFile(secret: string, index: number): { name: string; content: string } {
  const hidden = index % 2 === 0 ? { salary: secret, note: `${secret}note` } : { apiKey: `${secret}key` };
  const fields = { title: `Person ${index}`, ...hidden, city: 'Rome' };
  const name = `${index % 2 === 0 ? 'people' : 'keys'}/p${index}`;
  if (index % 4 < 2) return { name: `${name}.json`, content: JSON.stringify(fields, null, index % 3) };
  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}`);
  return { name: `${name}.md`, content: `---\n${lines.join('\n')}\n---\n# Person ${index}\n\nLives in Rome.\n` };
}

verifies('rows:hidden-never', async ({ place, fresh, socket, random, report }) => {
  const { user: operator, brain } = await fresh();
  const { viewer, editor, admin } = await workspaceOf(place, operator);
  const policy = { container: 'public', readableBy: [], writableBy: [], mask: ['salary'], filter: ['secrets'] };
  await setPolicy(operator, `brain:${brain}/people`, { ...policy, filter: ['note'] });
  await setPolicy(operator, `brain:${brain}/keys`, { ...policy, filter: 'secrets', mask: [] });
  const listener = await socket();
  await listener.subscribe({ events: ['*'] });
  // Values that occur nowhere else, so that any trace of them is a leak.
  const secret = (index: number) => `h1dden${index}z${random.int(1e6, 1e7)}`;
  const secrets = Array.from({ length: 40 }, (_, index) => secret(index));
  const files = secrets.map(personFile);
  await inLanes(files.length, (index) => operator.ok('brain_write', { brain, ...files[index] }));
  const { commit } = await operator.ok('svc_commit', { brain, message: 'people' });
  const users = [viewer, editor, admin, operator];
  const leaks: string[] = [];
  let answers = 0;
  await inLanes(HIDDEN_ANSWERS, async (index) => {
    const user = users[index % users.length] ?? viewer;
    const word = random.pick(secrets);
    const { name } = random.pick(files);
    const [tool, args] = random.pick<readonly [string, Fields]>([
      ['brain_read', { brain, name }],
      ['svc_get_memory', { brain, file: name, at: commit }],
      ['brain_corpus', { brain, content: true }],
      ['brain_list_files', { brain }],
      ['svc_search', { brain, query: 'Rome Person', explain: true, budget: 2000, limit: 50 }],
      ['svc_search', { brain, query: `Person ${index % 40}`, mode: 'plain', group: 'passage' }],
    ]);
    const reply = await user.call(tool, args, { gateway: index });
    expect([tool, reply.status]).toEqual([tool, 200]);
    answers += 1;
    if (reply.text.includes('h1dden')) leaks.push(`${tool} ${JSON.stringify(args)}`);
    const found = await user.ok(
      'svc_search',
      { brain, query: word, mode: random.pick(['plain', 'hybrid']) },
      { gateway: index },
    );
    if (found['total'] !== 0 || JSON.stringify(found['results']) !== '[]') leaks.push(`found by ${word}`);
  });
  // What is shown, written back by an editor: nothing lost, nothing told.
  await inLanes(20, async (index) => {
    const { name = '' } = files[index * 2] ?? {};
    const { content } = await editor.ok<{ content: string }>('brain_read', { brain, name });
    const reply = await editor.call('brain_write', { brain, name, content: content.replace('Rome', 'Milan') });
    expect(reply.status).toBe(200);
    if (reply.text.includes('h1dden')) leaks.push(`write ${name}`);
    expect(readFileSync(join(brainFolder(place, brain), name), 'utf8')).toContain(secrets[index * 2]);
  });
  expect(leaks).toEqual([]);
  await waitFor(() => (listener.of(brain, 'brain:change').length >= 60 ? true : undefined), {
    what: 'the events of the writes',
  });
  const hashes = listener.of(brain, 'brain:change').map(({ hash }) => hash);
  expect(hashes.filter((hash) => hash !== null)).toEqual([]);
  expect(JSON.stringify(listener.heard)).not.toContain('h1dden');
  expect(logsOf(place)).not.toContain('h1dden');
  for (const [index] of place.gateways.entries()) {
    expect((await operator.with({ gateway: index }).get('/metrics')).text).not.toContain('h1dden');
  }
  report(`hidden fields: ${answers} answers through the doors and ${answers} searches for hidden values, 0 traces`);
});

verifies('rows:absent', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const { workspace, viewer, admin } = await workspaceOf(place, operator);
  await operator.ok('brain_write', { brain, name: 'shut/there.md', content: 'secret' });
  const policy = { container: workspace, readableBy: ['role:admin'], writableBy: ['role:admin'] };
  await setPolicy(operator, `brain:${brain}/shut`, policy);
  for (const [tool, key] of [
    ['brain_read', 'name'],
    ['brain_get_file', 'name'],
    ['svc_get_memory', 'file'],
  ] as const) {
    const there = await viewer.call(tool, { brain, [key]: 'shut/there' });
    const absent = await viewer.call(tool, { brain, [key]: 'shut/other' });
    expect([there.status, there.text.replaceAll('shut/there', 'shut/other')]).toEqual([absent.status, absent.text]);
  }
  expect(await admin.ok('brain_read', { brain, name: 'shut/there' })).toMatchObject({ content: 'secret' });
  await setPolicy(operator, `brain:${brain}`, policy);
  const absent = newName('nobody');
  for (const [tool, args] of [
    ['brain_switch', {}],
    ['brain_read', { name: 'shut/there' }],
    ['brain_list_files', {}],
    ['svc_search', { query: 'secret' }],
    ['svc_list_branches', {}],
  ] as const) {
    const named = (name: string): Fields => (tool === 'brain_switch' ? { name } : { ...args, brain: name });
    const hidden = await viewer.call(tool, named(brain));
    const none = await viewer.call(tool, named(absent));
    const told = ({ body: { error } }: Reply) => ({ ...error, data: { ...error?.data, requestId: '' } });
    expect([tool, hidden.status, told(hidden)]).toEqual([tool, 404, told(none)]);
  }
  for (const tool of ['brain_list', 'svc_health', 'svc_branch_changed_brains'] as const) {
    expect((await viewer.call(tool, {})).text).not.toContain(brain);
  }
  expect((await admin.call('brain_list', { limit: 1000 })).text).toContain(brain);
});

verifies('rows:write-denied', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const { workspace, editor, viewer, admin } = await workspaceOf(place, operator);
  await operator.ok('brain_write', { brain, name: 'shut/there.md', content: 'kept' });
  await setPolicy(operator, `brain:${brain}/shut`, {
    container: workspace,
    readableBy: [],
    writableBy: ['role:admin'],
  });
  for (const name of ['shut/there.md', 'shut/other.md']) {
    for (const user of [editor, operator]) {
      await user.fails('RLS_DENIED', 'brain_write', { brain, name, content: 'x' });
      await user.fails('RLS_DENIED', 'brain_save', { brain, name, content: 'x' });
      await user.fails('RLS_DENIED', 'brain_delete_file', { brain, name });
    }
    await viewer.fails('FORBIDDEN', 'brain_write', { brain, name, content: 'x' });
  }
  expect(readFileSync(join(brainFolder(place, brain), 'shut/there.md'), 'utf8')).toBe('kept');
  expect(await admin.ok('brain_write', { brain, name: 'shut/there.md', content: 'new' })).toMatchObject({
    changed: true,
  });
});

verifies('rows:next-request', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const { workspace, viewer } = await workspaceOf(place, operator);
  await operator.ok('brain_write', { brain, name: 'shut/there.md', content: 'quixotic' });
  for (let round = 0; round < 100; round += 1) {
    const readableBy = round % 2 === 0 ? ['role:admin'] : ['role:viewer'];
    await setPolicy(operator, `brain:${brain}/shut`, { container: workspace, readableBy, writableBy: [] });
    const [reads, found] = await Promise.all([
      viewer.call('brain_read', { brain, name: 'shut/there' }, { gateway: round }),
      viewer.ok('svc_search', { brain, query: 'quixotic' }, { gateway: round + 1 }),
    ]);
    expect([round, reads.text.includes('quixotic'), found['total']]).toEqual([round, round % 2 === 1, round % 2]);
  }
});
