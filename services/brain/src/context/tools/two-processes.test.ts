/** Two processes that share their brains: what one has built the other gives again. */
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
const nodes: BrainNode[] = [];

/** Buses of two processes: what is for one process alone reaches it from the other. */
function joined(): readonly [Bus, Bus] {
  const [one, two] = [createLocalBus(), createLocalBus()];
  const own = new Map<Bus, Set<string>>([
    [one, new Set()],
    [two, new Set()],
  ]);
  const reaching = (self: Bus, other: Bus): Bus => ({
    ...bound(self),
    respond: (subject, ...rest) => {
      own.get(self)?.add(subject);
      return self.respond(subject, ...rest);
    },
    request: (subject, ...rest) =>
      subject.startsWith('brain.process.') && own.get(other)?.has(subject) === true
        ? other.request(subject, ...rest)
        : self.request(subject, ...rest),
  });
  return [reaching(one, two), reaching(two, one)];
}

function bound(bus: Bus): Bus {
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(bus)).concat(Object.keys(bus));
  const entries = methods.map((name) => [name, (bus as unknown as Record<string, unknown>)[name]] as const);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'function' ? value.bind(bus) : value]),
  ) as unknown as Bus;
}

beforeAll(async () => {
  bed = await openBrainTestBed();
  for (const bus of joined()) nodes.push(await bed.start({}, { bus }));
});
afterAll(async () => {
  for (const node of nodes) await node.stop();
  await bed[Symbol.asyncDispose]();
});

interface Built {
  assembled: string;
  cache: { state: string };
}

test('the second build is a hit in whichever process it is asked for, and a change ends that in both', async () => {
  const [one, two] = nodes.map((node) => testCaller(() => node, null));
  if (one === undefined || two === undefined) throw new Error('two processes were started');
  await one.ok('brain_switch', { name: 'shared', create: true });
  await one.ok('brain_write', { brain: 'shared', name: 'goals', content: 'Stay.' });
  await one.ok('brain_write', { brain: 'shared', name: 'k', content: 'knowledge of ships' });
  const build = async (who: typeof one) =>
    (await who.ok('context_build', { brain: 'shared', query: 'ships' })) as unknown as Built;
  const first = await build(two);
  const [again, there] = [await build(one), await build(two)];
  expect([first, again, there].map(({ cache }) => cache.state)).toEqual(['miss', 'hit', 'hit']);
  expect([again.assembled, there.assembled]).toEqual([first.assembled, first.assembled]);
  await two.ok('brain_write', { brain: 'shared', name: 'k', content: 'knowledge of many ships' });
  expect([(await build(one)).cache.state, (await build(two)).cache.state]).toEqual(['miss', 'hit']);
  expect((await build(two)).assembled).toContain('many ships');
});
