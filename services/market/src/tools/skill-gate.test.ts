/** The gate where the environment has decided. */
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MarketBed, openMarketBed } from '../../testing/market-store-bed.ts';
import { marketService } from '../service.ts';

const database = await migratedDatabase();
let bed: MarketBed;
let market: Awaited<ReturnType<typeof startService>>;

beforeAll(async () => {
  bed = await openMarketBed(database, { SVC_MARKET_SKILLS_ENABLED: 'false' });
  market = await startService(bed.platform, marketService);
});
afterAll(async () => {
  await market.stop();
  await bed.stop();
  await database.close();
});

async function gate(args: Fields): Promise<Fields> {
  return (await callTool(bed.platform.bus, 'market', 'market_skill_gate', args)).fields;
}

test('whoever sets another value than the environment is told that it has no effect', async () => {
  const fixed = { enabled: false, source: 'environment', changed: false };
  expect(await gate({})).toEqual(fixed);
  expect(await gate({ value: true })).toEqual({ ...fixed, shadowedBy: 'environment' });
  expect(await gate({ value: false })).toEqual(fixed);
  const listing = { title: 'a skill', context: { seller: 'ada' } };
  const { fields } = await callTool(bed.platform.bus, 'market', 'market_skill_list', listing);
  expect(fields).toMatchObject({ code: 'E_SKILL_DISABLED' });
});
