/** The gate where the environment has decided. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { serveMarket } from '../../testing/served-market.ts';

const { call } = await serveMarket({ SVC_MARKET_SKILLS_ENABLED: 'false' });
const gate = (args: Fields) => call('market_skill_gate', args);

test('whoever sets another value than the environment is told that it has no effect', async () => {
  const fixed = { enabled: false, source: 'environment', changed: false };
  expect(await gate({})).toEqual(fixed);
  expect(await gate({ value: true })).toEqual({ ...fixed, shadowedBy: 'environment' });
  expect(await gate({ value: false })).toEqual(fixed);
  const listing = { title: 'a skill', context: { seller: 'ada' } };
  expect(await call('market_skill_list', listing)).toMatchObject({ code: 'E_SKILL_DISABLED' });
});
