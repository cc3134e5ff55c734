/** What members of a workspace make at once, in processes of their own: things of each, and two things that all of them change. */
import { hash, randomUUID } from 'node:crypto';
import { type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import type { ClientOrder } from './client-process.ts';
import { NO_ANSWER } from './persistent-calls.ts';

const CONCURRENT = 8;
/** Of the changes to what all share: each must be made on what the one before left. */
const SHARE_OF_CHANGES = 5;

const MOST_SENT = 20;

type Part = Required<Pick<ClientOrder, 'brain' | 'writes' | 'label'>>;

const sharedKey = (brain: string): string => `count of ${brain}`;
export const SHARED_FILE = 'shared/log.md';
export const changesOf = (writes: number): number => Math.ceil(writes / SHARE_OF_CHANGES);

function partOf({ brain, writes, label = '' }: ClientOrder): Part {
  return { brain, writes, label };
}

function callsOf({ brain, label }: Part, number: number): [string, Fields][] {
  const name = `${label}-${number}`;
  return [
    ['svc_memory_state', { key: name, value: { by: label, number } }],
    ['svc_tmp_dropboxPut', { name, content: `of ${name}` }],
    ['svc_storage_write', { brain, path: `parts/${label}/${number}.md`, content: `of ${name}` }],
    ['brain_link', { brain, from: label, to: name }],
    ['lineage_record', { id: name, event: `made ${name}`, parent: label }],
    ['brain_evolution_insight', { brain, insight: `of ${name}` }],
  ];
}

/** Resolves with what was refused, which is nothing when all is well. */
export async function writeShared(caller: Caller, order: ClientOrder): Promise<{ failures: string[]; lost: number }> {
  const part = partOf(order);
  const failures: string[] = [];
  let lost = 0;
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let number = next++; number < part.writes; number = next++) {
      const calls = callsOf(part, number);
      const replies = await Promise.all(calls.map(([tool, args], at) => change(caller, tool, args, number + at)));
      for (const [at, reply] of replies.entries())
        if (codeOf(reply) !== null) failures.push(`${calls[at]?.[0]} ${number}: ${reply.text.slice(0, 200)}`);
    }
  };
  const share = async (): Promise<void> => {
    for (let number = 0; number < changesOf(part.writes); number += 1) {
      lost += await untilStored(() => countOne(caller, part.brain, number));
      lost += await untilStored(() => addLine(caller, part, number));
    }
  };
  const { label } = part;
  const root = await change(caller, 'lineage_record', { id: label, event: `began ${label}` }, 0);
  if (codeOf(root) !== null) failures.push(`lineage_record: ${root.text.slice(0, 200)}`);
  await Promise.all([...Array.from({ length: CONCURRENT }, lane), share()]);
  return { failures, lost };
}

/** As a program does: what was not answered for certain is sent again under the same key, and happens once. */
async function change(caller: Caller, tool: string, args: Fields, gateway: number): Promise<Reply> {
  const headers = { 'idempotency-key': randomUUID() };
  for (let sent = 1; ; sent += 1) {
    const reply = await caller.call(tool, args, { gateway: gateway + sent, headers });
    if (sent === MOST_SENT || !NO_ANSWER.includes(codeOf(reply) ?? '')) return reply;
  }
}

/** How often another was faster. */
async function untilStored(change: () => Promise<string | null>): Promise<number> {
  for (let lost = 0; ; lost += 1) {
    const code = await change();
    if (code === null) return lost;
    if (code !== 'E_CONFLICT') throw new Error(`what all share was refused with ${code}`);
  }
}

async function countOne(caller: Caller, brain: string, gateway: number): Promise<string | null> {
  const key = sharedKey(brain);
  const { value, version, found } = await caller.ok('svc_memory_recall', { key }, { gateway });
  const next = { key, value: Number(value) + 1, ifVersion: found === true ? version : 0 };
  return codeOf(await change(caller, 'svc_memory_state', next, gateway + 1));
}

async function addLine(caller: Caller, { brain, label }: Part, number: number): Promise<string | null> {
  const place = { brain, path: SHARED_FILE };
  const { content, hash: of } = await caller.ok('svc_storage_read', place, { gateway: number });
  const next = { ...place, content: `${String(content)}${label} ${number}\n`, ifMatch: of };
  return codeOf(await change(caller, 'svc_storage_write', next, number + 1));
}

/** Everything that this caller finds of all parts, by its kind: how many things, and what they say as one hash. */
export async function readShared(caller: Caller, { brain }: ClientOrder): Promise<Record<string, Fields>> {
  const files = await paged(caller, 'svc_storage_listRecursive', { brain, dir: 'parts' }, 'entries');
  const dropped = await paged(caller, 'svc_tmp_dropboxList', {}, 'files');
  const labels = files.flatMap(({ path, type }) => (type === 'dir' ? [String(path).slice('parts/'.length)] : []));
  const values: Fields[] = [];
  const links: Fields[] = [];
  for (const label of labels) {
    const { connections } = await caller.ok<{ connections: Fields[] }>('brain_connections', {
      brain: label,
      in: brain,
      depth: 1,
    });
    links.push(...connections);
    for (const { to } of connections) values.push(await caller.ok('svc_memory_recall', { key: to }));
  }
  const { content } = await caller.ok('svc_storage_read', { brain, path: SHARED_FILE });
  const descendants: Fields[] = [];
  for (const id of labels) {
    const traced = await caller.ok('lineage_trace', { id, depth: 1, direction: 'down' });
    descendants.push(...(traced['descendants'] as Fields[]));
  }
  const { total, edges } = await caller.ok('lineage_stats');
  const { history } = await caller.ok<{ history: Fields[] }>('brain_evolution_history', { brain });
  return {
    files: shown(files.filter(({ type }) => type === 'file').map(({ path, hash: of }) => ({ path, of }))),
    dropped: shown(dropped.map(({ name, hash: of, by }) => ({ name, of, by }))),
    links: shown(links.map(({ from, to, type }) => ({ from, to, type }))),
    values: shown(values.map(({ key, value, version, found }) => ({ key, value, version, found }))),
    descendants: shown(descendants.map(({ id, event, depth }) => ({ id, event, depth }))),
    lineage: { total, edges },
    insights: shown(history.map(({ by, insightsCount }) => ({ by, insightsCount }))),
    noted: { count: history.reduce((sum, { insightsCount }) => sum + Number(insightsCount), 0) },
    counted: await caller.ok('svc_memory_recall', { key: sharedKey(brain) }),
    lines: shown(
      String(content)
        .trim()
        .split('\n')
        .map((line) => ({ line })),
    ),
  };
}

async function paged(caller: Caller, tool: string, args: Fields, rows: string): Promise<Fields[]> {
  const all: Fields[] = [];
  let cursor: unknown;
  do {
    const page = await caller.ok(tool, { ...args, limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...(page[rows] as Fields[]));
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
  return all;
}

function shown(things: readonly Fields[]): Fields {
  const each = things.map((thing) => JSON.stringify(thing)).sort();
  return { count: each.length, different: new Set(each).size, hash: hash('sha256', each.join('\n')) };
}
