import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const operator = testCaller(() => node, null);
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const ann = testCaller(() => node, ANN);

const placeOf = (brain: string): string => join(bed.dataDir, 'brains', brain);
const filesOf = (brain: string): string[] =>
  readdirSync(placeOf(brain), { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('.git'))
    .sort();
const textOf = (brain: string, file: string): string => readFileSync(join(placeOf(brain), file), 'utf8');

it('answers each of many at once as if it came alone, whatever their keys were used for', async () => {
  await operator.ok('brain_switch', { name: 'keyed', create: true });
  const write = (name: string, content: string, idempotencyKey?: string) =>
    node
      .call('brain_write', { brain: 'keyed', name, content }, idempotencyKey === undefined ? {} : { idempotencyKey })
      .catch((error: Error) => ({ code: error.message }));
  const first = await write('known.md', 'first', 'used');
  await write('known.md', 'second');
  const answers = await Promise.all([
    write('plain.md', 'one'),
    write('known.md', 'first', 'used'), // is answered, and not done again
    write('known.md', 'third', 'used'),
    write('twin.md', 'one', 'fresh'),
    write('twin.md', 'one', 'fresh'),
    write('twin.md', 'two', 'fresh'),
    write('../out.md', 'one', 'refused'),
    write('plain.md', 'two'),
  ]);
  expect(answers[1]).toEqual(first);
  expect(answers.map(({ code }) => code)).toEqual([
    undefined,
    undefined,
    'IDEMPOTENCY_KEY_REUSED',
    undefined,
    undefined,
    'IDEMPOTENCY_KEY_REUSED',
    'VAF_PATH_BLOCKED',
    undefined,
  ]);
  expect(answers[4]).toEqual(answers[3]);
  expect(['known.md', 'plain.md', 'twin.md'].map((file) => textOf('keyed', file))).toEqual(['second', 'two', 'one']);
  // What was no outcome left its key free.
  expect(await write('within.md', 'one', 'refused')).not.toHaveProperty('code');
  expect(filesOf('keyed')).toEqual(['known.md', 'plain.md', 'twin.md', 'within.md']);
});

it('leaves nothing of what was judged before it was known that somebody else holds the lease', async () => {
  await operator.ok('brain_switch', { name: 'held', create: true });
  await operator.ok('brain_write', { brain: 'held', name: 'there.md', content: 'before' });
  await operator.ok('svc_lock', { brain: 'held', action: 'acquire', agentId: 'holder' });
  const before = filesOf('held');
  const refused = await Promise.all([
    ann.no('brain_write', { brain: 'held', name: 'there.md', content: 'after' }),
    ann.no('brain_write', { brain: 'held', name: 'new/file.md', content: 'after' }),
    ann.no('brain_write', { brain: 'held', name: 'new.md', content: 'after' }, { idempotencyKey: 'held' }),
  ]);
  expect(refused.map(({ code }) => code)).toEqual(['E_LOCKED', 'E_LOCKED', 'E_LOCKED']);
  expect(filesOf('held')).toEqual(before);
  expect(textOf('held', 'there.md')).toBe('before');
  const mixed = await Promise.all([
    ann.no('brain_write', { brain: 'held', name: 'there.md', content: 'ann' }),
    operator.ok('brain_write', { brain: 'held', name: 'there.md', content: 'holder' }),
    ann.no('brain_write', { brain: 'held', name: 'new.md', content: 'after' }, { idempotencyKey: 'held' }),
  ]);
  expect(mixed[2]).toMatchObject({ code: 'E_LOCKED' });
  expect(textOf('held', 'there.md')).toBe('holder');
  expect(filesOf('held')).toEqual(before);
});

it('gives a key to the first of a batch that comes to an outcome, which a call error is not', async () => {
  await operator.ok('brain_switch', { name: 'freed', create: true });
  const write = (name: string, idempotencyKey?: string) =>
    node
      .call(
        'brain_write',
        { brain: 'freed', name, content: 'x' },
        idempotencyKey === undefined ? {} : { idempotencyKey },
      )
      .catch((error: Error) => ({ code: error.message }));
  await write('there.md');
  const answers = await Promise.all([
    write('before.md'), // the others wait for it, and are taken together then
    write('There.md', 'freed'), // a name that could be taken for the other
    write('made.md', 'freed'),
    write('made.md', 'freed'),
    write('other.md', 'freed'),
    write('THERE.md', 'left'),
  ]);
  expect(answers.map(({ code }) => code)).toEqual([
    undefined,
    'VAF_PATH_BLOCKED',
    undefined,
    undefined,
    'IDEMPOTENCY_KEY_REUSED',
    'VAF_PATH_BLOCKED',
  ]);
  expect(answers[3]).toEqual(answers[2]);
  expect(await write('made.md', 'freed')).toEqual(answers[2]);
  expect(await write('There.md', 'freed')).toEqual({ code: 'IDEMPOTENCY_KEY_REUSED' });
  expect(filesOf('freed')).toEqual(['before.md', 'made.md', 'there.md']);
  const { rows } = await bed.database.pool.query(`SELECT key FROM brain.idempotency WHERE key IN ('freed', 'left')`);
  expect(rows).toEqual([{ key: 'freed' }]);
});
