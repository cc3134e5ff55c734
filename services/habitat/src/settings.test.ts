import { readConfig } from '@svc/runtime/config.ts';
import { createSettings } from '@svc/runtime/settings.ts';
import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { openHabitatTestBed } from '../testing/habitat-test-bed.ts';
import { describeSettings } from './settings.contract.ts';

describeSettings('the embedded database', migratedEmbeddedDatabase, 1);

test('the environment fixes a value: another one is kept, and has no effect until the variable goes', async () => {
  await using bed = await openHabitatTestBed();
  const { config } = readConfig({ SVC_MARKET_SKILLS_ENABLED: 'off', SVC_HABITAT_MAX_AGENTS: '1' }, () => '');
  const node = await bed.start({ config: { ...config, SVC_DATA_DIR: bed.dataDir } });
  const set = (value: boolean | null) =>
    node.registry.changeSetting({
      key: 'market.skillsEnabled',
      value,
      by: 'operator',
      operator: true,
      idempotency: null,
    });
  expect(await set(true)).toMatchObject({
    changed: false,
    value: false,
    source: 'environment',
    shadowedBy: 'environment',
  });
  expect(await set(false)).toMatchObject({ changed: false, source: 'environment', shadowedBy: null });
  await set(true);
  // The registry's environment counts for readers that have none of their own.
  const settings = createSettings({ config: readConfig({}, () => '').config, registry: node.registry });
  const { stamp } = await node.registry.revision();
  expect(await settings.read('market.skillsEnabled', stamp)).toBe(false);
  expect(await settings.inspect('market.skillsEnabled', 'market.skillsEnabled', stamp)).toEqual({
    value: false,
    source: 'environment',
  });
  await node.call('agent_spawn', { team: 'one' });
  expect(await node.call('agent_spawn', { team: 'one' })).toMatchObject({ code: 'E_QUOTA' });
  await node.stop();

  const later = await bed.start();
  const after = createSettings({ config: readConfig({}, () => '').config, registry: later.registry });
  expect(await after.read('market.skillsEnabled', (await later.registry.revision()).stamp)).toBe(true);
  await later.stop();
});
