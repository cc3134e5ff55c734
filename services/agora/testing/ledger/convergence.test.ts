import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { heal, live, outcomes } from './convergence.ts';

/** Each takes half a second. */
const SEEDS = runs(200) === 200 ? 200 : 8;
const BALLOTS_OF_EACH = 200;
const MESSAGES = 300;

test(`${SEEDS} seeds: five nodes hold the same of a thousand ballots once each has asked each owner, whatever the network did`, () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const world = live(seed, BALLOTS_OF_EACH, MESSAGES);
    heal(world);
    expect([seed, world.rejected]).toEqual([seed, 0]);
    for (const { owned, held, ...of } of outcomes(world)) expect([seed, of, held]).toEqual([seed, of, owned]);
  }
}, 600_000);
