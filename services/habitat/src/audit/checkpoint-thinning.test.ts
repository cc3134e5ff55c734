/** The second place of the audit stays small, and tells afterwards whatever it told before. */
import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '@svc/runtime/config.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from '../../testing/habitat-test-bed.ts';
import { createSeal } from './seal.ts';

const KEY = 'the key of the audit, long enough for it';
const LENGTH = 400;
/** A file of them is long. */
const LINES = 7_000;

interface Bench {
  readonly bed: HabitatTestBed;
  readonly node: HabitatNode;
  /** Twice, as the job does with hours between. */
  thin(): Promise<void>;
}

async function open(): Promise<Bench> {
  const bed = await openHabitatTestBed();
  onTestFinished(() => bed[Symbol.asyncDispose]());
  const { config } = readConfig({ SVC_DATA_DIR: bed.dataDir, SVC_AUDIT_KEY: KEY }, () => '');
  let ahead = 0;
  const node = await bed.start({
    config,
    database: { ...bed.database, exclusive: false },
    clock: { now: () => Date.now() + ahead },
  });
  onTestFinished(() => node.stop());
  return {
    bed,
    node,
    async thin() {
      await node.deps.audit.thinCheckpoints();
      ahead = 60 * 60_000;
      await node.deps.audit.thinCheckpoints();
      ahead = 0;
    },
  };
}

async function write({ node }: Bench, chain: string, count: number, as = 'first', at = Date.now()): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const entries = Array.from({ length: Math.min(100, count - from) }, (_, n) => ({
      id: `${chain}-${as}-${from + n}`,
      at,
      event: 'thing:done',
      workspace: chain,
      subject: { verified: true },
      data: { n },
    }));
    await node.registry.audit({ entries });
  }
  await node.deps.audit.saveAll();
}

/** Checkpoints as the service writes them, of entries as they are now, one after the other and again from the start. */
async function checkpointOften({ bed, node }: Bench, chain: string): Promise<void> {
  const seal = createSeal(Buffer.from(KEY));
  const ends = await node.rows<{ seq: number; hash: string }>(
    'SELECT seq::int, hash FROM habitat.audit_entries WHERE chain = $1 ORDER BY seq',
    chain,
  );
  const lines = Array.from({ length: LINES }, (_, n) => {
    const { seq = 0, hash = '' } = ends[n % ends.length] ?? {};
    return `${JSON.stringify({ chain, seq, hash, at: Date.now(), mac: seal.sign({ chain, seq, hash }) })}\n`;
  });
  appendFileSync(join(bed.dataDir, 'audit', 'checkpoints'), lines.join(''));
}

function linesOf({ bed }: Bench, chain: string): number {
  const folder = join(bed.dataDir, 'audit');
  const files = readdirSync(folder).filter((name) => name.startsWith('checkpoints'));
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  return text.split('\n').filter((line) => line.includes(`"chain":"${chain}"`)).length;
}

async function verdictOf({ node }: Bench, workspace: string) {
  const { ok, chains } = await node.call('svc_audit_verify', { workspace });
  return { ok, ...(chains as Record<string, unknown>[])[0] };
}

/** Somebody who rules the database takes the chain back to what it was, signature and all. */
async function rollBack({ node }: Bench, chain: string, head: Record<string, unknown>): Promise<void> {
  await node.rows('ALTER TABLE habitat.audit_entries DISABLE TRIGGER USER');
  await node.rows('DELETE FROM habitat.audit_entries WHERE chain = $1 AND seq > $2', chain, head['seq']);
  await node.rows('ALTER TABLE habitat.audit_entries ENABLE TRIGGER USER');
  await node.rows(
    'UPDATE habitat.audit_heads SET seq = $2, hash = $3, mac = $4, checkpoint_seq = 1 WHERE chain = $1',
    chain,
    head['seq'],
    head['hash'],
    head['mac'],
  );
}

async function headOf({ node }: Bench, chain: string): Promise<Record<string, unknown>> {
  const [head = {}] = await node.rows('SELECT seq::int, hash, mac FROM habitat.audit_heads WHERE chain = $1', chain);
  return head;
}

test('of thousands of checkpoints some tens stay, and what is changed later is found as before', async () => {
  const bench = await open();
  await write(bench, 'acme', LENGTH / 2);
  const half = await headOf(bench, 'acme');
  await write(bench, 'acme', LENGTH / 2, 'second');
  await write(bench, 'quiet', 3);
  await checkpointOften(bench, 'acme');
  await bench.thin();
  expect(linesOf(bench, 'acme')).toBeLessThan(20);
  expect(linesOf(bench, 'quiet')).toBeGreaterThan(0);
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: true, entries: LENGTH, checkpointSeq: LENGTH });
  // Again, from where it was judged.
  await write(bench, 'acme', 50, 'third');
  await checkpointOften(bench, 'acme');
  await bench.thin();
  expect(linesOf(bench, 'acme')).toBeLessThan(20);
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: true, checkpointSeq: LENGTH + 50 });
  await rollBack(bench, 'acme', half);
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: false, truncated: true });
  await write(bench, 'acme', LENGTH, 'other');
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: false });
});

test('checkpoints that contradict their chain stay, and go on telling of it', async () => {
  const bench = await open();
  await write(bench, 'acme', LENGTH / 2);
  const half = await headOf(bench, 'acme');
  await write(bench, 'acme', 20, 'hidden');
  await checkpointOften(bench, 'acme');
  await rollBack(bench, 'acme', half);
  await write(bench, 'acme', LENGTH, 'other');
  const before = linesOf(bench, 'acme');
  await bench.thin();
  expect(linesOf(bench, 'acme')).toBe(before);
  await checkpointOften(bench, 'acme');
  await bench.thin();
  expect(linesOf(bench, 'acme')).toBeGreaterThan(before);
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: false });
});

test('of a chain that was cut behind all its checkpoints the newest stays', async () => {
  const bench = await open();
  await write(bench, 'acme', 120, 'old', Date.UTC(2023, 0, 1));
  await checkpointOften(bench, 'acme');
  await bench.node.deps.audit.cutOld({ days: 400, entries: 0 });
  await bench.thin();
  expect(linesOf(bench, 'acme')).toBe(1);
  expect(await verdictOf(bench, 'acme')).toMatchObject({ ok: true, entries: 0, keptFrom: 121 });
});
