/** Four who write at once into every family that is counted: as many go in as there is room for, and not one more. */
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import type { Database } from '@svc/runtime/database.ts';
import { runs } from '@svc/testing/counts.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BRAIN_LIMITS } from '../src/domain/brain-size.ts';
import { EVOLUTION_LIMITS } from '../src/evolution/domain/evolution.ts';
import { LINEAGE_LIMITS } from '../src/lineage/domain/lineage.ts';
import { MEMORY_LIMITS } from '../src/memory/domain/state.ts';
import { CITATION_LIMITS } from '../src/records/domain/citation.ts';
import { RESOLUTION_LIMITS } from '../src/records/domain/resolution.ts';
import { LINK_LIMITS } from '../src/relations/domain/link.ts';
import { OWNER_QUOTA } from '../src/tmp/domain/quota.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, type TestCaller, testCaller } from './brain-test-bed.ts';

const WRITERS = ['ann', 'bob', 'cid', 'dan'];
const WRITES_OF_EACH = runs(250);
const TOO_MANY = 10;
const ROOM = WRITERS.length * WRITES_OF_EACH - TOO_MANY;
const WORKSPACE = 'acme';
const BRAIN = 'shared';
/** Nobody waits for a turn in vain on a slow machine. */
const patiently = () => ({ deadlineAt: Date.now() + 240_000 });

interface Family {
  readonly name: string;
  readonly tool: string;
  /** Leaves as much room as is said. */
  shrink(room: number): Promise<unknown>;
  args(name: string): Fields;
  /** How much of what was written is there. */
  count(): Promise<number>;
}

export function describeWritersAtOnce(open: () => Promise<Database>): void {
  let bed: BrainTestBed;
  let node: BrainNode;
  let brainId = '';
  const start = async () => {
    node = await bed.start();
  };

  beforeAll(async () => {
    bed = await openBrainTestBed(open);
    await start();
    const operator = testCaller(() => node, null);
    await operator.ok('brain_switch', { name: BRAIN, create: true }, patiently());
    await operator.ok('brain_attend', { brain: BRAIN, name: 'x' }, patiently());
    brainId = (await rows<{ id: string }>(`SELECT id FROM brain.brain_homes WHERE brain = '${BRAIN}'`))[0]?.id ?? '';
  }, 90_000);
  afterAll(async () => {
    await node.stop();
    await bed[Symbol.asyncDispose]();
  });

  async function rows<Row>(query: string): Promise<Row[]> {
    return (await bed.database.pool.query(query)).rows as Row[];
  }
  const count = async (from: string) =>
    (await rows<{ n: number }>(`SELECT count(*)::int AS n FROM brain.${from}`))[0]?.n;
  const use = (kind: string, scope: string, items: number) =>
    rows(`INSERT INTO brain.brain_usage (kind, scope, items, bytes) VALUES ('${kind}', '${scope}', ${items}, 0)
      ON CONFLICT (kind, scope) DO UPDATE SET items = excluded.items`);
  const counted = async (table: string) => (await count(`${table} WHERE brain_id = '${brainId}'`)) ?? -1;

  const families: readonly Family[] = [
    {
      name: 'memory',
      tool: 'svc_memory_state',
      shrink: (room) => use('memory', WORKSPACE, MEMORY_LIMITS.keys - room),
      args: (key) => ({ key, value: key }),
      count: async () => (await count('brain_memory')) ?? -1,
    },
    {
      name: 'the dropbox',
      tool: 'svc_tmp_dropboxPut',
      shrink: (room) =>
        rows(`INSERT INTO brain.tmp_files
            (workspace, space, owner, slot, name, content, bytes, hash, "by", family, at, expires_at)
          SELECT '${WORKSPACE}', 'dropbox', '', 'was' || n, 'was' || n, 'x', 1, 'h', 'x', 'x', now(), now() + '1 day'
          FROM generate_series(1, ${OWNER_QUOTA.files - room}) n`),
      args: (name) => ({ name, content: name }),
      count: async () => (await count(`tmp_files WHERE name NOT LIKE 'was%'`)) ?? -1,
    },
    {
      name: 'storage',
      tool: 'svc_storage_write',
      async shrink(room) {
        const filler = join(bed.dataDir, 'brains', BRAIN, 'filler.bin');
        writeFileSync(filler, '');
        truncateSync(filler, BRAIN_LIMITS.bytes - room);
      },
      args: (name) => ({ brain: BRAIN, path: `stored/${name}.md`, content: 'x' }),
      count: async () => readdirSync(join(bed.dataDir, 'brains', BRAIN, 'stored')).length,
    },
    {
      name: 'lineage',
      tool: 'lineage_record',
      shrink: (room) =>
        rows(`INSERT INTO brain.lineage_graphs (workspace, nodes) VALUES ('${WORKSPACE}', ${LINEAGE_LIMITS.nodes - room})
          ON CONFLICT (workspace) DO UPDATE SET nodes = excluded.nodes`),
      args: (id) => ({ id, event: 'written' }),
      count: async () => (await count('lineage_nodes')) ?? -1,
    },
    {
      name: 'links',
      tool: 'brain_link',
      shrink: (room) => use('links', brainId, LINK_LIMITS.links - room),
      args: (to) => ({ brain: BRAIN, from: 'hub', to }),
      count: () => counted('brain_links'),
    },
    {
      name: 'resolutions',
      tool: 'svc_resolution_track',
      shrink: (room) => use('resolutions', brainId, RESOLUTION_LIMITS.resolutions - room),
      args: (change) => ({ brain: BRAIN, file: 'x.md', change }),
      count: () => counted('brain_resolutions'),
    },
    {
      name: 'citations',
      tool: 'svc_citations_add',
      shrink: (room) => use('citations', brainId, CITATION_LIMITS.citations - room),
      args: (context) => ({ brain: BRAIN, commit: 'abcd', context }),
      count: () => counted('brain_citations'),
    },
  ];

  function writerCalled(name: string): TestCaller {
    const subject: Subject = { workspace: WORKSPACE, userId: name, agentId: name, roles: ['editor'], verified: true };
    return testCaller(() => node, subject);
  }

  /** All calls of all writers at once. */
  function allAtOnce(tool: string, args: (name: string) => Fields): Promise<Fields[]> {
    return Promise.all(
      WRITERS.flatMap((who) => {
        const writer = writerCalled(who);
        return Array.from({ length: WRITES_OF_EACH }, (_, n) => writer.ok(tool, args(`${who}${n}`), patiently()));
      }),
    );
  }

  it.each(families)(
    '$name: as many go in as there is room for, one more does not, and all are there after a restart',
    async ({ tool, shrink, args, count: countNow }) => {
      await shrink(ROOM);
      const answers = await allAtOnce(tool, args);
      const withCode = (wanted: string | undefined) => answers.filter(({ code }) => code === wanted).length;
      expect([withCode(undefined), withCode('E_QUOTA')]).toEqual([ROOM, TOO_MANY]);
      expect(await countNow()).toBe(ROOM);
      await node.stop();
      await start();
      expect(await countNow()).toBe(ROOM);
      expect(await writerCalled('ann').ok(tool, args('late'), patiently())).toMatchObject({ code: 'E_QUOTA' });
    },
    300_000,
  );

  it('evolution: each insight of many at once is counted once, and as many are kept as are to be', async () => {
    const writer = writerCalled('ann');
    const insights = Array.from({ length: Math.max(WRITERS.length * WRITES_OF_EACH, 220) }, (_, n) => `insight ${n}`);
    const answers = await Promise.all(
      insights.map((insight) => writer.ok('brain_evolution_insight', { brain: BRAIN, insight }, patiently())),
    );
    expect(answers.map(({ insights: at }) => Number(at)).sort((a, b) => a - b)).toEqual(insights.map((_, n) => n + 1));
    expect(answers.filter(({ autoStarted }) => autoStarted)).toHaveLength(1);
    const kept = `evolution_events WHERE kind = 'insight' AND brain_id = '${brainId}'`;
    expect(await count(kept)).toBe(EVOLUTION_LIMITS.insights);
    const ended = await writer.ok('brain_evolution_end', { brain: BRAIN }, patiently());
    expect(ended).toMatchObject({ summary: { insights: insights.length } });
  }, 300_000);
}
