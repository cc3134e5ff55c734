/** What a full ledger costs: counted, fetched whole by another deployment, and looked at again; beside one row and one question. */
import { connect } from '@nats-io/transport-node';
import { embeddedDatabase } from '@svc/testing/database.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { callTool } from './call.ts';
import { CLIENTS } from './cycles.ts';
import { markdownTable, median, shown } from './figures.ts';
import { memberSettings, untilHeard } from './hostile-peer.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const BALLOTS = 10_000;
const OPTIONS = ['yes', 'no'];
const TOPIC = 'bench-full';
const TIMES = 200;
/** Of questions that are not the measure of others. */
const FEW = 20;

type Timed = readonly [title: string, ms: number];

/** Resolves with a Markdown table, or with why there is none. */
export async function measureLedgerSync(rounds: number): Promise<string> {
  const nats = await startNats({ config: 'max_connections: 100' });
  if (nats === null) return 'no NATS: the sync of a ledger was not measured';
  const row = await insertMs();
  const names = ['alpha', ...Array.from({ length: rounds }, (_, round) => `reader-${round}`)];
  const folders = names.map(() => temporaryDataDir());
  const systems: System[] = [];
  for (const [index, name] of names.entries()) {
    systems.push(await startEmbedded(folders[index]?.path ?? '', memberSettings(name, nats.url)));
  }
  try {
    const [owner = '', ...readers] = systems.map(({ urls: [url = ''] }) => url);
    await fill(owner);
    for (const reader of readers) await untilHeard(reader, 'alpha');
    const question = await roundTripMs(nats.url);
    const fetched: number[] = [];
    for (const reader of readers) fetched.push(await msOf(() => pull(reader, BALLOTS)));
    const [first = ''] = readers;
    return table({ row, question }, [
      [`tally of ${shown(BALLOTS)} ballots`, await medianMs(() => tally(owner), FEW)],
      [`fetched by another deployment: ${shown(BALLOTS)} ballots`, median(fetched)],
      ['fetched again: nothing new', await medianMs(() => pull(first, 0), FEW)],
    ]);
  } finally {
    for (const system of systems) await system.stop();
    for (const folder of folders) folder.remove();
    await nats.stop();
  }
}

interface Bare {
  readonly row: number;
  readonly question: number;
}

function table({ row, question }: Bare, timed: readonly Timed[]): string {
  const all: readonly Timed[] = [['bare INSERT', row], ['bare NATS round trip', question], ...timed];
  return markdownTable(
    ['a full ledger', 'ms', 'INSERTs', 'NATS round trips'],
    all.map(([title, ms]) => [title, shown(ms, 3), shown(ms / row, 1), shown(ms / question, 1)]),
  );
}

async function fill(url: string): Promise<void> {
  const wish = { topic: TOPIC, options: OPTIONS, minQuorum: 1000, threshold: 100, agentId: 'author' };
  await callTool(url, AUTHORISED, 'consensus_create', wish);
  let next = 0;
  const client = async (): Promise<void> => {
    for (let turn = next++; turn < BALLOTS; turn = next++) {
      const ballot = { topic: TOPIC, choice: OPTIONS[turn % OPTIONS.length], agentId: `voter-${turn}` };
      await callTool(url, AUTHORISED, 'consensus_vote', ballot);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function tally(url: string): Promise<void> {
  const { content } = await callTool(url, AUTHORISED, 'consensus_tally', { topic: TOPIC });
  const { votes } = content as { votes?: number };
  if (votes !== BALLOTS) throw new Error(`a tally of ${votes ?? 'nothing'} ballots`);
}

async function pull(url: string, expected: number): Promise<void> {
  const { content } = await callTool(url, AUTHORISED, 'agora_pull', { node: 'alpha', topic: TOPIC });
  const { adopted } = content as { adopted?: number };
  if (adopted !== expected) throw new Error(`a copy was not fetched: ${JSON.stringify(content)}`);
}

async function insertMs(): Promise<number> {
  await using database = await embeddedDatabase();
  await database.pool.query('CREATE TABLE bare (id serial PRIMARY KEY, voter text, outcome text)');
  return await medianMs(() => database.pool.query(`INSERT INTO bare (voter, outcome) VALUES ('ann', 'yes')`), TIMES);
}

async function roundTripMs(url: string): Promise<number> {
  const [asker, answerer] = await Promise.all([1, 2].map(() => connect({ servers: new URL(url).host })));
  if (asker === undefined || answerer === undefined) throw new Error('no connection to NATS');
  answerer.subscribe('bare', { callback: (_error, message) => void message.respond('yes') });
  await answerer.flush();
  const ms = await medianMs(() => asker.request('bare', 'is it?'), TIMES);
  await Promise.all([asker.drain(), answerer.drain()]);
  return ms;
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function medianMs(work: () => Promise<unknown>, times: number): Promise<number> {
  const all: number[] = [];
  for (let turn = 0; turn < times; turn += 1) all.push(await msOf(work));
  return median(all);
}
