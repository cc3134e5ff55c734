/** The relay fails as it is told, and carries everything when it is told not to. */
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { expect, onTestFinished, test } from 'vitest';
import { meddledBus } from './meddled-bus.ts';
import { randomFrom } from './random.ts';

const ASKED = 60;
const silent = { info() {}, warn() {}, error() {} };

test('questions are lost, doubled and late while it meddles, kept back between parted sides, and all answered otherwise', async () => {
  const relay = await meddledBus(['alpha', 'beta'], randomFrom(7));
  const [alpha, beta] = await Promise.all(
    ['alpha', 'beta'].map(async (name) => {
      const bus = await connectNatsBus({ urls: [relay.urlOf(name)], name, log: silent });
      onTestFinished(() => bus.close());
      return bus;
    }),
  );
  if (alpha === undefined || beta === undefined) throw new Error('somebody is missing');
  const [asked, heard]: [string[], string[]] = [[], []];
  await beta.respond('svc.x.beta.agora', async (text) => {
    asked.push(text);
    return `re ${text}`;
  });
  await beta.subscribe('svc.x.presence', (text) => void heard.push(text));
  const answers = async (): Promise<(string | null)[]> => {
    const within = { deadlineAt: Date.now() + 5000 };
    const all = Array.from({ length: ASKED }, (_, index) =>
      alpha.request('svc.x.beta.agora', `${index}`, within).catch(() => null),
    );
    return Promise.all(all);
  };
  const inOrder = Array.from({ length: ASKED }, (_, index) => `re ${index}`);

  expect(await answers()).toEqual(inOrder);
  alpha.publish('svc.x.presence', '{"from":"alpha"}');
  await expect.poll(() => heard).toEqual(['{"from":"alpha"}']);

  asked.length = 0;
  relay.meddle(true);
  const some = (await answers()).filter((answer) => answer !== null);
  expect(some.length).toBeGreaterThan(ASKED / 4);
  expect(some.length).toBeLessThan(ASKED);
  expect(asked.length).toBeGreaterThan(new Set(asked).size);
  expect([...asked].sort((one, other) => Number(one) - Number(other))).not.toEqual(asked);
  const { lost, twice, late } = relay.counts;
  for (const count of [lost, twice, late]) expect(count).toBeGreaterThan(0);

  relay.meddle(false);
  relay.part(['alpha']);
  expect((await answers()).every((answer) => answer === null)).toBe(true);
  expect(relay.counts.parted).toBeGreaterThanOrEqual(ASKED);
  relay.part([]);
  expect(await answers()).toEqual(inOrder);
});
