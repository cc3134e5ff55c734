import { expect, test } from 'vitest';
import { useHabitat } from './test-habitat.ts';

const { node } = useHabitat();

test('a fresh registry has one workspace, no roles, and says what it stands at', async () => {
  const { stamp, current } = await node.registry.revision('s');
  expect(stamp).toEqual({ rev: 1, policies: 1 });
  expect(current).toBeNull();
  expect(await node.registry.ask('roles', { userId: 'u', workspaceId: 'default' })).toEqual({
    stamp,
    known: true,
    roles: [],
  });
  expect(await node.registry.ask('roles', { userId: 'u', workspaceId: 'ghost' })).toMatchObject({ known: false });
  expect(await node.registry.ask('subject', { token: `svc_${'0'.repeat(64)}` })).toMatchObject({ token: null });
  expect(await node.registry.ask('context', { agentId: 'u' })).toMatchObject({ subject: null });
  expect(await node.registry.ask('attached', { root: 'brain:svc', prefixes: ['_island:'] })).toEqual({
    stamp,
    policies: {},
  });
});
