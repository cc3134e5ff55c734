/** What a peer that never stops talking costs the others: calls of a deployment without it, and while it floods. */
import { setInterval } from 'node:timers';
import { connect } from '@nats-io/transport-node';
import { systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { createKeyring } from '../services/agora/src/federation/domain/keyring.ts';
import { identityOf } from '../services/agora/src/federation/domain/settings.ts';
import { createSeal, subjectOf } from '../services/agora/src/federation/transport/wire.ts';
import { callTool } from './call.ts';
import { markdownTable, median, quantile, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const PER_SECOND = 5000;
const TICK_MS = 10;
const CALLERS = 8;
const SECRET = 'correct horse battery staple';
const OPTIONS = ['yes', 'no'];

interface Times {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const memberSettings = (name: string, url: string) => ({
  SVC_NODE_NAME: name,
  SVC_NODE_PORT: '3457',
  SVC_NODE_SECRET: SECRET,
  SVC_NODE_AGENT_ID: `${name}-agent`,
  SVC_NODE_BUS_URL: url,
});

/** Resolves with a Markdown table, or with why there is none. */
export async function measureHostilePeer(seconds: number, rounds: number): Promise<string> {
  const nats = await startNats({ config: 'max_connections: 100' });
  if (nats === null) return 'no NATS: a hostile peer was not measured';
  const folders = [temporaryDataDir(), temporaryDataDir()];
  const [alpha, beta] = await Promise.all(
    ['alpha', 'beta'].map((name, index) => startEmbedded(folders[index]?.path ?? '', memberSettings(name, nats.url))),
  );
  const [url = ''] = alpha?.urls ?? [];
  try {
    await callTool(url, AUTHORISED, 'consensus_create', {
      topic: 'bench',
      options: OPTIONS,
      minQuorum: 1000,
      agentId: 'a',
    });
    await untilHeard(url, 'beta');
    await beta?.stop();
    const quiet: Times[] = [];
    const flooded: Times[] = [];
    let sent = 0;
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await timesOf(url, seconds, 2 * round));
      const flood = await startFlood(nats.url, seconds);
      flooded.push(await timesOf(url, seconds, 2 * round + 1));
      sent += await flood.stop();
    }
    return table(quiet, flooded, sent / (rounds * seconds));
  } finally {
    await alpha?.stop();
    for (const folder of folders) folder.remove();
    await nats.stop();
  }
}

function table(quiet: readonly Times[], flooded: readonly Times[], perSecond: number): string {
  const of = (times: readonly Times[], field: keyof Times): number => median(times.map((one) => one[field]));
  const rows = [
    ['without it', quiet, ''] as const,
    [
      `beside ${shown(perSecond)} messages a second`,
      flooded,
      `${shown(of(flooded, 'p99Ms') / of(quiet, 'p99Ms'), 2)} x`,
    ] as const,
  ].map(([title, times, ratio]) => [
    title,
    shown(of(times, 'p50Ms'), 1),
    shown(of(times, 'p99Ms'), 1),
    ratio,
    ratio === '' ? '' : '<= 2 x',
  ]);
  return markdownTable(
    [`ballots and tallies of ${CALLERS} callers, a peer floods`, 'p50 ms', 'p99 ms', 'p99', 'aim'],
    rows,
  );
}

/** From then on each of its messages is looked at, as far as its quota. */
export async function untilHeard(url: string, node: string): Promise<void> {
  for (;;) {
    const { content } = await callTool(url, AUTHORISED, 'agora_nodes', {});
    const { peers } = content as { peers: { name: string; agentId: string | null }[] };
    if (peers.some(({ name, agentId }) => name === node && agentId !== null)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function timesOf(url: string, seconds: number, round: number): Promise<Times> {
  const endsAt = performance.now() + seconds * 1000;
  const times: number[] = [];
  const caller = async (number: number): Promise<void> => {
    for (let turn = 0; performance.now() < endsAt; turn += 1) {
      const startedAt = performance.now();
      if (turn % 10 === 0) {
        const agentId = `voter-${round}-${number}-${turn}`;
        await callTool(url, AUTHORISED, 'consensus_vote', { topic: 'bench', choice: OPTIONS[turn % 2], agentId });
      } else await callTool(url, AUTHORISED, 'consensus_tally', { topic: 'bench' });
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
  return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
}

interface Flood {
  /** Returns how many it sent. */
  stop(): Promise<number>;
}

/** Genuine questions, far more of them than a peer may ask; signed beforehand, because the callers are in this process too. */
async function startFlood(url: string, seconds: number): Promise<Flood> {
  const identity = identityOf({ ...memberSettings('beta', url), SVC_NODE_PORT: 3457 });
  if (identity === null) throw new Error('a peer without identity');
  const seal = createSeal(createKeyring(identity), { clock: systemClock, random: systemRandom });
  const texts = Array.from(
    { length: PER_SECOND * seconds },
    () => seal('alpha', 'topic.get', { topic: 'bench', afterSeq: 0 }).text,
  );
  const connection = await connect({ servers: new URL(url).host });
  const beganAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - beganAt) / 1000) * PER_SECOND;
    for (; sent < due; sent += 1) {
      connection.publish(subjectOf('alpha'), texts[sent % texts.length] ?? '', { reply: 'svc.x.nowhere' });
    }
  }, TICK_MS);
  return {
    async stop() {
      clearInterval(timer);
      await connection.drain();
      return sent;
    },
  };
}
