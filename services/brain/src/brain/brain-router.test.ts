/** Between processes a question and its answer are believed only in their declared form. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

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
  const context = { ...SERVICE, deadlineAt: Date.now() + 10_000 };
  const payload = JSON.stringify({ context, ...wish });
  return JSON.parse(
    await node.bus.request(`brain.process.${rows[0]?.process}`, payload, { deadlineAt: Date.now() + 10_000 }),
  );
}

it('answers a question of another process, and none that is not in its form', async () => {
  await node.call('svc_set_memory', { category: '', filename: 'a', content: 'text' });
  expect(await asked(READ)).toMatchObject({ answer: { ok: true, value: { file: 'a.md', content: 'text' } } });
  const refused = { failure: { code: 'INTERNAL' } };
  expect(await asked({ ...READ, question: { ...READ.question, more: true } })).toMatchObject(refused);
  expect(await asked({ ...READ, question: { branch: 'main', path: 7, at: null } })).toMatchObject(refused);
  expect(await asked({ ...READ, operation: 'constructor' })).toMatchObject(refused);
  expect(await asked({ ...READ, context: { ...SERVICE, deadlineAt: 'soon' } })).toMatchObject(refused);
});

it('believes an owner that is another process only in the declared form of the answer', async () => {
  const { pool } = bed.database;
  let reply: unknown;
  await pool.query(`INSERT INTO brain.brain_processes (process, node_id, started_at, seen_at)
    VALUES ('other', 'other', now(), now() + interval '1 minute')`);
  await pool.query(`UPDATE brain.brain_owners SET process = 'other', epoch = epoch + 1 WHERE brain = 'svc'`);
  await node.bus.respond('brain.process.other', async () => JSON.stringify(reply));
  const write = (): Promise<unknown> => node.call('svc_set_memory', { category: '', filename: 'a', content: 'text' });
  const written = { file: 'a.md', hash: '0'.repeat(64), bytes: 4, changed: true, created: true };
  const answered = (decision: object) => ({ answer: { decision, replayed: false } });

  reply = answered({ ok: true, value: written });
  expect(await write()).toMatchObject({ saved: true, ...written });
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
