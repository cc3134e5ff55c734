/** What a peer that never stops talking costs: the callers of the deployment that it floods, and a third one that asks that. */
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
/** A third node asks less often than a node may. */
const ASKERS = 2;
const BETWEEN_QUESTIONS_MS = 50;
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
  const folders = [temporaryDataDir(), temporaryDataDir(), temporaryDataDir()];
  const started = await Promise.all(
    ['alpha', 'beta', 'gamma'].map((name, index) =>
      startEmbedded(folders[index]?.path ?? '', memberSettings(name, nats.url)),
    ),
  );
  const [url = '', , third = ''] = started.map(({ urls }) => urls[0]);
  try {
    const topic = { topic: 'bench', options: OPTIONS, minQuorum: 1000, agentId: 'a' };
    await callTool(url, AUTHORISED, 'consensus_create', topic);
    await Promise.all([untilHeard(url, 'beta'), untilHeard(url, 'gamma'), untilHeard(third, 'alpha')]);
    await started[1]?.stop();
    const quiet: Sample[] = [];
    const flooded: Sample[] = [];
    let sent = 0;
    for (let round = 0; round < rounds; round += 1) {
      quiet.push(await sampleOf(url, third, seconds, 2 * round));
      const flood = await startFlood(nats.url, seconds);
      flooded.push(await sampleOf(url, third, seconds, 2 * round + 1));
      sent += await flood.stop();
    }
    return table(quiet, flooded, sent / (rounds * seconds));
  } finally {
    await started[0]?.stop();
    await started[2]?.stop();
    for (const folder of folders) folder.remove();
    await nats.stop();
  }
}

interface Sample {
  /** Calls of the deployment that is flooded. */
  readonly own: Times;
  /** Round trips of a third deployment to it. */
  readonly third: Times;
}

async function sampleOf(url: string, third: string, seconds: number, round: number): Promise<Sample> {
  const [own, asked] = await Promise.all([timesOf(url, seconds, round), roundTripsOf(third, seconds)]);
  return { own, third: asked };
}

function table(quiet: readonly Sample[], flooded: readonly Sample[], perSecond: number): string {
  const of = (samples: readonly Sample[], who: keyof Sample, field: keyof Times): number =>
    median(samples.map((one) => one[who][field]));
  const whose = [
    ['own', `ballots and tallies of its ${CALLERS} callers`],
    ['third', 'round trips of a third node'],
  ] as const;
  const rows = whose.map(([who, title]) => {
    const ratio = of(flooded, who, 'p99Ms') / of(quiet, who, 'p99Ms');
    const p99s = [shown(of(quiet, who, 'p99Ms'), 1), shown(of(flooded, who, 'p99Ms'), 1)];
    return [
      title,
      shown(of(quiet, who, 'p50Ms'), 1),
      shown(of(flooded, who, 'p50Ms'), 1),
      ...p99s,
      `${shown(ratio, 2)} x`,
      '<= 2 x',
    ];
  });
  const head = [`a peer floods a node, ${shown(perSecond)} messages a second`, 'p50 ms', 'p50 ms flooded'];
  return markdownTable([...head, 'p99 ms', 'p99 ms flooded', 'p99', 'aim'], rows);
}

async function roundTripsOf(third: string, seconds: number): Promise<Times> {
  const endsAt = performance.now() + seconds * 1000;
  const times: number[] = [];
  const asker = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      const { content } = await callTool(third, AUTHORISED, 'agora_pull', { node: 'alpha', topic: 'bench' });
      if ((content as { pulled?: boolean }).pulled !== true)
        throw new Error(`a third node was refused: ${JSON.stringify(content)}`);
      times.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_QUESTIONS_MS));
    }
  };
  await Promise.all(Array.from({ length: ASKERS }, asker));
  return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
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
