import { CallError } from '@svc/contract/codes.ts';
import type { HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { createSettings } from './settings.ts';

const at = (settings: number): RegistryStamp => ({ rev: settings, policies: 1, settings });

/** A registry that answers what the test puts in, and counts. */
function registryWith(environment: Record<string, string> = {}) {
  const answer: HabitatAnswer<'settings'> = { stamp: at(1), stored: {}, fixed: {} };
  const state = { asked: 0, isAway: false, answer };
  const read = async () => {
    state.asked += 1;
    if (state.isAway) throw new CallError('SERVICE_UNAVAILABLE');
    return state.answer;
  };
  const { config } = readConfig(environment, () => '');
  return { state, settings: createSettings({ config, registry: { settings: read } }) };
}

describe('a reader of settings', () => {
  test('asks once for each state of the settings, however much else changes', async () => {
    const { state, settings } = registryWith();
    for (const rev of [1, 2, 3]) await settings.read('sudo.ttlMs', { rev, policies: rev, settings: 1 });
    expect(state.asked).toBe(1);
    state.answer = { stamp: at(4), stored: { 'sudo.ttlMs': 7000 }, fixed: {} };
    expect(await settings.read('sudo.ttlMs', at(4))).toBe(7000);
    expect(state.asked).toBe(2);
  });

  test('goes by its own environment before all', async () => {
    const { state, settings } = registryWith({ SVC_SUDO_TTL_MS: '2000' });
    state.answer = { stamp: at(1), stored: { 'sudo.ttlMs': 7000 }, fixed: {} };
    expect(await settings.read('sudo.ttlMs', at(1))).toBe(2000);
    expect(await settings.inspect('sudo.ttlMs', 'sudo.ttlMs', at(1))).toEqual({ value: 2000, source: 'environment' });
  });

  test('while nobody answers goes by what it knew, or by the default where the declaration says so', async () => {
    const { state, settings } = registryWith();
    expect(await settings.read('mcp.requireKey', null)).toBeNull();
    const stored = { 'mcp.requireKey': false, 'market.skillsEnabled': true };
    state.answer = { stamp: at(2), stored, fixed: {} };
    const read = (stamp: RegistryStamp | null) =>
      Promise.all([settings.read('mcp.requireKey', stamp), settings.read('market.skillsEnabled', stamp)]);
    expect(await read(at(2))).toEqual([false, true]);
    state.isAway = true;
    expect(await read(null)).toEqual([false, false]);
    expect(await read(at(3))).toEqual([false, false]);
    await expect(settings.inspect('mcp.requireKey', 'mcp.requireKey', at(3))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
  });

  test('takes a stored value that fits no more for none, and knows no inherited names', async () => {
    const { state, settings } = registryWith();
    state.answer = { stamp: at(1), stored: { 'sudo.ttlMs': 'for ever', 'toString.x': 1 }, fixed: {} };
    expect(await settings.read('sudo.ttlMs', at(1))).toBe(600_000);
    const all = await settings.inspectAll(at(1));
    expect(all.get('sudo.ttlMs')).toEqual({ value: 600_000, source: 'default' });
    expect([...all.keys()]).not.toContain('toString.x');
  });
});
