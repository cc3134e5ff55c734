/** Keys of a brain's own, which people and agents set. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createMembers, memberAt, type Workspace } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const AT_ONCE = 20;

verifies('settings:brain', async ({ place, fresh, caller, socket }) => {
  const { user, brain } = await fresh();
  const ears = await socket({ gateway: 1 });
  const other = caller({ gateway: 1 });
  const key = 'notes.language';
  const told = await user.ok('svc_config_set', { key, value: 'en' });
  expect(told).toMatchObject({ value: 'en', source: 'brain', brain, changed: true });
  expect(await other.ok('svc_config_get', { key, brain })).toMatchObject({ value: 'en', source: 'brain' });
  const heard = () => ears.heard.filter((event) => event.name === 'brain:config-changed' && event['brain'] === brain);
  await waitFor(() => heard().length === 1, { what: 'a change of a key' });
  expect(heard()[0]).toMatchObject({ key, branch: 'main' });
  expect(heard()[0]).not.toHaveProperty('value');
  // Each of them alone in its turn: none takes back what another has set.
  const names = Array.from({ length: AT_ONCE }, (_, number) => `notes.of-${number}`);
  await Promise.all(
    names.map((name, gateway) => user.ok('svc_config_set', { key: name, value: gateway }, { gateway })),
  );
  const file = join(brainFolder(place, brain), 'config.json');
  const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  expect(Object.keys(written).toSorted()).toEqual([key, ...names].toSorted());
  const secret = newName('canary');
  writeFileSync(
    file,
    JSON.stringify({ 'mcp.requireKey': true, 'market.requireConsent': true, 'a.token': secret, x: 1 }),
  );
  await waitFor(async () => (await other.ok('svc_config_get', { key: 'x', brain }))['value'] === 1, {
    what: 'what a person wrote',
  });
  for (const ofNode of ['mcp.requireKey', 'market.requireConsent']) {
    const { source } = await other.ok('svc_config_get', { key: ofNode, brain });
    expect([ofNode, source]).toEqual([ofNode, 'default']);
  }
  expect((await other.call('svc_config_get', { brain })).text).not.toContain(secret);
  const stranger = memberAt(await createMembers(place, 'viewer'), 0).caller;
  await stranger.fails('FORBIDDEN', 'svc_config_set', { key: 'mcp.requireKey', value: true });
});

verifies('settings:brain-told', async ({ place, caller, socket }) => {
  const operator = caller();
  const [ours, theirs] = [await createMembers(place, 'editor'), await createMembers(place, 'editor')];
  const earsOf = async ({ members: [member] }: Workspace) => {
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: member?.id });
    return socket({ auth: { token: String(token) }, gateway: 1 });
  };
  const [reader, stranger] = [await earsOf(ours), await earsOf(theirs)];
  const heardBy = ({ heard }: typeof reader) =>
    heard.filter(({ name }) => name === 'brain:config-changed').map((event) => [event['brain'], event['key']]);
  const { caller: editor } = memberAt(ours, 0);
  const [shut, open] = [newName('shut'), newName('open')];
  for (const name of [shut, open]) await editor.ok('brain_push', { name, create: true });
  const policy = { readableBy: [], writableBy: [], container: ours.workspace };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${shut}`, policy });
  await editor.ok('svc_config_set', { brain: shut, key: 'notes.ours', value: 'en' });
  // What everybody may read comes after what the stranger may not: who has the second one has got all there was.
  const openTo = { readableBy: [], writableBy: [], container: 'public' };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${open}`, policy: openTo });
  await editor.ok('svc_config_set', { brain: open, key: 'notes.of-all', value: 'en' });
  await waitFor(() => heardBy(stranger).length > 0, { what: 'the stranger to hear of the open brain' });
  await waitFor(() => heardBy(reader).length === 2, { what: 'the member to hear of both' });
  expect(heardBy(stranger)).toEqual([[open, 'notes.of-all']]);
  expect(heardBy(reader)).toEqual([
    [shut, 'notes.ours'],
    [open, 'notes.of-all'],
  ]);
});
