/** One of two processes of a deployment stands still, and keeps its connections. */
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createLog } from '@svc/runtime/log.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createAsker } from './asker.ts';
import { startPresence } from './presence.ts';
import { Traffic } from './traffic.ts';
import { PRESENCE_SUBJECT, type Seal, subjectOf } from './wire.ts';

const now = (): number => systemClock.now();
const traffic = new Traffic(now);
const log = createLog('silent', {});
const beaconOf = (node: string, count: number): string => `{"count":${count},"from":"${node}"}`;
const COUNTS = [0, 1, 2, 3, 4, 5];

test('each process hears all that others say of themselves, and its share of what is said in its own name', async () => {
  const bus = createLocalBus();
  const heard: string[][] = [[], []];
  const processes = await Promise.all(
    heard.map((texts) =>
      startPresence({
        bus,
        self: 'alpha',
        traffic,
        log,
        beacon: async () => beaconOf('nobody', 0),
        receiver: { onRequest: async () => null, onPresence: async (text) => void texts.push(text) },
      }),
    ),
  );
  onTestFinished(async () => void (await Promise.all(processes.map((process) => process.close()))));
  for (const node of ['beta', 'alpha']) {
    for (const count of COUNTS) bus.publish(PRESENCE_SUBJECT, beaconOf(node, count));
  }
  const ofNode = (node: string) => heard.map((texts) => texts.filter((text) => text.includes(node)));
  await expect.poll(() => ofNode('alpha').flat().length).toBe(COUNTS.length);
  expect(ofNode('beta').map((texts) => texts.length)).toEqual([COUNTS.length, COUNTS.length]);
  expect(ofNode('alpha').every((texts) => texts.length > 0)).toBe(true);
});

test('a question that nobody answers is asked once more, and answered by the other one', async () => {
  const bus = createLocalBus();
  let lost = 0;
  const queue = { queue: 'agora.alpha' };
  await bus.respond(
    subjectOf('alpha'),
    () => {
      lost += 1;
      return new Promise(() => {});
    },
    queue,
  );
  await bus.respond(subjectOf('alpha'), async () => 'answer', queue);
  let sealed = 0;
  const seal: Seal = () => ({ text: 'question', nonce: String((sealed += 1)) });
  const answers: string[] = [];
  const receiver = {
    onReply(_text: string, _node: string, _type: string, nonce: string) {
      answers.push(nonce);
      return { absent: true };
    },
  };
  const asker = createAsker({ now, bus: () => bus, seal, receiver, traffic });
  const asked = await asker.ask('alpha', 'topic.get', 'lunch', { topic: 'lunch', afterSeq: 0 });
  expect(asked).toEqual({ ok: true, answer: { absent: true } });
  expect({ lost, answers }).toEqual({ lost: 1, answers: ['2'] });
  expect(asker.roundTrips()).toEqual([]);
});
