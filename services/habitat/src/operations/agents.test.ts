import { expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

test('agents are told to whoever shares their home, and all of them to nobody in particular', async () => {
  const one = String((await node.call('agent_spawn', { team: 'docks', name: 'pilot' })).id);
  const other = String((await node.call('agent_spawn', { team: 'mill', name: 'miller' })).id);
  const seenBy = async (agentId: string | null, bound: string | null = null) => {
    const { agents } = await node.registry.agents({ viewer: { agentId, bound }, limit: 1000 });
    return agents.map(({ id }) => id);
  };
  expect(await seenBy(one)).toEqual([one]);
  expect(await seenBy(one, 'org-mill')).toEqual([]);
  expect(await seenBy(null)).toEqual([]);
  const { agents } = await node.registry.agents({ viewer: null, limit: 1000 });
  expect(agents.map(({ id }) => id)).toEqual([one, other].sort());
  expect(agents).toContainEqual({ id: one, name: 'pilot', role: null, team: 'docks' });
  expect((await node.registry.agents({ viewer: null, limit: 1 })).agents).toHaveLength(1);
});
