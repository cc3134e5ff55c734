/** Work of every family that keeps rows or files, one lane each, and what must be found of it once its process was killed. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';

/** What was acknowledged. */
interface Done {
  readonly tool: string;
  /** What it made. */
  readonly name: string;
  /** The call that finds it again, and what that answers. */
  readonly check?: { readonly tool: string; readonly args: Fields; readonly found: Fields };
}

export interface Places {
  readonly brain: string;
  /** To and from which `wanderer` goes. */
  readonly other: string;
}

export interface Round extends Places {
  readonly user: Caller;
  readonly wanderer: Caller;
  readonly name: string;
  readonly done: Done[];
  over: boolean;
}

type Lane = (round: Round, step: number) => Promise<Done | null>;

async function told(user: Caller, tool: string, args: Fields): Promise<Fields | null> {
  const reply = await user.call(tool, args);
  return codeOf(reply) === null ? (reply.body.result?.content as Fields) : null;
}

const numbered = (name: string, step: number): string => `${name}-${String(step).padStart(4, '0')}`;

/** A lane whose calls are each found again by one other call. */
function lane(tool: string, plan: (round: Round, name: string, step: number) => Plan): Lane {
  return async (round, step) => {
    const name = numbered(round.name, step);
    const { args, check } = plan(round, name, step);
    const answer = await told(round.user, tool, args);
    return answer && { tool, name, ...(check && { check: check(answer) }) };
  };
}

interface Plan {
  readonly args: Fields;
  readonly check?: (answer: Fields) => NonNullable<Done['check']>;
}

const VALUES: readonly Lane[] = [
  lane('svc_memory_state', (_round, key, value) => ({
    args: { key, value },
    check: () => ({ tool: 'svc_memory_recall', args: { key }, found: { found: true, value } }),
  })),
  lane('brain_geo_store', ({ brain, name }, key, step) => ({
    args: { key, data: { name, step }, brain },
    check: ({ barcode }) => ({
      tool: 'brain_geo_load',
      args: { barcode },
      found: { found: true, data: { name, step } },
    }),
  })),
  lane('lineage_record', ({ done, name }, id) => ({
    args: { id, event: name, parent: done.findLast(({ tool }) => tool === 'lineage_record')?.name ?? [] },
    check: () => ({ tool: 'lineage_trace', args: { id, depth: 1 }, found: { entry: { id } } }),
  })),
  lane('svc_resolution_track', ({ brain }, name) => ({
    args: { brain, file: `noted/${name}.md`, change: 'kept' },
    check: ({ id }) => ({
      tool: 'svc_resolution_list',
      args: { brain, file: `noted/${name}.md` },
      found: { deltas: [{ id }] },
    }),
  })),
  lane('svc_citations_add', ({ brain }, commit) => ({
    args: { brain, commit, context: 'why' },
    check: () => ({ tool: 'svc_citations_format', args: { brain, commit }, found: { commit, cited: true } }),
  })),
  lane('svc_tmp_cacheSet', (_round, key, value) => ({
    args: { key, value },
    check: () => ({ tool: 'svc_tmp_cacheGet', args: { key }, found: { found: true, value } }),
  })),
];

const FILES: readonly Lane[] = [
  lane('svc_geometry_remember', ({ brain, name }, key) => ({
    args: { category: name, key, content: `of ${key}`, brain },
    check: ({ barcode }) => ({ tool: 'svc_geometry_knows', args: { key: barcode, brain }, found: { known: true } }),
  })),
  lane('svc_storage_write', ({ brain, name }, key) => {
    const sent = { path: `${name}/${key}.bin`, encoding: 'base64', content: randomBytes(300).toString('base64') };
    const { content, ...place } = sent;
    return {
      args: { brain, ...sent },
      check: () => ({ tool: 'svc_storage_read', args: { brain, ...place }, found: { content } }),
    };
  }),
  lane('svc_tmp_dropboxPut', (_round, name) => ({
    args: { name, content: `of ${name}` },
    check: () => ({ tool: 'svc_tmp_dropboxGet', args: { name }, found: { content: `of ${name}` } }),
  })),
];

/** What many calls make together, judged by `expectWhole`. */
const GRAPHS: readonly Lane[] = [
  lane('brain_link', ({ brain, name }, to) => ({ args: { brain, from: name, to } })),
  lane('brain_evolution_insight', ({ brain }, insight) => ({ args: { brain, insight } })),
  async ({ user }, step) => {
    const shared = await told(user, 'brain_share', { insight: `insight ${step}` });
    return shared && { tool: 'brain_share', name: String(shared['id']) };
  },
  async ({ user }, step) => {
    const stashed = await told(user, 'svc_brain_stash', { data: { step } });
    return stashed && { tool: 'svc_brain_stash', name: String(stashed['id']) };
  },
  lane('brain_attend', ({ brain, name }, _name, step) => {
    const about = `${name}-${step % 8}`;
    const found = { attention: { [about]: expect.closeTo(0.5, 1) } };
    return {
      args: { brain, name: about, score: 0.5 },
      check: () => ({ tool: 'brain_state', args: { brain }, found }),
    };
  }),
  async ({ wanderer, brain, other }) => {
    const { current } = await wanderer.ok('brain_current');
    const moved = await told(wanderer, 'brain_switch', { name: current === brain ? other : brain });
    return moved && { tool: 'brain_switch', name: String(moved['current']) };
  },
];

const LANES = [...VALUES, ...FILES, ...GRAPHS];

/** Until the round is over or nobody is there. */
async function work(round: Round, act: Lane): Promise<void> {
  for (let step = 0; !round.over; step += 1) {
    try {
      const done = await act(round, step);
      if (done !== null) round.done.push(done);
    } catch {
      return;
    }
  }
}

export const startWork = (round: Round): Promise<void>[] => LANES.map((act) => work(round, act));

export function isEveryLaneUnderWay({ done }: Round): boolean {
  return new Set(done.map(({ tool }) => tool)).size === LANES.length;
}

const madeBy = ({ done }: Round, wanted: string): string[] =>
  done.flatMap(({ tool, name }) => (tool === wanted ? [name] : []));

/** Each thing that was acknowledged is there. */
export async function expectFound({ done }: Round, user: Caller): Promise<void> {
  for (const { check } of done)
    if (check !== undefined) expect(await user.ok(check.tool, check.args)).toMatchObject(check.found);
}

/** What they made together holds all that was acknowledged, and its counts are those of what is there. */
export async function expectWhole(round: Round, user: Caller): Promise<void> {
  const { brain } = round;
  await expectEvolution(round, user);
  const { recentInsights } = await user.ok<{ recentInsights: { id: string }[] }>('brain_state', { brain });
  // At most one more was made by a call that was not answered.
  const newest = madeBy(round, 'brain_share').slice(-(recentInsights.length - 1));
  expect(recentInsights.map(({ id }) => id)).toEqual(expect.arrayContaining(newest));
  const { history } = await user.ok<{ history: { id: string }[] }>('svc_brain_your_stuff');
  expect(history.map(({ id }) => id)).toEqual(expect.arrayContaining(madeBy(round, 'svc_brain_stash').slice(-1)));
  expect(await user.ok('svc_brain_clear')).toMatchObject({ count: history.length });
  const { files } = await user.ok<{ files: { name: string }[] }>('svc_tmp_dropboxList', { limit: 1000 });
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(madeBy(round, 'svc_tmp_dropboxPut')));
  expect(await user.ok('svc_tmp_dropboxClear')).toMatchObject({ count: files.length });
}

async function expectEvolution(round: Round, user: Caller): Promise<void> {
  const { brain, name } = round;
  const { summary } = await user.ok<{ summary: Evolution }>('brain_evolution_end', { brain });
  const { history } = await user.ok<{ history: [Kept] }>('brain_evolution_history', { brain, limit: 1 });
  const [{ insights, insightsCount }] = history;
  expect(summary).toMatchObject({ id: name, insights: insightsCount, changes: summary.files.length });
  expect(insights).toHaveLength(Math.min(insightsCount, 200));
  const noted = madeBy(round, 'brain_evolution_insight').slice(0, 200);
  expect(insights.map(({ insight }) => insight)).toEqual(expect.arrayContaining(noted));
  const written = [
    ...madeBy(round, 'svc_geometry_remember').map((key) => `geometry/${name}/${key}.md`),
    ...madeBy(round, 'svc_storage_write').map((key) => `${name}/${key}.bin`),
  ];
  expect(summary.files).toEqual(expect.arrayContaining(written));
  for (const path of summary.files)
    expect(await user.ok('svc_storage_exists', { brain, path }), path).toMatchObject({ type: 'file' });
}

interface Evolution {
  readonly id: string;
  readonly insights: number;
  readonly files: readonly string[];
}

interface Kept {
  readonly insights: readonly { insight: string }[];
  readonly insightsCount: number;
}

/** What all rounds made together in one brain: as many as there are, of which none that was acknowledged is missing. */
export async function expectCounts(rounds: readonly Round[], user: Caller, { brain, other }: Places): Promise<void> {
  let links = 0;
  for (const round of rounds) {
    const node = { brain: round.name, in: brain, depth: 1 };
    const { connections } = await user.ok<{ connections: { to: string }[] }>('brain_connections', node);
    expect(connections.map(({ to }) => to)).toEqual(expect.arrayContaining(madeBy(round, 'brain_link').slice(0, 499)));
    links += connections.length;
  }
  const [first] = rounds;
  // The first that was acknowledged: on a slow machine the very first call may have run out of time.
  const again = { brain, from: first?.name, to: first && madeBy(first, 'brain_link')[0] };
  expect(await user.ok('brain_link', again)).toMatchObject({ existed: true, totalLinks: links });
  const { synapses } = await user.ok<{ synapses: Record<string, Record<string, number>> }>('brain_synapses');
  const weight = (synapses[brain]?.[other] ?? 0) + (synapses[other]?.[brain] ?? 0);
  const moves = rounds.reduce((count, round) => count + madeBy(round, 'brain_switch').length, 0);
  // What was learned fades by half in a month; of each round one move may have been made that nobody was told of.
  expect([weight >= moves * 0.99, weight <= moves + rounds.length], `${weight} of ${moves} moves`).toEqual([
    true,
    true,
  ]);
}
