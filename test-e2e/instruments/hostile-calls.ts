/** Calls with hostile names: each is answered or refused, and nothing outside of where the service keeps its things changes. */
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { inBatches } from './in-batches.ts';
import { hostileName } from './names.ts';
import { hashOutside } from './outside.ts';
import type { Random } from './random.ts';

interface HostileCalls {
  readonly user: Caller;
  readonly place: TargetPlace;
  readonly random: Random;
  readonly names: number;
  callsWith(name: string, index: number): readonly (readonly [tool: string, args: Fields])[];
}

/** By the tool: how many of its calls did what they were asked, whatever the name. */
export async function expectHarmless(wish: HostileCalls): Promise<ReadonlyMap<string, number>> {
  const { user, place, random, callsWith } = wish;
  const before = hashOutside(place);
  const served = new Map<string, number>();
  const names = Array.from({ length: wish.names }, (_, index) => [hostileName(random), index] as const);
  await inBatches(names, async ([name, index]) => {
    for (const [tool, args] of callsWith(name, index)) {
      const reply = await user.call(tool, args);
      expect(reply.status, `${tool} ${JSON.stringify(name)} -> ${reply.text}`).toBeLessThan(500);
      if (codeOf(reply) === null) served.set(tool, (served.get(tool) ?? 0) + 1);
    }
  });
  expect(hashOutside(place)).toBe(before);
  return served;
}

export function shownServed(served: ReadonlyMap<string, number>): string {
  return Array.from(served, ([tool, count]) => `${tool} ${count}`).join(', ');
}
