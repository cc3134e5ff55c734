/** The chains of the audit on any database: many writers at once, and somebody who rules the database and changes them. */
import type { PostedAuditEntry } from '@svc/contract/audit.ts';
import type { Database } from '@svc/runtime/database.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { describe, expect, test } from 'vitest';
import { FIRST_PREV_HASH, hashOf } from '../domain/audit-chain.ts';
import type { HabitatNode } from '../../testing/habitat-test-bed.ts';
import { type AuditSqlRow, auditRow, ENTRY_COLUMNS } from '../store/audit-rows.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const LENGTH = 30;
/** Of each kind of tampering, each in a chain of its own. */
const TRIALS = 10;
const WRITERS = 200;

interface Chain {
  readonly name: string;
  /** An entry that neither begins nor ends the chain. */
  readonly seq: number;
  /** The head as it was, rightly signed, when the chain was half as long. */
  readonly oldHead: Fields;
  sql(statement: string, ...values: unknown[]): Promise<Fields[]>;
}

const FORGED = 'f'.repeat(64);

/** Everything after an entry written anew with right hashes, the head too; only the key is missing. */
async function restamp({ name, sql }: Chain): Promise<void> {
  const found = await sql(`SELECT ${ENTRY_COLUMNS} FROM habitat.audit_entries WHERE chain = $1 ORDER BY seq`, name);
  let end = { seq: 0, hash: FIRST_PREV_HASH };
  for (const row of (found as unknown as AuditSqlRow[]).map(auditRow)) {
    const seq = end.seq + 1;
    const hash = hashOf(end.hash, { ...row, seq });
    const values = [name, row.id, seq, end.hash, hash];
    await sql(
      'UPDATE habitat.audit_entries SET seq = $3, prev_hash = $4, hash = $5 WHERE chain = $1 AND id = $2',
      ...values,
    );
    end = { seq, hash };
  }
  await sql('UPDATE habitat.audit_heads SET seq = $2, hash = $3 WHERE chain = $1', name, end.seq, end.hash);
}

const ENTRY = 'habitat.audit_entries WHERE chain = $1 AND seq';
const TAMPERINGS: Record<string, (chain: Chain) => Promise<unknown>> = {
  'edits data': ({ name, seq, sql }) =>
    sql(`UPDATE habitat.audit_entries SET data = '{"n":0.5}' WHERE chain = $1 AND seq = $2`, name, seq),
  'edits the subject and its column': ({ name, seq, sql }) =>
    sql(
      `UPDATE habitat.audit_entries SET subject = '{"agentId":"other","verified":true}', actor = 'other'
       WHERE chain = $1 AND seq = $2`,
      name,
      seq,
    ),
  'deletes one': ({ name, seq, sql }) => sql(`DELETE FROM ${ENTRY} = $2`, name, seq),
  'inserts one at the end': ({ name, sql }) =>
    sql(
      `INSERT INTO habitat.audit_entries (chain, seq, id, at, event, kind, subject, workspace, data, prev_hash, hash)
       SELECT chain, seq + 1, 'aud_' || chain, at, 'forged', kind, subject, workspace, data, hash, $3
       FROM ${ENTRY} = $2`,
      name,
      LENGTH,
      FORGED,
    ),
  'swaps two': async ({ name, seq, sql }) => {
    const move = (from: number, to: number) =>
      sql('UPDATE habitat.audit_entries SET seq = $3 WHERE chain = $1 AND seq = $2', name, from, to);
    await move(seq, 0);
    await move(seq + 1, seq);
    await move(0, seq + 1);
  },
  'edits and stamps anew': async (chain) => {
    await chain.sql(
      `UPDATE habitat.audit_entries SET event = 'harmless' WHERE chain = $1 AND seq = $2`,
      chain.name,
      chain.seq,
    );
    await restamp(chain);
  },
  'deletes one and stamps anew': async (chain) => {
    await chain.sql(`DELETE FROM ${ENTRY} = $2`, chain.name, chain.seq);
    await restamp(chain);
  },
  'cuts off the end': ({ name, seq, sql }) => sql(`DELETE FROM ${ENTRY} >= $2`, name, seq),
  'cuts off the end and puts back the head of that time': async ({ name, oldHead, sql }) => {
    await sql(`DELETE FROM ${ENTRY} > $2`, name, oldHead['seq']);
    await sql(
      'UPDATE habitat.audit_heads SET seq = $2, hash = $3, mac = $4, checkpoint_seq = 1 WHERE chain = $1',
      name,
      oldHead['seq'],
      oldHead['hash'],
      oldHead['mac'],
    );
  },
  'removes the whole chain': async ({ name, sql }) => {
    await sql('DELETE FROM habitat.audit_entries WHERE chain = $1', name);
    await sql('DELETE FROM habitat.audit_heads WHERE chain = $1', name);
  },
};

/** As a relay does; the writers of one chain wait for each other, which may take longer than an answer has. */
async function postUntilTaken({ registry }: HabitatNode, entries: PostedAuditEntry[]): Promise<void> {
  for (let attempt = 0; attempt < 60; attempt += 1) {
    const taken = await registry.audit({ entries }).then(
      () => true,
      () => false,
    );
    if (taken) return;
  }
  throw new Error('the audit did not take the entries');
}

/** `nodes` > 1 needs a database for several processes. */
export function describeChains(name: string, open: () => Promise<Database>, nodes: number): void {
  describe(`chains of the audit on ${name}`, () => {
    const { bed, node, nodeOf } = useHabitat({ open, nodes });
    const sql = (statement: string, ...values: unknown[]) => node.rows(statement, ...values);
    const verify = (workspace?: string) => node.call('svc_audit_verify', workspace === undefined ? {} : { workspace });
    const entry = (workspace: string | null, n: number, id = `${workspace}-${n}`) => ({
      id,
      at: 1_700_000_000_000 + n,
      event: 'thing:done',
      workspace,
      subject: { agentId: 'a', verified: true },
      data: { n },
    });

    test('many writers at once, of one chain and across chains, through every process: no gap, nothing twice', async () => {
      const logs = Array.from({ length: WRITERS }, (_, n) =>
        nodeOf(n).call('svc_audit_log', { event: 'logged', workspace: 'default', data: { n } }),
      );
      const workspaces = ['default', 'b', 'a', null];
      const posts = Array.from({ length: 20 }, (_, n) => {
        const entries = workspaces.map((workspace) => entry(workspace, n));
        const turned = n % 2 === 0 ? entries : entries.toReversed();
        return Promise.all([postUntilTaken(nodeOf(n), turned), postUntilTaken(nodeOf(n + 1), turned)]);
      });
      const logged = await Promise.all(logs);
      await Promise.all(posts);
      expect(new Set(logged.map(({ seq }) => seq)).size).toBe(WRITERS);
      const counted = await sql(
        `SELECT chain, count(*)::int AS n, min(seq)::int AS first, max(seq)::int AS last FROM habitat.audit_entries
         WHERE chain IN ('default', 'a', 'b', '') GROUP BY chain ORDER BY chain`,
      );
      expect(counted).toEqual([
        { chain: '', n: 20, first: 1, last: 20 },
        { chain: 'a', n: 20, first: 1, last: 20 },
        { chain: 'b', n: 20, first: 1, last: 20 },
        { chain: 'default', n: WRITERS + 20, first: 1, last: WRITERS + 20 },
      ]);
      expect(await verify()).toMatchObject({ ok: true });
    });

    test('the database refuses to change, to remove and to empty', async () => {
      for (const statement of [
        `UPDATE habitat.audit_entries SET event = 'x'`,
        'DELETE FROM habitat.audit_entries',
        'TRUNCATE habitat.audit_entries',
      ]) {
        await expect(sql(statement), statement).rejects.toThrow('never changed');
      }
    });

    test('whoever rules the database and changes a chain is found out, every time', async () => {
      const trials = Object.keys(TAMPERINGS).flatMap((kind, index) =>
        Array.from({ length: TRIALS }, (_, trial) => ({ kind, name: `t${index}x${trial}`, seq: 2 + trial * 2 })),
      );
      const heads = await writeChains([...trials.map(({ name: chain }) => chain), 'untouched']);
      expect(await verify()).toMatchObject({ ok: true });
      await sql('ALTER TABLE habitat.audit_entries DISABLE TRIGGER USER');
      const outcomes: [string, number, unknown, unknown][] = [];
      for (const { kind, name: chain, seq } of trials) {
        const oldHead = heads.get(chain) ?? {};
        await TAMPERINGS[kind]?.({ name: chain, seq, oldHead, sql });
        const { ok, chains } = await verify(chain);
        const [verdict] = chains as Fields[];
        outcomes.push([kind, seq, ok, verdict?.['truncated'] === true ? 'truncated' : verdict?.['brokenAt']]);
      }
      await sql('ALTER TABLE habitat.audit_entries ENABLE TRIGGER USER');
      expect(outcomes.filter(([, , ok]) => ok !== false)).toEqual([]);
      expect(outcomes).toHaveLength(100);
      // Where nothing was written anew, the place is named.
      const inPlace = outcomes.filter(([kind]) => /^edits (data|the)|^deletes one$|^swaps/.test(kind));
      expect(inPlace.filter(([, seq, , brokenAt]) => brokenAt !== seq)).toEqual([]);
      expect(outcomes.filter(([kind, , , found]) => /^(cuts|removes)/.test(kind) && found !== 'truncated')).toEqual([]);
      expect(await verify('untouched')).toMatchObject({ ok: true });
      const told = await sql(`SELECT payload FROM habitat.outbox WHERE name = 'audit:broken'`);
      expect(told).toHaveLength(100);
    });

    test('an end that does not fit its signature is never signed again', async () => {
      // The one checkpoint beside the database is older than what is changed, so it says nothing against it.
      const entries = Array.from({ length: LENGTH }, (_, n) => entry('laundered', n));
      await postUntilTaken(node, entries.slice(0, 1));
      await node.deps.audit.saveAll();
      await postUntilTaken(node, entries.slice(1));
      await sql('ALTER TABLE habitat.audit_entries DISABLE TRIGGER USER');
      await TAMPERINGS['edits and stamps anew']?.({ name: 'laundered', seq: LENGTH, oldHead: {}, sql });
      await sql('ALTER TABLE habitat.audit_entries ENABLE TRIGGER USER');
      for (let n = 0; n < 3; n += 1) {
        await postUntilTaken(node, [entry('laundered', 100 + n)]);
        await node.deps.audit.saveAll();
        expect(await verify('laundered')).toMatchObject({ ok: false });
      }
    });

    test('another key vouches for nothing, and a process that has it does not start', async () => {
      const { config } = readConfig(
        { SVC_DATA_DIR: bed().dataDir, SVC_AUDIT_KEY: 'another key of thirty-two letters' },
        () => '',
      );
      await expect(bed().start({ config })).rejects.toThrow(
        'SVC_AUDIT_KEY does not verify the stored heads of the audit',
      );
    });

    test('one forged end keeps nobody from starting', async () => {
      const [{ mac } = {}] = await sql(`SELECT mac FROM habitat.audit_heads WHERE chain = 'untouched'`);
      await sql(
        `UPDATE habitat.audit_heads SET mac = 'forged', checkpoint_at = clock_timestamp() WHERE chain = 'untouched'`,
      );
      await (await bed().start()).stop();
      await sql(`UPDATE habitat.audit_heads SET mac = '${String(mac)}' WHERE chain = 'untouched'`);
    });

    /** Writes chains of equal length and saves their ends; answers the heads as they were at half the length. */
    async function writeChains(chains: readonly string[]): Promise<Map<string, Fields>> {
      const post = async (from: number, to: number) => {
        for (const chain of chains) {
          const entries = Array.from({ length: to - from }, (_, n) => entry(chain, from + n));
          await postUntilTaken(node, entries);
        }
      };
      await post(0, LENGTH / 2);
      const half = await sql('SELECT chain, seq::int, hash, mac FROM habitat.audit_heads');
      await post(LENGTH / 2, LENGTH);
      await node.deps.audit.saveAll();
      return new Map(half.map((head) => [String(head['chain']), head]));
    }
  });
}
