import { expect, test, vi } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

const TOKENS = 40;
/** The first may go alone, before the others have come. */
const STATEMENTS = 2;

test('tokens that are asked for at once are read together, each with what it is worth', async () => {
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'acme' });
  const tokens: string[] = [];
  for (let number = 0; number < TOKENS; number += 1) {
    const agentId = `agent${number}`;
    await node.call('svc_habitat_addRole', { workspaceId: 'acme', userId: agentId, role: 'editor' });
    const { token } = await node.call('svc_habitat_mintToken', { agentId });
    tokens.push(String(token));
    if (number % 4 === 1) await node.call('svc_habitat_revokeToken', { tokenOrHash: token });
    if (number % 4 === 2)
      await node.call('svc_habitat_removeRole', { workspaceId: 'acme', userId: agentId, role: 'editor' });
  }
  const unknown = `svc_${'0'.repeat(64)}`;
  const asked = [unknown, ...tokens, unknown, ...tokens.slice(0, 1)];

  const statements = vi.spyOn(node.deps.store.client, '$queryRawUnsafe');
  const { stamp } = await node.registry.revision();
  const answers = await Promise.all(asked.map((token) => node.registry.subject({ token })));
  const reads = statements.mock.calls.filter(([sql]) => sql.includes('habitat.tokens'));
  statements.mockRestore();

  const worth = tokens.map((_token, number) => (number % 4 === 1 || number % 4 === 2 ? null : `agent${number}`));
  expect(answers.map(({ token }) => token?.subject.agentId ?? null)).toEqual([null, ...worth, null, 'agent0']);
  expect(answers.map((answer) => answer.stamp)).toEqual(asked.map(() => stamp));
  expect(reads.length).toBeLessThanOrEqual(STATEMENTS);
});
