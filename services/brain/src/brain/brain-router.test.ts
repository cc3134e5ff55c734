/** Between processes a question and its answer are believed only in their declared form. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LateCall } from '@svc/contract/codes.ts';
import { failureOf } from '@svc/contract/rpc.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';
import { fullDatabase } from '../../testing/refusing-disk.ts';
import { DEAD_AFTER_MS } from '../store/ownership.ts';
import { operations } from '../operations/all.ts';

let bed: BrainTestBed;
let node: BrainNode;

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const SERVICE = {
  actor: 'service',
  subject: {},
  session: '0'.repeat(64),
  verifiedAgent: null,
  declaredAgent: null,
  fence: null,
  idempotency: null,
  registry: null,
  operator: false,
  isService: true,
};
const READ = { brain: 'svc', operation: 'read', question: { branch: 'main', path: 'a', at: null } };

async function asked(wish: object): Promise<unknown> {
  const { rows } = await bed.database.pool.query<{ process: string }>('SELECT process FROM brain.brain_processes');
  const context = { ...SERVICE, since: Date.now(), deadlineAt: Date.now() + 30_000 };
  const payload = JSON.stringify({ context, ...wish });
  return JSON.parse(
    await node.bus.request(`brain.process.${rows[0]?.process}`, payload, { deadlineAt: Date.now() + 30_000 }),
  );
}

it('answers a question of another process, and none that is not in its form', async () => {
  await node.call('svc_set_memory', { category: '', filename: 'a', content: 'text' });
  expect(await asked(READ)).toMatchObject({ answer: { ok: true, value: { file: 'a.md', content: 'text' } } });
  const refused = { failure: { code: 'INTERNAL' } };
  expect(await asked({ ...READ, question: { ...READ.question, more: true } })).toMatchObject(refused);
  expect(await asked({ ...READ, question: { branch: 'main', path: 7, at: null } })).toMatchObject(refused);
  expect(await asked({ ...READ, context: { ...SERVICE, since: 0, deadlineAt: 'soon' } })).toMatchObject(refused);
});

it('answers a process of a newer version, which asks for what is not known here, that it may try again', async () => {
  const later = { failure: { code: 'SERVICE_UNAVAILABLE', status: 503 } };
  for (const operation of ['ofTomorrow', 'constructor']) {
    expect(await asked({ ...READ, operation })).toMatchObject(later);
  }
});

it('answers a process of the version before, which names no workspaces, with what is for everybody', async () => {
  for (const change of ['kept', 'hers']) await node.call('svc_resolution_track', { file: 'a.md', change });
  await bed.database.pool.query("UPDATE brain.brain_resolutions SET workspace = 'acme' WHERE change = 'hers'");
  const question = { file: null, branch: null, limit: 10, after: null };
  const answer = await asked({ brain: 'svc', operation: 'listResolutions', question });
  expect(answer).toEqual({ answer: [expect.objectContaining({ change: 'kept' })] });
});

const definition = { type: 'static', triggers: ['deploy'], enabled: true, description: '', source: ['x'] };
const island = { name: 'ops', definition, content: { kind: 'text', text: 'How' } };
const main = { branch: 'main' };
const aPage = { limit: 10, after: null };
const CONTEXT_WISHED = { ...main, workspace: 'default', wisher: 'somebody' };

/** In this order, so that there is something to answer. `retire` is last: then the brain is gone. */
const SOURCE = join(import.meta.dirname, '..');

const QUESTIONS: Record<string, object> = {
  change: { ...main, path: 'x', content: '# Words\n\nto find', ifMatch: null },
  createIslands: { ...main, islands: [island] },
  amendIsland: { ...main, name: 'ops', amendment: { member: 'triggers', value: ['ship'] }, ifMatch: null },
  islands: { ...main, after: null },
  island: { ...main, name: 'ops', append: true },
  read: { ...main, path: 'x', at: null },
  list: { ...main, category: null, at: null, ...aPage, withContent: true, withTitle: true },
  search: {
    ...main,
    query: 'words',
    mode: 'hybrid',
    meaning: { space: 'builtin-512-v1', vector: Array.from({ length: 512 }, () => 1), weight: 1 },
    limit: 5,
    group: 'passage',
    pathPrefix: null,
    explain: true,
  },
  writeStored: { ...main, path: 'a/b.bin', content: 'AP8=', encoding: 'base64', isOfBytes: true, ifMatch: null },
  makeStored: { ...main, directory: 'c' },
  copyStored: { ...main, from: 'a', to: 'd', overwrite: false },
  removeStored: { ...main, path: 'd', recursive: true, ifMatch: null },
  readStored: { ...main, path: 'a/b.bin', at: null, encoding: 'base64', offset: 0 },
  findStored: { ...main, path: 'a', at: null },
  listStored: { ...main, directory: 'a', deep: true, at: null, ...aPage },
  expand: { ...main, query: 'words', pathPrefix: null },
  learn: { ...main, key: 'go/errors', path: 'go/errors', content: 'wrap', ifMatch: null },
  remember: { ...main, key: 'rome', path: 'geometry/city/rome.md', content: 'x', ifMatch: null },
  clearLearned: main,
  configFile: main,
  setBrainKey: { ...main, key: 'search.language', value: 'en' },
  readContext: CONTEXT_WISHED,
  keepContext: {
    wished: CONTEXT_WISHED,
    key: 'k',
    context: { text: '', tokens: 0, layers: [], breakpoints: [], citations: [] },
  },
  identify: {},
  identifyToChange: {},
  identifyCommit: { text: 'main' },
  identifySubject: { file: 'x' },
  identifyNames: { names: ['x'] },
  listCitations: aPage,
  findCitation: { text: '0000' },
  listResolutions: { file: null, branch: null, workspaces: null, ...aPage },
  countLinks: {},
  listConnections: { start: 'x', depth: 2 },
  listAttention: { workspace: '', now: 0 },
  tellEvolution: { id: 'evo_none' },
  listLastInsights: { workspace: 'default', limit: 10 },
  listEvolutions: { workspace: 'default', ...aPage },
  dirty: main,
  changed: {},
  diff: { ...main, path: null, from: null, to: null, bytes: 1000, ...aPage },
  summary: {},
  commit: { ...main, message: 'all', only: null },
  history: { ...main, path: null, at: null, start: 0, limit: 10 },
  createBranch: { ...main, name: 'b', from: null },
  findBranch: main,
  openBranch: { branch: 'b', create: true },
  branches: aPage,
  mergeBranch: { ...main, from: 'b', message: null, dryRun: true },
  removeIsland: { ...main, name: 'ops' },
  autoBranch: { ...main, prefix: 'auto' },
  renameBranch: { branch: 'b', to: 'c' },
  deleteBranch: { branch: 'c' },
  conflicts: { ...main, file: null, resolved: false, ...aPage },
  readConflict: { id: 'cfl_1' },
  resolveConflict: { id: 'cfl_1', take: 'ours', content: null, ifMatch: null },
  writeBatch: { ...main, files: [{ path: 'batch/a.json', content: '{}', ifMatch: null }] },
  holdLease: { session: 'lse_1', holder: 'restore', ttlMs: 5000 },
  giveBackLease: { session: 'lse_1' },
  leaseView: {},
  acquire: { token: null, ttlMs: 60_000, holdsAtMostMs: null },
  release: { token: 'other' },
  force: {},
  sync: { ...main, direction: 'both', remote: null },
  rebase: { ...main, remote: 'origin' },
  remotes: {},
  unpushed: {},
  syncState: main,
  settle: { waitMs: 1000 },
  backup: { name: 'b.svcb' },
  restore: { name: 'b.svcb' },
  retire: { to: 'archive' },
};

it('serves every operation that is declared', () => {
  const sources = globSync('**/*.ts', { cwd: SOURCE, exclude: (file) => file.endsWith('.test.ts') });
  const declared = sources.flatMap((file) =>
    [...readFileSync(join(SOURCE, file), 'utf8').matchAll(/defineOperation\(\{\s+name: '(\w+)'/g)].map(
      ([, name]) => name,
    ),
  );
  expect(declared.length).toBeGreaterThan(60);
  const served = new Set(operations.map(({ name }) => name));
  expect(declared.filter((name) => !served.has(name ?? ''))).toEqual([]);
});

it('answers every operation in its declared form', async () => {
  const { pool } = bed.database;
  const left = 'INSERT INTO brain.brain_conflicts (id, brain, branch, file, kind, at)';
  await pool.query(`${left} VALUES ('cfl_1', 'svc', 'main', 'y.md', 'content', now())`);
  expect(Object.keys(QUESTIONS).sort()).toEqual(operations.map(({ name }) => name).sort());
  const refused: string[] = [];
  for (const [operation, question] of Object.entries(QUESTIONS)) {
    const reply = (await asked({ brain: 'svc', operation, question })) as { answer: unknown };
    const form = operations.find(({ name }) => name === operation);
    const told = form?.answerOf(reply.answer);
    expect(told, operation).toEqual(reply.answer);
    const { ok, decision } = Object(told) as { ok?: boolean; decision?: { ok: boolean } };
    if ((decision?.ok ?? ok) === false) refused.push(operation);
  }
  expect(refused).toEqual(['release', 'sync', 'rebase']);
});

/** Its process says nothing more by itself. Of a heartbeat further ahead the clock would have been set back. */
async function ownedByAnother(livesForMs: number): Promise<void> {
  const { pool } = bed.database;
  const seenAt = `clock_timestamp() + interval '${livesForMs - DEAD_AFTER_MS} milliseconds'`;
  await pool.query(`INSERT INTO brain.brain_processes (process, node_id, started_at, seen_at)
    VALUES ('other', 'other', now(), ${seenAt}) ON CONFLICT (process) DO UPDATE SET seen_at = ${seenAt}`);
  await pool.query(`UPDATE brain.brain_owners SET process = 'other', epoch = epoch + 1 WHERE brain = 'svc'`);
}

it('does again what an owner had in hand that died, where twice is no harm', async () => {
  const silence = Promise.withResolvers<string>();
  await node.bus.respond('brain.process.other', () => silence.promise);
  const content = 'text';
  for (const [tool, args, over, ends] of [
    ['svc_set_memory', { category: '', filename: 'a', content }, {}, { saved: true }],
    ['brain_delete_file', { name: 'a' }, { idempotencyKey: 'once' }, { deleted: true }],
    ['svc_get_memory', { category: '', filename: 'a' }, {}, { code: 'E_FILE_ABSENT' }],
    ['brain_delete_file', { name: 'a' }, {}, 'E_OUTCOME_UNKNOWN'],
  ] as const) {
    await node.call('brain_list', {});
    await ownedByAnother(500);
    const ended = node.call(tool, args, over).catch(({ message }: Error) => message);
    if (typeof ends === 'string') expect(await ended, tool).toBe(ends);
    else expect(await ended, tool).toMatchObject(ends);
  }
  silence.resolve('nobody hears it');
});

it('believes an owner that is another process only in the declared form of the answer', async () => {
  let reply: unknown;
  let told = '';
  await ownedByAnother(60_000);
  await node.bus.respond('brain.process.other', async (payload) => {
    told = payload;
    return JSON.stringify(reply);
  });
  const write = (): Promise<unknown> => node.call('svc_set_memory', { category: '', filename: 'a', content: 'text' });
  const written = { file: 'a.md', hash: '0'.repeat(64), bytes: 4, changed: true, created: true };
  const answered = (decision: object) => ({ answer: { decision, replayed: false } });

  reply = answered({ ok: true, value: written });
  expect(await write()).toMatchObject({ saved: true, ...written });
  // One of the version before does not know it.
  expect(JSON.parse(told).context).not.toHaveProperty('repeatable');
  for (const wrong of [
    answered({ ok: true, value: { ...written, hash: undefined } }),
    answered({ ok: true, value: { ...written, text: 'x' } }),
    answered({ ok: false, code: 'E_CYCLE' }),
    { anything: true },
  ]) {
    reply = wrong;
    await expect(write()).rejects.toThrow('INTERNAL');
  }
});

it('asks the owner again to whom it came late, because that began nothing', async () => {
  const written = { file: 'a.md', hash: '0'.repeat(64), bytes: 4, changed: true, created: true };
  const replies: object[] = [
    { failure: failureOf(new LateCall()) },
    { answer: { decision: { ok: true, value: written }, replayed: false } },
  ];
  await ownedByAnother(60_000);
  await node.bus.respond('brain.process.other', async () => JSON.stringify(replies.shift()));
  const write = node.call('svc_set_memory', { category: '', filename: 'a', content: 'text' });
  expect(await write).toMatchObject({ saved: true, ...written });
});

it('takes nothing back that it put on disk before it stood still, because another process may have acknowledged it', async () => {
  let asked = 0;
  // Once before it begins, and again when its transaction has failed.
  const path = join(bed.dataDir, 'brains', 'svc', 'a.md');
  const write = (content: string) => node.call('svc_set_memory', { category: '', filename: 'a', content });
  await write('first');
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await write('refused')).toMatchObject({ code: 'E_STATE_WRITE' });
    expect(readFileSync(path, 'utf8')).toBe('first');
    node.bus.sinceGivenUpMs = () => (asked++ === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
    await expect(write('second')).rejects.toThrow('E_OUTCOME_UNKNOWN');
  }
  node.bus.sinceGivenUpMs = () => Number.POSITIVE_INFINITY;
  expect(readFileSync(path, 'utf8')).toBe('second');
  expect(await node.call('svc_get_memory', { category: '', filename: 'a' })).toMatchObject({ content: 'second' });
});

it('has done nothing that could be unknown when it stood still before it knew that the brain is not its own any more', async () => {
  const write = (content: string) => node.call('svc_set_memory', { category: '', filename: 'a', content });
  await write('first');
  await bed.database.pool.query('UPDATE brain.brain_owners SET epoch = epoch + 1');
  let asked = 0;
  node.bus.sinceGivenUpMs = () => (asked++ === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
  // Whoever is told so sends it again.
  await expect(write('second')).rejects.toThrow('SERVICE_UNAVAILABLE');
  node.bus.sinceGivenUpMs = () => Number.POSITIVE_INFINITY;
  expect(await write('third')).toMatchObject({ saved: true });
});

it('does not do late what it had in hand when it stood still, because another process may have done it', async () => {
  let stoodStillAt = -Infinity;
  node.bus.sinceGivenUpMs = (repeatable) => (repeatable ? performance.now() - stoodStillAt : Number.POSITIVE_INFINITY);
  const write = (filename: string) => node.call('svc_set_memory', { category: '', filename, content: 'late' });
  const read = () => node.call('svc_get_memory', { category: '', filename: 'b' });
  await write('a');
  // What is asked of the registry now waits, and the calls with it.
  bed.registry.touch();
  bed.registry.isAway = true;
  // Nobody sends that elsewhere as long as this process may only be slow.
  const remove = () => node.call('brain_delete_file', { name: 'a' });
  const calls = [write('b'), read(), remove()];
  await new Promise((resolve) => setTimeout(resolve, 200));
  stoodStillAt = performance.now();
  bed.registry.isAway = false;
  const [written, answered, removed] = await Promise.allSettled(calls);
  expect(written).toMatchObject({ status: 'rejected', reason: { message: 'SERVICE_UNAVAILABLE' } });
  expect(removed).toMatchObject({ status: 'fulfilled', value: { deleted: true } });
  expect(answered).toMatchObject({ status: 'fulfilled', value: { code: 'E_FILE_ABSENT' } });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await write('b')).toMatchObject({ saved: true });
});
