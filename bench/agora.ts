/** What ballots, tallies and messages cost, beside one row that one call writes. */
import { type Ask, type Case, CLIENTS, type Cycle, type Cycles } from './cycles.ts';
import { shown } from './figures.ts';

const MANY = 1000;
/** A topic takes 10,000. */
const BALLOTS_OF_ONE = 9000;
const OPTIONS = ['yes', 'no'];
/** So that none is decided meanwhile. */
const QUORUM = 1000;

export const AGORA: Cycles = { unit: 'writes of a row', casesOf };

async function casesOf(ask: Ask): Promise<readonly Case[]> {
  const many = await opened(ask, 'bench-many', MANY);
  const full = await fullTopic(ask);
  return [
    { title: 'write of a row', cycle: writing(ask), aim: '' },
    { title: 'ballot, one topic', cycle: await crowding(ask), aim: '' },
    { title: `ballot, ${shown(MANY)} topics`, cycle: spreading(ask, many), aim: '' },
    { title: `tally of ${shown(BALLOTS_OF_ONE)} ballots`, cycle: counting(ask, full), aim: '' },
    { title: 'message, one channel', cycle: sending(ask), aim: '' },
  ];
}

async function opened(ask: Ask, prefix: string, count: number): Promise<string[]> {
  const topics = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const waiting = [...topics];
  const open = async (client: number): Promise<void> => {
    for (let topic = waiting.pop(); topic !== undefined; topic = waiting.pop()) {
      await ask('consensus_create', {
        topic,
        options: OPTIONS,
        minQuorum: QUORUM,
        threshold: 100,
        agentId: `author-${client}`,
      });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => open(client)));
  return topics;
}

async function cast(ask: Ask, topic: string, voter: string, turn: number): Promise<void> {
  await ask('consensus_vote', { topic, choice: OPTIONS[turn % OPTIONS.length], agentId: voter });
}

async function fullTopic(ask: Ask): Promise<string> {
  const [topic = ''] = await opened(ask, 'bench-full', 1);
  let next = 0;
  const fill = async (): Promise<void> => {
    for (let turn = next++; turn < BALLOTS_OF_ONE; turn = next++) await cast(ask, topic, `voter-${turn}`, turn);
  };
  await Promise.all(Array.from({ length: CLIENTS }, fill));
  return topic;
}

function writing(ask: Ask): Cycle {
  return async (client, turn) => void (await ask('svc_memory_state', { key: `k${client}`, value: turn }));
}

/** All at one topic, until it is full and the next one is taken. */
async function crowding(ask: Ask): Promise<Cycle> {
  const topics = await opened(ask, 'bench-crowd', 20);
  return (_client, turn) =>
    cast(ask, topics[Math.floor(turn / BALLOTS_OF_ONE) % topics.length] ?? '', `voter-${turn}`, turn);
}

function spreading(ask: Ask, topics: readonly string[]): Cycle {
  return (_client, turn) => cast(ask, topics[turn % topics.length] ?? '', `voter-${turn}`, turn);
}

function counting(ask: Ask, topic: string): Cycle {
  return async () => void (await ask('consensus_tally', { topic }));
}

function sending(ask: Ask): Cycle {
  return async (client, turn) =>
    void (await ask('msg_send', { channel: 'bench', content: `message ${turn}`, from: `sender-${client}` }));
}
