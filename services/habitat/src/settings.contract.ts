/** What holds of settings on any database, with as many processes as it allows. */
import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '@svc/runtime/config.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createSettings } from '@svc/runtime/settings.ts';
import { describe, expect, test } from 'vitest';
import type { HabitatNode } from '../testing/habitat-test-bed.ts';
import { codeOf } from '../testing/test-people.ts';
import { useHabitat } from '../testing/test-habitat.ts';

const HOUR_MS = 3_600_000;

/** A service that goes by settings, beside one process of the registry. */
function readerAt(node: HabitatNode) {
  const { config } = readConfig({}, () => '');
  const settings = createSettings({ config, registry: node.registry });
  return { ...settings, stamp: async () => (await node.registry.revision()).stamp };
}

/** Nodes that share nothing but the database. */
export function describeSettings(name: string, open: () => Promise<Database>, nodes: number): void {
  describe(`settings on ${name}`, () => {
    const { nodeOf, restart } = useHabitat({ open, nodes });
    const [one, other] = [nodeOf(0), nodeOf(nodes - 1)];
    const change = (node: HabitatNode, key: string, value: unknown, operator = true) =>
      node.registry.changeSetting({ key, value: value as never, by: 'operator', operator, idempotency: null });

    test('a change through one process holds at every other from the next call on, and survives a restart', async () => {
      const reader = readerAt(other);
      expect(await reader.read('market.skillsEnabled', await reader.stamp())).toBe(false);
      const set = await change(one, 'market.skillsEnabled', true);
      expect(set).toMatchObject({ changed: true, value: true, source: 'node', shadowedBy: null });
      expect(await reader.read('market.skillsEnabled', await reader.stamp())).toBe(true);
      expect(await change(other, 'market.skillsEnabled', 'true')).toMatchObject({ changed: false, source: 'node' });
      await restart(nodes - 1);
      const after = readerAt(other);
      expect(await after.read('market.skillsEnabled', await after.stamp())).toBe(true);
      expect(await change(one, 'market.skillsEnabled', null)).toMatchObject({ value: false, source: 'default' });
      expect(await after.read('market.skillsEnabled', await after.stamp())).toBe(false);
    });

    test('an unchanged value raises nothing, a change raises the stamp, and no other part of the registry does', async () => {
      const before = (await other.registry.revision()).stamp;
      await change(one, 'agora.requireRegistry', true);
      const changed = (await other.registry.revision()).stamp;
      expect(changed).toMatchObject({ rev: before.rev + 1, settings: before.rev + 1, policies: before.policies });
      await change(one, 'agora.requireRegistry', true);
      expect((await other.registry.revision()).stamp).toEqual(changed);
      await one.call('svc_habitat_addRole', { workspaceId: 'default', role: 'viewer', userId: 'somebody' });
      const later = (await other.registry.revision()).stamp;
      expect([later.rev > changed.rev, later.settings]).toEqual([true, changed.settings]);
    });

    test('only an operator changes one, and what does not fit is told', async () => {
      await expect(change(one, 'sudo.ttlMs', 5000, false)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      for (const [key, value] of [
        ['sudo.ttlMs', HOUR_MS + 1],
        ['sudo.ttlMs', 'maybe'],
        ['market.skillsEnabled', 'maybe'],
        ['market.skillsEnabled', { toJSON: 1 }],
        ['no.such', 1],
        ['__proto__.x', 1],
        ['profiles.core', ['svc_search']],
        ['profiles.mine', []],
        ['profiles.mine', ['not a name']],
      ] as const) {
        const asked = change(one, key, value);
        await expect(asked).rejects.toMatchObject({ code: 'VAF_INPUT_INVALID', message: expect.stringContaining(key) });
      }
      expect(Object.keys((await one.registry.settings({})).stored)).not.toContain('sudo.ttlMs');
      expect(({} as { x?: number }).x).toBeUndefined();
    });

    test('each change is told to operators and kept in the audit with what was before', async () => {
      await change(one, 'habitat.maxAgents', 50);
      await change(one, 'habitat.maxAgents', '51');
      await change(one, 'habitat.maxAgents', 51);
      await change(one, 'habitat.maxAgents', null);
      const entries = await one.rows<{ data: object }>(
        `SELECT id, data::jsonb FROM habitat.audit_outbox WHERE event = 'config:changed' AND data->>'setting' = 'habitat.maxAgents'
         UNION SELECT id, data::jsonb FROM habitat.audit_entries
           WHERE event = 'config:changed' AND data->>'setting' = 'habitat.maxAgents' ORDER BY id`,
      );
      expect(entries.map(({ data }) => data)).toEqual([
        { setting: 'habitat.maxAgents', value: 50, previous: null, by: 'operator' },
        { setting: 'habitat.maxAgents', value: 51, previous: 50, by: 'operator' },
        { setting: 'habitat.maxAgents', value: null, previous: 51, by: 'operator' },
      ]);
      const events = await one.rows<{ payload: object }>(
        `SELECT payload FROM habitat.outbox WHERE name = 'config:changed' AND payload->>'key' = 'habitat.maxAgents'`,
      );
      expect(events.map(({ payload }) => payload)).toEqual(
        Array.from({ length: 3 }, () => ({ key: 'habitat.maxAgents', by: 'operator' })),
      );
    });

    test('that skills are traded or not is told to all, once for each change, whoever makes it', async () => {
      const key = 'market.skillsEnabled';
      await change(one, key, null);
      const told = async () => {
        const rows = await one.rows<{ payload: { enabled: boolean } }>(
          `SELECT payload FROM habitat.outbox WHERE name = 'market:gate-changed' ORDER BY written, line`,
        );
        return rows.map(({ payload }) => payload.enabled);
      };
      const before = await told();
      const keyed = { principal: 'operator', tool: 'svc_config_set', key: 'gate', argsHash: 'h' };
      const wish = { key, value: true, by: 'operator', operator: true, idempotency: keyed };
      await one.registry.changeSetting(wish);
      expect(await other.registry.changeSetting(wish)).toMatchObject({ changed: true, replayed: true });
      await change(other, key, true);
      await change(one, 'sudo.ttlMs', 5000);
      await change(one, 'sudo.ttlMs', null);
      await change(other, key, false);
      await change(one, key, null);
      expect((await told()).slice(before.length)).toEqual([true, false]);
    });

    test('changes of one setting at once leave one of their values, and each tells what it found', async () => {
      const values = Array.from({ length: 20 }, (_, index) => 1000 + index);
      const done = await Promise.all(values.map((value, index) => change(nodeOf(index), 'sudo.ttlMs', value)));
      expect(done.every(({ changed }) => changed)).toBe(true);
      const { stored } = await one.registry.settings({});
      expect(values).toContain(stored['sudo.ttlMs']);
      await change(one, 'sudo.ttlMs', null);
    });

    test('the registry itself goes by its settings', async () => {
      await change(one, 'habitat.maxAgents', 2);
      const spawn = () => codeOf(other.call('agent_spawn', { team: 'small' }));
      expect([await spawn(), await spawn(), await spawn()]).toEqual([null, null, 'E_QUOTA']);
      await change(one, 'habitat.maxAgents', 3);
      expect([await spawn(), await spawn()]).toEqual([null, 'E_QUOTA']);
      await change(one, 'habitat.maxAgents', null);

      const { taskId } = await other.call('svc_sudo_createTask');
      await change(one, 'sudo.ttlMs', 1500);
      const { expiresAt } = await other.call('svc_sudo_grant', { taskId, scope: 'exec' });
      expect(Number(expiresAt) - Date.now()).toBeLessThan(1600);
      await delay(1600);
      expect(await other.call('svc_sudo_can', { taskId, scope: 'exec' })).toMatchObject({ allowed: false });
      await change(one, 'sudo.ttlMs', null);
    });

    test('profiles are as many as are set', async () => {
      const reader = readerAt(other);
      await change(one, 'profiles.notes', ['brain_*', 'svc_search']);
      await change(one, 'profiles.money', ['escrow_status']);
      const profiles = await reader.readGroup('profiles', await reader.stamp());
      expect([...profiles]).toEqual([
        ['money', ['escrow_status']],
        ['notes', ['brain_*', 'svc_search']],
      ]);
      await change(one, 'profiles.money', null);
      expect([...(await reader.readGroup('profiles', await reader.stamp())).keys()]).toEqual(['notes']);
    });
  });
}
