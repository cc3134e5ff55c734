/** The log of events: the same story as over sockets, and nothing of what its reader may not hear. */
import { EVENTS } from '@svc/contract/events.ts';
import { expect } from 'vitest';
import type { Caller } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { allAfter, type LoggedEvent, newestId, tail } from '../instruments/log-reader.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const ROUNDS = 12;

verifies(['log:tail', 'log:names'], async ({ fresh, caller }) => {
  const operator = caller();
  const { user, brain } = await fresh();
  const start = await newestId(operator);
  const files = Array.from({ length: 40 }, (_, index) => `f${index}.md`);
  for (const name of files) await user.ok('brain_write', { name, content: name });
  const ofBrain = async (wanted: object): Promise<LoggedEvent[]> =>
    (await allAfter(operator, start, { ...wanted })).filter(({ payload }) => payload['brain'] === brain);
  const filesIn = (events: readonly LoggedEvent[]) => events.map(({ payload }) => payload['file']);
  await waitFor(async () => (await ofBrain({ nameFilter: 'brain:change' })).length >= files.length, {
    what: 'the log to have them',
  });
  for (const wanted of [
    { max: 7, module: 'brain' },
    { nameFilter: 'brain:ch*' },
    { nameFilter: 'brain:change', module: 'brain' },
  ])
    expect(filesIn((await ofBrain(wanted)).filter(({ name }) => name === 'brain:change'))).toEqual(files);
  for (const { name } of await allAfter(operator, start, { nameFilter: 'brain:*' })) expect(name).toMatch(/^brain:/);
  expect(await ofBrain({ nameFilter: 'vote:*' })).toEqual([]);
  expect(await ofBrain({ module: 'habitat' })).toEqual([]);
  await operator.refused('E_EVENT_GONE', 'event_tail', { after: `evt_${newName('never')}` });
  await operator.fails('VAF_INPUT_INVALID', 'event_tail', { cursor: newName('none') });
});

verifies('log:hidden', async ({ place, caller }) => {
  const operator = caller();
  const one = await createMembers(place, 'viewer');
  const other = await createMembers(place, 'viewer');
  const start = await newestId(operator);
  const stranger = memberAt(other, 0).caller;
  await operator.ok('svc_habitat_addRole', { workspaceId: other.workspace, userId: newName('u'), role: 'viewer' });
  const marked = newName('u');
  await operator.ok('svc_habitat_addRole', { workspaceId: one.workspace, userId: marked, role: 'viewer' });
  const granted = (reader: Caller) => allAfter(reader, start, { nameFilter: 'role:granted' });
  const own = async () =>
    (await granted(memberAt(one, 0).caller)).filter(({ workspace }) => workspace === one.workspace);
  await waitFor(async () => (await own()).some(({ payload }) => payload['userId'] === marked), {
    what: 'the log to have the grant',
  });
  const seen = await tail(stranger, { after: start, nameFilter: 'role:granted' });
  expect(new Set(seen.events.map(({ workspace }) => workspace))).toEqual(new Set([other.workspace]));
  expect(seen.lastId).toBe(seen.events.at(-1)?.id);
  expect(await tail(stranger, { after: seen.lastId, nameFilter: 'role:granted' })).toEqual({
    events: [],
    lastId: seen.lastId,
  });
});

interface Reader {
  readonly who: string;
  readonly token: string;
}

/** Members, an admin, a stranger and who is bound to one workspace; things that some of them may hear, in any order. */
verifies('log:story', async (scenario) => {
  const { place, caller, random } = scenario;
  const operator = caller();
  const one = await createMembers(place, 'viewer', 'admin');
  const other = await createMembers(place, 'editor');
  const [viewer, admin, stranger] = [memberAt(one, 0), memberAt(one, 1), memberAt(other, 0)];
  const brain = newName('b');
  await operator.ok('brain_switch', { name: brain, create: true });
  const mint = async (agentId: string, workspace?: string): Promise<string> =>
    String(
      (await operator.ok('svc_habitat_mintToken', { agentId, ...(workspace === undefined ? {} : { workspace }) }))
        .token,
    );
  await operator.ok('svc_habitat_addRole', { workspaceId: one.workspace, userId: stranger.id, role: 'viewer' });
  const readers: Reader[] = [
    { who: 'viewer', token: await mint(viewer.id) },
    { who: 'admin', token: await mint(admin.id) },
    { who: 'bound', token: await mint(stranger.id, other.workspace) },
    { who: 'both', token: await mint(stranger.id) },
  ];
  const starts = {
    brain: await newestId(operator, { module: 'brain' }),
    habitat: await newestId(operator, { module: 'habitat' }),
  };
  const acts: (() => Promise<unknown>)[] = [
    () => operator.ok('brain_write', { name: `open/${newName('f')}`, content: 'x' }),
    () => admin.caller.ok('brain_write', { brain, branch: 'main', name: `team/${newName('f')}`, content: 'x' }),
    () => operator.ok('svc_habitat_addRole', { workspaceId: one.workspace, userId: newName('u'), role: 'viewer' }),
    () => operator.ok('svc_habitat_addRole', { workspaceId: other.workspace, userId: newName('u'), role: 'viewer' }),
    () => mint(random.pick([viewer, admin, stranger]).id),
    () => operator.ok('svc_habitat_setPolicy', { resource: newName('doc'), policy: { container: one.workspace } }),
  ];
  await operator.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/team`,
    policy: { container: one.workspace, readableBy: ['role:viewer'], mask: ['by'] },
  });
  for (let round = 0; round < ROUNDS; round += 1) for (const act of acts) await random.pick([act, random.pick(acts)])();
  const lastFile = `open/${newName('end')}.md`;
  await operator.ok('brain_write', { name: lastFile, content: 'x' });
  const lastUser = newName('end');
  for (const { workspace } of [one, other])
    await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: lastUser, role: 'viewer' });
  for (const reader of readers) {
    const isLast = ({ payload }: Pick<LoggedEvent, 'payload'>) =>
      payload['file'] === lastFile || payload['userId'] === lastUser;
    for (const [module, start] of Object.entries(starts))
      await tellsTheSame(scenario, reader, { module, start, isLast });
  }
  scenario.report(`${ROUNDS * acts.length} changes: ${readers.length} readers hear the same from socket and log`);
});

/** Told by that service. */
function isOf(module: string, name: string): boolean {
  const declared: Readonly<Record<string, { readonly service: string }>> = EVENTS;
  return declared[name]?.service === module;
}

interface Range {
  readonly module: string;
  readonly start: string;
  isLast(event: Pick<LoggedEvent, 'payload'>): boolean;
}

async function tellsTheSame(
  { place, socket }: Scenario,
  { who, token }: Reader,
  { module, start, isLast }: Range,
): Promise<void> {
  const listener = await socket({ auth: { token } });
  await listener.subscribe({ after: start });
  const logged = await waitFor(
    async () => {
      const events = await allAfter(callerOf(place, token), start, { module });
      const end = events.findIndex(isLast);
      return end === -1 ? null : events.slice(0, end + 1);
    },
    { what: `the log to tell ${who} the last of ${module}` },
  );
  const ids = new Set(logged.map(({ id }) => id));
  const last = logged.at(-1)?.id;
  await listener.until(`the last of ${module} for ${who}`, ({ id }) => id === last);
  const heard = listener.heard.filter(({ id, name }) => ids.has(id) || isOf(module, name));
  const upTo = heard.slice(0, heard.findIndex(({ id }) => id === last) + 1);
  expect(upTo).toEqual(
    logged.map(({ module: _module, payload, workspace, ...common }) => ({
      ...common,
      ...(workspace === null ? {} : { workspace }),
      ...payload,
    })),
  );
  listener.close();
}
