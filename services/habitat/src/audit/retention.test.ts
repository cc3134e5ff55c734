/** Old entries leave the audit, and what is left still tells whether anybody else took something. */
import { readConfig } from '@svc/runtime/config.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from '../../testing/habitat-test-bed.ts';

const KEPT = { days: 400, entries: 0 };
const OLD_MS = Date.UTC(2023, 0, 1);
const KEY = 'the key of the audit, long enough for it';
const NEXT_KEY = 'the next key of the audit, long enough';

async function openBed(): Promise<HabitatTestBed> {
  const bed = await openHabitatTestBed();
  onTestFinished(() => bed[Symbol.asyncDispose]());
  return bed;
}

/** As one process of several, all of which have the key. */
async function start(bed: HabitatTestBed, keys: Record<string, string>): Promise<HabitatNode> {
  const { config } = readConfig({ SVC_DATA_DIR: bed.dataDir, ...keys }, () => '');
  return bed.start({ config, database: { ...bed.database, exclusive: false } });
}

/** Entries of which the first ones are old. */
async function write(node: HabitatNode, workspace: string, old: number, fresh: number): Promise<void> {
  const entries = Array.from({ length: old + fresh }, (_, n) => ({
    id: `${workspace}-${n}`,
    at: n < old ? OLD_MS + n : Date.now(),
    event: 'thing:done',
    workspace,
    subject: { agentId: 'a', verified: true },
    data: { n },
  }));
  for (let from = 0; from < entries.length; from += 50) {
    await node.registry.audit({ entries: entries.slice(from, from + 50) });
  }
  await node.deps.audit.saveAll();
}

const verdictOf = async (node: HabitatNode, workspace: string) => {
  const { ok, chains } = await node.call('svc_audit_verify', { workspace });
  return { ok, ...(chains as Record<string, unknown>[])[0] };
};
const GUARDED = ['audit_cuts', 'audit_entries'];
const seqs = async (node: HabitatNode, chain: string) =>
  (await node.rows('SELECT seq::int FROM habitat.audit_entries WHERE chain = $1 ORDER BY seq', chain)).map(
    ({ seq }) => seq,
  );

test('entries that are old enough go from the front; the chain verifies and goes on', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(node, 'mixed', 120, 3);
  await write(node, 'past', 5, 0);
  await write(node, 'young', 0, 3);
  await node.deps.audit.cutOld(KEPT);
  expect(await seqs(node, 'mixed')).toEqual([121, 122, 123]);
  expect([await seqs(node, 'past'), await seqs(node, 'young')]).toEqual([[], [1, 2, 3]]);
  expect(await verdictOf(node, 'mixed')).toMatchObject({ ok: true, entries: 3, keptFrom: 121, checkpointSeq: 123 });
  expect(await verdictOf(node, 'past')).toMatchObject({ ok: true, entries: 0, keptFrom: 6 });
  expect(await verdictOf(node, 'young')).not.toHaveProperty('keptFrom');
  await node.deps.audit.cutOld(KEPT);
  await node.registry.audit({
    entries: [{ id: 'more', at: Date.now(), event: 'more', workspace: 'past', subject: { verified: true }, data: {} }],
  });
  expect(await seqs(node, 'past')).toEqual([6]);
  expect(await node.call('svc_audit_verify')).toMatchObject({ ok: true });
  await expect(node.rows(`DELETE FROM habitat.audit_entries WHERE chain = 'mixed'`)).rejects.toThrow('never changed');
  await node.stop();
});

test('whoever rules the database and cuts more, less or elsewhere is found out', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  const cutAt = (seq: number, mac: string) => `UPDATE habitat.audit_cuts SET mac = ${mac}, (seq, hash) =
    (SELECT seq, hash FROM habitat.audit_entries e WHERE e.chain = audit_cuts.chain AND e.seq = ${seq}) WHERE chain = $1`;
  const removeTo = (seq: number) => `DELETE FROM habitat.audit_entries WHERE chain = $1 AND seq <= ${seq}`;
  const forgeries: Record<string, readonly string[]> = {
    further: [cutAt(12, 'mac'), removeTo(12)],
    'to the end, with the signature of the end': [
      cutAt(14, '(SELECT mac FROM habitat.audit_heads h WHERE h.chain = audit_cuts.chain)'),
      removeTo(14),
    ],
    'without saying so': ['DELETE FROM habitat.audit_cuts WHERE chain = $1'],
    'less, of what was cut': ['UPDATE habitat.audit_cuts SET seq = 9 WHERE chain = $1'],
    'with another hash': [`UPDATE habitat.audit_cuts SET hash = '${'f'.repeat(64)}' WHERE chain = $1`],
  };
  const found: Record<string, unknown> = {};
  for (const [index, [kind, statements]] of Object.entries(forgeries).entries()) {
    const workspace = `w${index}`;
    await write(node, workspace, 10, 4);
    await node.deps.audit.cutOld(KEPT);
    expect(await verdictOf(node, workspace)).toMatchObject({ ok: true, keptFrom: 11 });
    for (const table of GUARDED) await node.rows(`ALTER TABLE habitat.${table} DISABLE TRIGGER USER`);
    for (const statement of statements) await node.rows(statement, workspace);
    for (const table of GUARDED) await node.rows(`ALTER TABLE habitat.${table} ENABLE TRIGGER USER`);
    found[kind] = (await verdictOf(node, workspace)).ok;
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(forgeries).map((kind) => [kind, false])));
  await node.stop();
});

test('an older cut that is put back does not hide what went since', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(node, 'acme', 10, 0);
  await node.deps.audit.cutOld(KEPT);
  const [{ hash, mac } = {}] = await node.rows(`SELECT hash, mac FROM habitat.audit_cuts WHERE chain = 'acme'`);
  await node.registry.audit({
    entries: Array.from({ length: 5 }, (_, n) => ({
      id: `later-${n}`,
      at: OLD_MS,
      event: 'later',
      workspace: 'acme',
      subject: { verified: true },
      data: {},
    })),
  });
  await node.deps.audit.cutOld(KEPT);
  expect(await verdictOf(node, 'acme')).toMatchObject({ ok: true, keptFrom: 16 });
  const putBack = () =>
    node.rows(`UPDATE habitat.audit_cuts SET seq = 10, hash = $1, mac = $2 WHERE chain = 'acme'`, hash, mac);
  await expect(putBack()).rejects.toThrow('never taken back');
  await node.rows('ALTER TABLE habitat.audit_cuts DISABLE TRIGGER USER');
  await putBack();
  await node.rows('ALTER TABLE habitat.audit_cuts ENABLE TRIGGER USER');
  expect(await verdictOf(node, 'acme')).toMatchObject({ ok: false, truncated: true });
  await node.stop();
});

test('a chain that does not verify keeps what it has', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(node, 'acme', 10, 2);
  await node.rows('ALTER TABLE habitat.audit_entries DISABLE TRIGGER USER');
  await node.rows(`UPDATE habitat.audit_entries SET event = 'x' WHERE chain = 'acme' AND seq = 4`);
  await node.rows('ALTER TABLE habitat.audit_entries ENABLE TRIGGER USER');
  await node.deps.audit.cutOld(KEPT);
  expect(await seqs(node, 'acme')).toHaveLength(12);
  expect(await verdictOf(node, 'acme')).toMatchObject({ ok: false, brokenAt: 4 });
  await node.stop();
});

test('a cut stays good when another key takes the place of the one that signed it', async () => {
  const bed = await openBed();
  const old = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(old, 'acme', 10, 2);
  await old.deps.audit.cutOld(KEPT);
  await old.stop();
  const changing = await start(bed, { SVC_AUDIT_KEY: NEXT_KEY, SVC_AUDIT_KEY_ALSO: KEY });
  expect(await verdictOf(changing, 'acme')).toMatchObject({ ok: true, keptFrom: 11 });
  await changing.deps.audit.saveAll();
  await changing.stop();
  const next = await start(bed, { SVC_AUDIT_KEY: NEXT_KEY });
  expect(await verdictOf(next, 'acme')).toMatchObject({ ok: true, keptFrom: 11 });
  await next.stop();
});

test('the database takes no cut that is not at an old entry of its chain, and none back', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(node, 'acme', 10, 4);
  const cut = (seq: number, hash = '(SELECT hash FROM habitat.audit_entries WHERE chain = $1 AND seq = $2)') =>
    node.rows(
      `INSERT INTO habitat.audit_cuts (chain, seq, hash, mac, at) VALUES ($1, $2, ${hash}, 'x', now())`,
      'acme',
      seq,
    );
  await expect(cut(14)).rejects.toThrow('ends at an old entry');
  await expect(cut(14, `'${'f'.repeat(64)}'`)).rejects.toThrow('ends at an old entry');
  await expect(cut(1_000, `'${'f'.repeat(64)}'`)).rejects.toThrow('ends at an old entry');
  await node.deps.audit.cutOld(KEPT);
  for (const [statement, refusal] of [
    ['DELETE FROM habitat.audit_cuts', 'never taken back'],
    ['TRUNCATE habitat.audit_cuts', 'never taken back'],
    ['UPDATE habitat.audit_cuts SET seq = 9', 'never taken back'],
    ['UPDATE habitat.audit_cuts SET seq = 12', 'ends at an old entry'],
    [`UPDATE habitat.audit_cuts SET hash = '${'f'.repeat(64)}'`, 'ends at an old entry'],
  ] as const) {
    await expect(node.rows(statement), statement).rejects.toThrow(refusal);
  }
  await expect(node.rows('DELETE FROM habitat.audit_entries')).rejects.toThrow('never changed');
  expect(await verdictOf(node, 'acme')).toMatchObject({ ok: true, entries: 4, keptFrom: 11 });
  await node.stop();
});

test('beyond the number that is kept the oldest go, but none of the last week', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: KEY });
  await write(node, 'many', 120, 3);
  await write(node, 'flooded', 5, 120);
  await write(node, 'few', 12, 0);
  await node.deps.audit.cutOld({ days: 0, entries: 12 });
  expect(await seqs(node, 'many')).toEqual(Array.from({ length: 12 }, (_, n) => 112 + n));
  expect(await seqs(node, 'flooded')).toEqual(Array.from({ length: 120 }, (_, n) => 6 + n));
  expect(await seqs(node, 'few')).toHaveLength(12);
  expect(await node.call('svc_audit_verify')).toMatchObject({ ok: true });
  await node.deps.audit.cutOld({ days: 0, entries: 0 });
  expect(await seqs(node, 'many')).toHaveLength(12);
  await node.stop();
});
