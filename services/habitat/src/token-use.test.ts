import { beforeAll, expect, test } from 'vitest';
import { TOKENS_USED } from '@svc/contract/registry.ts';
import { sweepTokens } from './store/token-rows.ts';
import { useHabitat } from '../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const { bed, node } = useHabitat();

beforeAll(async () => {
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'ann', role: 'viewer' });
});

async function mint(): Promise<{ token: string; tokenId: string }> {
  const { token, tokenId } = await node.call('svc_habitat_mintToken', { agentId: 'ann' });
  return { token: String(token), tokenId: String(tokenId) };
}

async function lastUseOf(tokenId: string): Promise<unknown> {
  const { tokens } = await node.call('svc_habitat_listTokens', { agentId: 'ann' });
  return (tokens as Fields[]).find((token) => token.tokenId === tokenId)?.lastUsedAt;
}

test('the last use of a token is kept to the minute, whoever verified it', async () => {
  const [verified, reported] = [await mint(), await mint()];
  expect(await lastUseOf(verified.tokenId)).toBeUndefined();
  await node.call('svc_habitat_verifyToken', { token: verified.token });
  const { bus } = node.deps.platform;
  for (const payload of ['', '{', '{"tokenIds":7}', 'null']) bus.publish(TOKENS_USED, payload);
  bus.publish(TOKENS_USED, JSON.stringify({ tokenIds: [reported.tokenId, 'tok_unknown'] }));
  for (const { tokenId } of [verified, reported])
    await expect.poll(() => lastUseOf(tokenId)).toEqual(expect.any(Number));
  const used = await lastUseOf(verified.tokenId);
  await node.call('svc_habitat_verifyToken', { token: verified.token });
  const second = await bed().start();
  await second.call('svc_habitat_verifyToken', { token: verified.token });
  await second.stop();
  expect(await lastUseOf(verified.tokenId)).toBe(used);
});

test('a token that ended 30 days ago goes, others stay', async () => {
  const { client } = node.deps.store;
  const ids = await Promise.all(Array.from({ length: 4 }, async () => (await mint()).tokenId));
  const [live, lately, expired, revoked] = ids;
  const set = (id: string | undefined, columns: string) =>
    client.$executeRawUnsafe(`UPDATE habitat.tokens SET ${columns} WHERE token_id = $1`, id);
  await set(lately, "expires_at = now() - interval '29 days'");
  await set(expired, "expires_at = now() - interval '31 days'");
  await set(revoked, "revoked_at = now() - interval '31 days'");
  expect(await sweepTokens(client, 30)).toBe(2);
  const { tokens } = await node.call('svc_habitat_listTokens', { agentId: 'ann' });
  const left = (tokens as Fields[]).map(({ tokenId }) => tokenId).filter((id) => ids.includes(String(id)));
  expect(new Set(left)).toEqual(new Set([live, lately]));
});
