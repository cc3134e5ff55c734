import type { PostedAuditEntry } from '@svc/contract/audit.ts';
import { CallError } from '@svc/contract/codes.ts';
import { defineOperations } from '@svc/contract/operation.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { embeddedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AuditRelay, createAuditRelay } from './audit-relay.ts';
import { type AuditEntry, writeAudit } from './audit.ts';
import { createLocalBus } from './bus.local.ts';
import { createIds, systemClock, systemRandom } from './clock.ts';
import type { SqlClient } from './database.ts';
import { createLog } from './log.ts';
import { serveOperations } from './operations.ts';
import { poolClient, withPgTransaction } from './transaction.ts';

const CHAINS = defineOperations(HABITAT.service, { audit: HABITAT.declared.audit });
const ids = createIds(systemClock, systemRandom);
const log = createLog('silent', {});

let database: Awaited<ReturnType<typeof embeddedDatabase>>;
let client: SqlClient;

beforeAll(async () => {
  database = await embeddedDatabase();
  client = poolClient(database.pool);
  await client.$executeRawUnsafe('CREATE SCHEMA own');
  await client.$executeRawUnsafe(
    `CREATE TABLE own.audit_batches (id text PRIMARY KEY, count int NOT NULL, bytes int NOT NULL,
       entries json NOT NULL, at timestamptz(3) NOT NULL DEFAULT clock_timestamp(), written bigserial NOT NULL)`,
  );
});
afterAll(() => database.close());
beforeEach(() => client.$executeRawUnsafe('DELETE FROM own.audit_batches'));

const note = (n: number): AuditEntry => ({
  event: 'thing:done',
  workspace: n % 2 === 0 ? 'w' : null,
  subject: { userId: 'u', verified: true },
  data: { n },
});
const writeAll = (entries: readonly AuditEntry[]) =>
  withPgTransaction(database.pool, (tx) => writeAudit(tx, 'own', ids, entries));
const write = (from: number, to: number) =>
  writeAll(Array.from({ length: to - from }, (_, index) => note(from + index)));
const waiting = async () => {
  const rows = await client.$queryRawUnsafe<{ count: number }[]>('SELECT count FROM own.audit_batches');
  return rows.reduce((sum, { count }) => sum + count, 0);
};

/** A relay, and chains that take every post but answer the first ones with a no. */
function relaying(refusals = 0) {
  const bus = createLocalBus({ log });
  const platform = { bus, clock: systemClock, log };
  const posts: PostedAuditEntry[][] = [];
  const relay: AuditRelay = createAuditRelay({
    schema: 'own',
    client,
    exclusive: true,
    transact: (work) => withPgTransaction(database.pool, work),
    platform,
  });
  const listen = () =>
    serveOperations(platform, {
      operations: CHAINS,
      handlers: {
        async audit({ entries }) {
          posts.push(entries);
          if (posts.length <= refusals) throw new CallError('E_BUSY');
          return {};
        },
      },
      deps: null,
    });
  const taken = () => posts.flat().map(({ data }) => data['n']);
  return { relay, posts, taken, listen };
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

test('hands over what was written, in order, in portions, and forgets it', async () => {
  const { relay, posts, taken, listen } = relaying();
  await listen();
  await write(0, 450);
  await relay.flush();
  expect(taken()).toEqual(upTo(450));
  expect(posts.map(({ length }) => length)).toEqual([200, 200, 50]);
  expect(posts[0]?.[0]).toEqual({ id: expect.stringMatching(/^aud_/), at: expect.any(Number), ...note(0) });
  expect(await waiting()).toBe(0);
});

test('hands over large entries in portions that the bus carries', async () => {
  const { relay, posts, taken, listen } = relaying();
  await listen();
  const large = { ...note(0), data: { text: 'x'.repeat(15_000) } };
  await writeAll(Array.from({ length: 150 }, (_, n) => ({ ...large, data: { ...large.data, n } })));
  await relay.flush();
  expect(taken()).toEqual(upTo(150));
  for (const entries of posts) expect(JSON.stringify({ entries }).length).toBeLessThan(1024 * 1024);
});

test('keeps what nobody takes, and sends it again under the same ids', async () => {
  const { relay, posts, taken, listen } = relaying(2);
  await write(0, 3);
  await relay.flush();
  expect([taken(), await waiting()]).toEqual([[], 3]);
  await listen();
  for (let attempt = 0; attempt < 3; attempt += 1) await relay.flush();
  expect(taken()).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
  expect(new Set(posts.flat().map(({ id }) => id)).size).toBe(3);
  expect(await waiting()).toBe(0);
});

test('looks by itself for entries of which nobody told it', async () => {
  const { relay, taken, listen } = relaying();
  await listen();
  relay.start();
  await write(0, 1);
  await expect.poll(taken).toEqual([0]);
  await write(1, 2);
  await relay.close();
  expect(taken()).toEqual([0, 1]);
});

test('never hands over what was rolled back', async () => {
  const { relay, taken, listen } = relaying();
  await listen();
  const failing = withPgTransaction(database.pool, async (tx) => {
    await writeAudit(tx, 'own', ids, [note(1)]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await relay.flush();
  expect(taken()).toEqual([]);
});
