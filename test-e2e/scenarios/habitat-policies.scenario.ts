/** What boundaries decide, as every door shows it. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

/** Policies and decisions of an operator, who is judged as whom it declares. */
function policiesOf(place: TargetPlace) {
  const operator = new Caller(place);
  return {
    operator,
    set: (resource: string, policy: Fields) => operator.ok('svc_habitat_setPolicy', { resource, policy }),
    can: (resource: string, userCtx?: Fields, mode = 'read') =>
      operator.ok('svc_habitat_can', { resource, mode, ...(userCtx === undefined ? {} : { userCtx }) }),
    async workspace(owner?: string): Promise<string> {
      const workspaceId = newName('w');
      await operator.ok('svc_habitat_createWorkspace', { workspaceId, options: owner === undefined ? {} : { owner } });
      return workspaceId;
    },
    async tokenOf(agentId: string, options: Fields = {}): Promise<Caller> {
      const { token } = await operator.ok('svc_habitat_mintToken', { agentId, ...options });
      return callerOf(place, String(token));
    },
  };
}

verifies('habitat:policies:default', async ({ place }) => {
  const { can, operator } = policiesOf(place);
  const doc = newName('doc');
  expect(await can(doc)).toMatchObject({ allowed: true, because: 'public', mode: 'read', workspace: 'default' });
  expect(await can(doc, undefined, 'write')).toMatchObject({ allowed: false, because: 'no-match', verified: false });
  expect(await operator.ok('svc_habitat_check', { resource: doc })).toEqual({
    checked: true,
    resource: doc,
    mode: 'read',
  });
  const { message } = await operator.fails('RLS_DENIED', 'svc_habitat_check', { resource: doc, mode: 'write' });
  expect(message).toBe(`write of ${doc} is denied`);
});

verifies('habitat:policies:container', async ({ place }) => {
  const { can, set, workspace } = policiesOf(place);
  const [acme, beta, doc] = [await workspace(), await workspace(), newName('doc')];
  await set(doc, { container: acme, readableBy: [] });
  expect(await can(doc, { workspace: beta })).toMatchObject({ allowed: false, because: 'container' });
  expect(await can(doc, { workspace: acme })).toMatchObject({ allowed: true, because: 'no-rules' });
  await set(doc, { container: 'public', readableBy: [] });
  expect(await can(doc, { workspace: beta })).toMatchObject({ allowed: true, because: 'no-rules' });
});

verifies(['habitat:policies:rules', 'habitat:policies:unknown-workspace'], async ({ place }) => {
  const { can, set, workspace } = policiesOf(place);
  const [acme, doc, ghost] = [await workspace(), newName('doc'), newName('ghost')];
  await set(doc, { container: acme, readableBy: ['role:viewer', 'user:u1', 'user:a:b'] });
  const because = async (userCtx: Fields) => (await can(doc, { workspace: acme, ...userCtx })).because;
  expect(await because({ userId: 'u1', roles: ['viewer'] })).toBe('role:viewer');
  expect(await because({ userId: 'u1' })).toBe('user:u1');
  expect(await because({ userId: 'a:b' })).toBe('user:a:b');
  expect(await because({ userId: 'a' })).toBe('no-match');
  expect(await because({ userId: 'b' })).toBe('no-match');
  const stranger = { workspace: ghost, roles: ['admin'], userId: 'u1' };
  const rules = ['role:admin', 'user:u1', `container:${ghost}`];
  await set(doc, { container: ghost, readableBy: rules });
  expect(await can(doc, stranger)).toMatchObject({ allowed: false, because: 'no-match' });
  await set(doc, { container: ghost, readableBy: [...rules, 'public'] });
  expect(await can(doc, stranger)).toMatchObject({ allowed: true, because: 'public' });
});

verifies('habitat:policies:transforms', async ({ place }) => {
  const { operator, set, workspace, tokenOf } = policiesOf(place);
  const folder = newName('rows');
  const [home, reader, stranger] = [await workspace(), newName('reader'), newName('stranger')];
  await operator.ok('svc_habitat_addRole', { workspaceId: home, userId: reader, role: 'viewer' });
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: newName('w'), options: { owner: stranger } });
  const row = { name: 'A', ssn: 1, email: 'x@y' };
  await operator.ok('brain_write', { brain: 'svc', name: `${folder}/row.json`, content: JSON.stringify(row) });
  await operator.ok('brain_write', { brain: 'svc', name: `${folder}/text.txt`, content: 'ssn: 1' });
  await set(`brain:svc/${folder}`, { container: home, filter: ['ssn'], mask: ['email', 'ssn'] });
  const read = async (caller: Caller, filename: string) =>
    caller.call('svc_get_memory', { brain: 'svc', category: folder, filename });
  const [asReader, asStranger] = [await tokenOf(reader), await tokenOf(stranger)];
  const shown = (await read(asReader, 'row.json')).body.result?.content;
  expect(JSON.parse(String(shown))).toEqual({ name: 'A', email: '[masked]' });
  expect((await read(asReader, 'text.txt')).body.result?.content).toBe('ssn: 1');
  const denied = await read(asStranger, 'row.json');
  expect(codeOf(denied)).toBe('E_FILE_ABSENT');
  expect(denied.text).not.toContain('x@y');
  await operator.fails('VAF_INPUT_INVALID', 'svc_habitat_setPolicy', {
    resource: `brain:svc/${folder}`,
    policy: { filter: 'rm' },
  });
});

verifies('habitat:tokens:one-workspace', async ({ place }) => {
  const { operator, set, workspace, tokenOf } = policiesOf(place);
  const [acme, beta, agent] = [await workspace(), await workspace(), newName('a')];
  await operator.ok('svc_habitat_addRole', { workspaceId: acme, userId: agent, role: 'viewer' });
  await operator.ok('svc_habitat_addRole', { workspaceId: beta, userId: agent, role: 'admin' });
  const [inAcme, inBeta] = [newName('doc'), newName('doc')];
  await set(inAcme, { container: acme });
  await set(inBeta, { container: beta });
  const token = await tokenOf(agent);
  const write = (resource: string, userCtx?: Fields) =>
    token.ok('svc_habitat_can', { resource, mode: 'write', ...(userCtx === undefined ? {} : { userCtx }) });
  expect(await write(inAcme)).toMatchObject({ allowed: false, workspace: acme, verified: true });
  expect(await write(inBeta)).toMatchObject({ allowed: false, because: 'container' });
  expect(await write(inBeta, { workspace: beta })).toMatchObject({ allowed: true, workspace: beta });
  expect(await write(inBeta, { workspace: beta, roles: ['viewer'] })).toMatchObject({ allowed: false });
  expect(await write(inAcme, { workspace: acme, roles: ['admin'] })).toMatchObject({ allowed: false });
});

verifies('habitat:policies:home', async ({ place }) => {
  const [own, others] = [await createMembers(place, 'admin', 'editor'), await createMembers(place, 'admin')];
  const [admin, editor, other] = [memberAt(own, 0).caller, memberAt(own, 1).caller, memberAt(others, 0).caller];
  const { caller: lord } = await addMember(place, 'default', 'admin');
  const [brain, file, island] = [newName('b'), newName('f'), newName('i')];
  await editor.ok('brain_push', { name: brain, create: true });
  await editor.ok('brain_write', { brain: 'svc', name: `common/${file}`, content: 'ours' });
  await editor.ok('svc_create_island', { brain: 'svc', name: island, content: 'ours' });
  const set = (resource: string, container: string) => ({ resource, policy: { container, readableBy: [] } });
  for (const resource of [`brain:${brain}`, `brain:svc/common/${file}.md`, `_island:${island}`]) {
    for (const who of [lord, other, editor]) {
      for (const container of ['default', others.workspace, own.workspace])
        await who.fails('FORBIDDEN', 'svc_habitat_setPolicy', set(resource, container));
    }
    await admin.ok('svc_habitat_setPolicy', set(resource, own.workspace));
  }
  await other.refused('E_FILE_ABSENT', 'brain_read', { brain: 'svc', name: `common/${file}` });
  await other.fails('RLS_DENIED', 'svc_load_island', { brain: 'svc', name: island });
  await other.fails('BRAIN_LOAD_FAIL', 'brain_push', { name: brain });
  const resource = `brain:svc/common/${file}.md`;
  for (const who of [lord, other, editor]) await who.fails('FORBIDDEN', 'svc_habitat_removePolicy', { resource });
  expect(await admin.ok('svc_habitat_removePolicy', { resource })).toEqual({ resource, removed: true });
  // Open again: anybody may remove it and make it anew, and does not get it by that.
  await lord.ok('brain_delete_file', { brain: 'svc', name: `common/${file}` });
  await lord.ok('brain_write', { brain: 'svc', name: `common/${file}`, content: 'mine' });
  await lord.fails('FORBIDDEN', 'svc_habitat_setPolicy', set(resource, 'default'));
  await admin.ok('svc_habitat_setPolicy', set(resource, own.workspace));
});

verifies('habitat:policies:declared', async ({ place, socket }) => {
  const [boss, others] = [newName('boss'), await createMembers(place, 'admin')];
  const { operator, tokenOf } = policiesOf(place);
  const [workspace, word] = [newName('w'), newName('word').replaceAll('-', '')];
  const policy = { readableBy: ['role:admin', 'role:editor'], writableBy: ['role:editor'] };
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: workspace, options: { owner: boss, policy } });
  const [admin, other] = [await tokenOf(boss), memberAt(others, 0).caller];
  const { caller: editor } = await addMember(place, workspace, 'editor');
  const { caller: viewer } = await addMember(place, workspace, 'viewer');
  const hearing = async (who: Caller) => {
    const opened = await socket({ auth: { token: who.headers()['x-habitat-token'] ?? '' } });
    await opened.subscribe({ events: ['*'] });
    return opened;
  };
  const [ours, theirs] = [await hearing(editor), await hearing(other)];
  const [brain, file] = [newName('b'), `common/${newName('f')}`];
  await editor.ok('brain_push', { name: brain, create: true });
  await editor.ok('brain_write', { brain: 'svc', name: file, content: word });
  for (const who of [viewer, other]) {
    await who.fails('BRAIN_LOAD_FAIL', 'brain_push', { name: brain });
    await who.refused('E_FILE_ABSENT', 'brain_read', { brain: 'svc', name: file });
    expect(await who.ok('svc_search', { brain: 'svc', query: word })).toMatchObject({ total: 0 });
  }
  await other.fails('RLS_DENIED', 'brain_write', { brain: 'svc', name: file, content: 'x' });
  const isChangeOf =
    (path: string) =>
    ({ name, file: changed }: Fields) =>
      name === 'brain:change' && changed === `${path}.md`;
  const isChange = isChangeOf(file);
  const heard = await ours.until('of the file', isChange);
  expect(JSON.stringify(heard)).not.toContain('_home:');
  // Events come in order: whoever heard this one was judged for that of the file.
  const marker = `common/${newName('f')}`;
  await operator.ok('brain_write', { brain: 'svc', name: marker, content: 'open' });
  await theirs.until('of the marker', isChangeOf(marker));
  // A boundary of its own takes the place of that of its home, for readers and listeners.
  const resource = `brain:svc/${file}.md`;
  await operator.ok('svc_habitat_setPolicy', { resource, policy: { container: 'public', writableBy: ['public'] } });
  await other.ok('brain_read', { brain: 'svc', name: file });
  await editor.ok('brain_write', { brain: 'svc', name: file, content: `${word} again` });
  await theirs.until('of the file', isChange);
  expect(theirs.heard.filter(isChange)).toHaveLength(1);
  await operator.ok('svc_habitat_removePolicy', { resource });
  await other.refused('E_FILE_ABSENT', 'brain_read', { brain: 'svc', name: file });
  // Its admin may change it: for everything that is at home there.
  const all = { resource: `_home:${workspace}`, policy: { container: workspace, readableBy: [] } };
  for (const who of [editor, other]) await who.fails('FORBIDDEN', 'svc_habitat_setPolicy', all);
  await admin.fails('VAF_INPUT_INVALID', 'svc_habitat_setPolicy', { ...all, policy: { container: 'default' } });
  await admin.ok('svc_habitat_setPolicy', all);
  await viewer.ok('brain_read', { brain: 'svc', name: file });
  await other.refused('E_FILE_ABSENT', 'brain_read', { brain: 'svc', name: file });
  await admin.ok('svc_habitat_removePolicy', { resource: `_home:${workspace}` });
  await other.ok('brain_read', { brain: 'svc', name: file });
});

verifies('habitat:policies:take-over', async ({ place }) => {
  const { operator, set, workspace, tokenOf } = policiesOf(place);
  const [owner, eve, doc] = [newName('owner'), newName('eve'), newName('doc')];
  const [acme, beta] = [await workspace(owner), await workspace()];
  await set(doc, { container: beta });
  const admin = await tokenOf(owner);
  await admin.fails('FORBIDDEN', 'svc_habitat_setPolicy', { resource: doc, policy: { container: acme } });
  await admin.fails('FORBIDDEN', 'svc_habitat_setPolicy', { resource: newName('doc'), policy: { container: acme } });
  const { boundaries } = await operator.ok('svc_habitat_getBoundaries', { limit: 1000 });
  expect((boundaries as Record<string, Fields>)[doc]).toMatchObject({ container: beta });
  await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId: eve, role: 'viewer' });
  const stranger = await tokenOf(eve);
  for (const workspaceId of [acme, acme.toUpperCase()]) {
    await stranger.refused('HABITAT_WORKSPACE_EXISTS', 'svc_habitat_createWorkspace', { workspaceId });
  }
  expect(await operator.ok('svc_habitat_getUserRoles', { workspaceId: acme, userId: eve })).toMatchObject({
    roles: [],
  });
  expect(await operator.ok('svc_habitat_getUserRoles', { workspaceId: acme, userId: owner })).toMatchObject({
    roles: ['admin'],
  });
});
