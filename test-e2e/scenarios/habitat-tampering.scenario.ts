/** Somebody who rules the database changes the audit. */
import { hash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import type { Database } from '@svc/runtime/database.ts';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { withDatabase } from '../instruments/stored-rows.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { TAMPERED_CHAINS } from '../settings.ts';
import { newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

type Pool = Database['pool'];
type Tamper = (pool: Pool, chain: string, seq: number) => Promise<unknown>;

const LENGTH = 6;
const ENTRY = 'habitat.audit_entries WHERE chain = $1 AND seq';

interface Row extends Fields {
  readonly id: string;
  readonly at: Date;
}

/** Writes a whole chain and its end anew with right hashes, as anybody can who reads how they are made. */
async function stampAnew(pool: Pool, chain: string): Promise<void> {
  const { rows } = await pool.query<Row>(`SELECT * FROM ${ENTRY} > 0 ORDER BY seq`, [chain]);
  let [seq, prevHash] = [0, '0'.repeat(64)];
  for (const { id, at, event, kind, subject, workspace, data } of rows) {
    seq += 1;
    const rest = sortedJson({ id, seq, at: at.getTime(), event, kind, subject, workspace, data });
    const own = hash('sha256', prevHash + rest, 'hex');
    const values = [id, seq, prevHash, own];
    await pool.query('UPDATE habitat.audit_entries SET seq = $2, prev_hash = $3, hash = $4 WHERE id = $1', values);
    prevHash = own;
  }
  await pool.query('UPDATE habitat.audit_heads SET seq = $2, hash = $3 WHERE chain = $1', [chain, seq, prevHash]);
}

const TAMPERINGS: readonly (readonly [string, Tamper])[] = [
  [
    'edit',
    (pool, chain, seq) =>
      pool.query(`UPDATE habitat.audit_entries SET data = '{"n":-1}' WHERE chain = $1 AND seq = $2`, [chain, seq]),
  ],
  ['delete', (pool, chain, seq) => pool.query(`DELETE FROM ${ENTRY} = $2`, [chain, seq])],
  [
    'insert',
    (pool, chain) =>
      pool.query(
        `INSERT INTO habitat.audit_entries
         SELECT chain, seq + 1, 'aud_' || chain, at, event, kind, subject, workspace, data, hash, repeat('0', 64), actor
         FROM ${ENTRY} = $2`,
        [chain, LENGTH],
      ),
  ],
  [
    'swap',
    async (pool, chain, seq) => {
      for (const [from, to] of [
        [seq, 0],
        [seq + 1, seq],
        [0, seq + 1],
      ])
        await pool.query('UPDATE habitat.audit_entries SET seq = $3 WHERE chain = $1 AND seq = $2', [chain, from, to]);
    },
  ],
  [
    'stamp anew',
    async (pool, chain, seq) => {
      await pool.query(`UPDATE habitat.audit_entries SET event = 'x' WHERE chain = $1 AND seq = $2`, [chain, seq]);
      await stampAnew(pool, chain);
    },
  ],
  ['cut off', (pool, chain, seq) => pool.query(`DELETE FROM ${ENTRY} > $2`, [chain, seq])],
  [
    'cut off and stamp anew',
    async (pool, chain, seq) => {
      await pool.query(`DELETE FROM ${ENTRY} > $2`, [chain, seq]);
      await stampAnew(pool, chain);
    },
  ],
];

const target = ownTarget({}, { fresh: { gateways: 1, replicas: 1 }, apart: REGISTRY_APART });

verifies(
  'habitat:audit:tampering',
  async ({ report, socket }) => {
    const { place, habitats } = target.get();
    const operator = new Caller(place);
    const run = newName('t');
    const chains = Array.from({ length: TAMPERED_CHAINS }, (_, index) => `${run}-${index}`);
    for (const workspaceId of [...chains, `${run}-whole`]) {
      await operator.ok('svc_habitat_createWorkspace', { workspaceId });
      // The creation is an entry too, and comes by itself.
      const arrived = async () => (await operator.ok('svc_audit_list', { workspace: workspaceId })).count === 1;
      await waitFor(arrived, { what: 'the entry of the creation' });
      for (let n = 2; n <= LENGTH; n += 1) {
        await operator.ok('svc_audit_log', { event: 'e', workspace: workspaceId, data: { n } });
      }
    }
    expect(await operator.ok('svc_audit_verify')).toMatchObject({ ok: true });
    const [only] = habitats;
    if (place.kind === 'embedded') await only?.stop();
    await withDatabase(place, async (pool) => {
      await pool.query('ALTER TABLE habitat.audit_entries DISABLE TRIGGER USER');
      for (const [index, chain] of chains.entries()) {
        await TAMPERINGS[index % TAMPERINGS.length]?.[1](pool, chain, 2 + (index % (LENGTH - 2)));
      }
      await pool.query('ALTER TABLE habitat.audit_entries ENABLE TRIGGER USER');
    });
    if (place.kind === 'embedded') await only?.start();
    const listener = await socket();
    await listener.subscribe();
    const verified = await operator.ok('svc_audit_verify');
    const broken = new Set(
      (verified['chains'] as Fields[])
        .filter(({ brokenAt, truncated }) => brokenAt !== undefined || truncated === true)
        .map(({ workspace }) => workspace),
    );
    const missed = chains.flatMap((chain, index) =>
      broken.has(chain) ? [] : [TAMPERINGS[index % TAMPERINGS.length]?.[0]],
    );
    expect([verified['ok'], missed, broken.size]).toEqual([false, [], TAMPERED_CHAINS]);
    for (const chain of chains)
      await listener.until(`of ${chain}`, (event) => event.name === 'audit:broken' && event.chain === chain);
    report(`${broken.size} of ${TAMPERED_CHAINS} changes of the audit found`);
  },
  { on: target, timeoutMs: 240_000 },
);
