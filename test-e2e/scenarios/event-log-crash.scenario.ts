/** kill -9 of relays, of the log and of NATS while much is told: the log has each event once, and each thing in its order. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { allAfter, newestId } from '../instruments/log-reader.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { LOG_KILL_ROUNDS, LOGGED_EVENTS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { breakable, type OwnTarget } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const WRITERS = 10;

type Fault = readonly [name: string, happen: (system: OwnTarget) => Promise<unknown>];

function faultsOf({ place }: OwnTarget, random: Random): readonly Fault[] {
  if (place.kind === 'embedded') return [['the node', ({ everybody }) => killed(everybody)]];
  return [
    ['a brain', (system) => killed([random.pick(system.brains)])],
    ['every log', (system) => killed(system.of('agora'))],
    ['NATS', (system) => breakable(system, 'nats').restart(random.int(0, 300))],
    ['a log', (system) => killed([random.pick(system.of('agora'))])],
    ['every brain', (system) => killed(system.brains)],
  ];
}

interface Writing {
  readonly brain: string;
  /** Hashes of what each file held, in their order. */
  readonly written: Map<string, string[]>;
  done: number;
}

async function write(writing: Writing, writer: Caller, file: string): Promise<void> {
  const { brain, written } = writing;
  const program = writer.program();
  const hashes: string[] = [];
  written.set(`${file}.md`, hashes);
  for (let version = 0; version < LOGGED_EVENTS / WRITERS; version += 1) {
    const { hash } = await program.call('brain_write', {
      brain,
      branch: 'main',
      name: file,
      content: `${file} ${version}`,
    });
    hashes.push(hash);
    writing.done += 1;
  }
}

/** A start of the whole node takes as long as many of one of its processes. */
const roundsOf = ({ place }: OwnTarget): number =>
  place.kind === 'cluster' ? LOG_KILL_ROUNDS : Math.ceil(LOG_KILL_ROUNDS / 4);

async function suffer(writing: Writing, random: Random): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const faults = faultsOf(target.get(), random);
  const rounds = roundsOf(target.get());
  for (let round = 0; round < rounds; round += 1) {
    const due = (LOGGED_EVENTS * (round + 0.5)) / rounds;
    await waitFor(() => writing.done >= due, { what: 'events to be told' });
    const [name, happen] = faults[round % faults.length] ?? random.pick(faults);
    await happen(target.get());
    counts[name] = (counts[name] ?? 0) + 1;
    await delay(random.int(0, 100));
  }
  return counts;
}

verifies(
  'log:killed',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    const brain = newName('b');
    await operator.ok('brain_switch', { name: brain, create: true });
    await operator.ok('brain_write', { brain, name: 'start', content: 'x' });
    const start = await newestId(operator);
    const writing: Writing = { brain, written: new Map(), done: 0 };
    const working = Promise.all(
      Array.from({ length: WRITERS }, (_, writer) =>
        write(writing, new Caller(place, { gateway: writer }), `w${writer}`),
      ),
    );
    const counts = await suffer(writing, random);
    await working;
    await target.get().whole();
    const logged = await waitFor(
      async () => {
        const events = (await allAfter(operator, start, { nameFilter: 'brain:change' })).filter(
          ({ payload }) => payload['brain'] === brain && payload['file'] !== 'start.md',
        );
        return events.length < LOGGED_EVENTS ? null : events;
      },
      { what: 'the log to have every event', everyMs: 500, ignoreErrors: () => true },
    );
    expect(logged).toHaveLength(LOGGED_EVENTS);
    expect(new Set(logged.map(({ id }) => id)).size).toBe(LOGGED_EVENTS);
    const told = Map.groupBy(logged, ({ payload }) => String(payload['file']));
    for (const [file, hashes] of writing.written)
      expect(told.get(file)?.map(({ payload }) => payload['hash'])).toEqual(hashes);
    await waitFor(async () => (await operator.ok<Stats>('event_sink_stats')).log.lagMs === 0, {
      what: 'the log to be even',
    });
    expect(await operator.ok('event_sink_stats')).toMatchObject({ log: { lost: 0 } });
    report(
      `${JSON.stringify(counts)} killed: ${logged.length} events in the log, none lost, none twice, each file in its order`,
    );
  },
  { on: target, timeoutMs: 300_000 + LOG_KILL_ROUNDS * 20_000 },
);

interface Stats {
  readonly enabled: boolean;
  readonly file: string | null;
  readonly written: number;
  readonly log: { readonly lagMs: number };
}

verifies(
  'log:sink',
  async ({ place, socket }) => {
    const operator = new Caller(place);
    const stats = () => operator.ok<Stats & Record<string, unknown>>('event_sink_stats');
    expect(await stats()).toMatchObject({ enabled: false, file: null, written: 0 });
    const listener = await socket();
    const on = await operator.ok('event_sink_enable');
    expect(on).toMatchObject({ enabled: true, changed: true });
    expect(await operator.ok('event_sink_enable')).toEqual({ ...on, changed: false });
    await listener.until('the switch', ({ name, enabled }) => name === 'events:sink-changed' && enabled === true);
    const brain = newName('b');
    await operator.ok('brain_switch', { name: brain, create: true });
    await operator.ok('brain_write', { brain, name: 'one', content: 'x' });
    await waitFor(() => filesIn(place, brain).includes('one.md'), { what: 'the copy of the first' });
    await killed(target.get().of('agora'));
    await target.get().whole();
    await operator.program().call('brain_write', { brain, branch: 'main', name: 'two', content: 'x' });
    await waitFor(() => filesIn(place, brain).includes('two.md'), { what: 'the copy of the second' });
    expect(filesIn(place, brain).filter((file) => file === 'two.md')).toEqual(['two.md']);
    expect(await operator.program().call('event_sink_stats')).toMatchObject({ enabled: true, dropped: 0 });
    const off = await operator.program().call('event_sink_enable', { value: false });
    expect(off).toEqual({ enabled: false, file: null, since: null, changed: true });
  },
  { on: target },
);

/** What the copy says of a brain. */
function filesIn({ dataDir }: OwnTarget['place'], brain: string): string[] {
  const folder = join(dataDir, 'events');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as { payload: { brain?: string; file?: string } })
    .flatMap(({ payload }) => (payload.brain === brain ? (payload.file ?? []) : []));
}
