/** Programs at the doors with the typed client: what it promises, held to real nodes that are killed under it. */
import { createClient, isCallError, isRefusal, RefusalError, UnreachableError } from '@svc/client/client.ts';
import { listen } from '@svc/client/events.ts';
import { expect, onTestFinished } from 'vitest';
import { createPool, poolFunds } from '../instruments/pools.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import type { TargetPlace } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

/** A node that is killed takes its time to come back on a busy machine. */
const PATIENT = { reachWithinMs: 60_000, timeoutMs: 60_000 };

function at({ gateways, key }: TargetPlace, gateway = 0) {
  return { url: gateways[gateway % gateways.length] ?? '', key: key ?? undefined, session: newName('s') };
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );
}

verifies('client:calls', async ({ keyed: place }) => {
  const [first, second] = [createClient(at(place, 0)), createClient(at(place, 1))];
  const brain = newName('client');
  await first.call('brain_push', { name: brain, create: true });
  const note = { brain, category: 'notes', filename: 'harbour' };
  const { hash } = await first.call('svc_set_memory', { ...note, content: 'the tide turns' });
  await first.call('svc_commit', { brain, message: 'first' });
  expect(await second.call('svc_get_memory', note)).toMatchObject({ content: 'the tide turns', hash });
  expect(await first.callNamed('brain_current')).toMatchObject({ current: brain });
  expect(await second.callNamed('brain_current')).not.toMatchObject({ current: brain });
  const refused = await first.ask('svc_set_memory', { ...note, content: 'late', ifMatch: 'none' });
  expect(refused).toMatchObject({ ok: false, code: 'E_CONFLICT', message: expect.any(String) });
  const error = await thrownBy(first.call('svc_get_memory', { ...note, filename: 'none' }));
  expect(isRefusal(error, 'svc_get_memory', 'E_FILE_ABSENT')).toBe(true);
  const inner = await thrownBy(
    first.callNamed('svc_call', { name: 'svc_get_memory', args: { ...note, filename: 'no' } }),
  );
  expect(inner).toBeInstanceOf(RefusalError);
  const wrong = await thrownBy(first.callNamed('svc_set_memory', { brain }));
  if (!isCallError(wrong, 'VAF_INPUT_INVALID')) throw wrong;
  expect(wrong).toMatchObject({ status: 400, requestId: expect.any(String), retryAfterMs: null });
  expect(wrong.data['problems']).toEqual(expect.arrayContaining([expect.objectContaining({ path: 'content' })]));
  expect(isCallError(await thrownBy(first.callNamed('no_such_tool')), 'TOOL_NOT_FOUND')).toBe(true);
  expect((await second.tools({ profile: 'core' })).map(({ name }) => name)).toContain('svc_search');
  expect(isCallError(await thrownBy(second.tools({ profile: 'no-such' })), 'INVALID_REQUEST')).toBe(true);
  await waitFor(async () => (await first.ready()).ready, { what: 'readiness' });
  const stranger = createClient({ url: first.url, key: 'wrong-key-0123456789' });
  expect(isCallError(await thrownBy(stranger.call('nodes_list')), 'UNAUTHORIZED')).toBe(true);
});

verifies('client:repeats', async ({ gateways }) => {
  const place = await gateways(1, KEYED);
  const [gateway = expect.fail('no process')] = place.processes;
  const payments = 60;
  const { workspace, admin } = await createPool(place, 10_000);
  const { url } = at(place);
  const client = createClient({ url, token: await mint(place, admin.id), ...PATIENT });
  const paid: string[] = [];
  const pay = async (count: number): Promise<void> => {
    const spent = { workspaceId: workspace, amount: 1, memo: `payment ${count}` };
    paid.push((await client.call('escrow_workspaceRecordSpend', spent)).entryId);
  };
  const all = Promise.all(
    Array.from({ length: 6 }, async (_, lane) => {
      for (let count = lane; count < payments; count += 6) await pay(count);
    }),
  );
  await waitFor(() => paid.length >= 10, { what: 'the first payments' });
  await gateway.kill();
  expect(paid.length).toBeLessThan(payments);
  expect(await thrownBy(createClient({ url, reachWithinMs: 0 }).call('nodes_list'))).toBeInstanceOf(UnreachableError);
  await gateway.start();
  await all;
  expect(new Set(paid).size).toBe(payments);
  expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: payments });
});

verifies('client:events', async ({ gateways }) => {
  const place = await gateways(1, KEYED);
  const [gateway = expect.fail('no process')] = place.processes;
  const { session: _session, ...connection } = at(place);
  const client = createClient({ ...at(place), ...PATIENT });
  const brain = newName('heard');
  const heard: string[] = [];
  const states: string[] = [];
  const listening = listen({
    ...connection,
    events: ['brain:change', 'lock:*'],
    onEvent: (event) => {
      if (event.brain === brain) heard.push(event.name === 'brain:change' ? event.file : event.name);
    },
    onChannel: ({ code }) => states.push(code),
  });
  onTestFinished(() => listening.close());
  await waitFor(() => states.includes('CONNECTED'), { what: 'the connection' });
  await client.call('brain_push', { name: brain, create: true });
  const write = async (from: number, to: number): Promise<void> => {
    for (let count = from; count < to; count += 1)
      await client.call('brain_write', { brain, name: `f${count}`, content: 'x' });
  };
  await write(0, 5);
  await waitFor(() => heard.length === 5, { what: 'the first events' });
  await gateway.kill();
  const missed = write(5, 25);
  await gateway.start();
  await missed;
  await client.call('svc_lock', { action: 'acquire', brain });
  await waitFor(() => heard.includes('lock:acquired'), { what: 'what was missed' });
  expect(heard).toEqual([...Array.from({ length: 25 }, (_, count) => `f${count}.md`), 'lock:acquired']);
  expect(states.filter((state) => state === 'CONNECTED').length).toBeGreaterThan(1);

  // What an event tells of a thing hides neither which event it is nor where to go on.
  const things: object[] = [];
  const ofThings = listen({
    ...connection,
    events: ['agent:spawned', 'stream:enqueued'],
    onEvent: (event) => things.push(event),
  });
  onTestFinished(() => ofThings.close());
  const [agent, stream] = [newName('worker'), newName('q')];
  const isListening = async () => {
    await client.call('stream_enqueue', { stream, task: 1 });
    return ofThings.lastId();
  };
  await waitFor(isListening, { what: 'an event of work', everyMs: 200 });
  await client.call('agent_spawn', { team: newName('t').replaceAll('-', ''), name: agent });
  const { id } = await client.call('stream_enqueue', { stream, task: 2 });
  const isHeard = () => things.some((one) => 'own' in one && (one.own as { id?: string }).id === id);
  await waitFor(isHeard, { what: 'the work' });
  expect(things).toContainEqual(expect.objectContaining({ name: 'agent:spawned', own: { name: agent } }));
  expect(things).toContainEqual(expect.objectContaining({ name: 'stream:enqueued', stream, own: { id } }));
  expect(ofThings.lastId()).toMatch(/^evt_/);

  // Whoever comes later begins where the first one was.
  const again: string[] = [];
  const later = listen({
    ...connection,
    after: listening.lastId() ?? undefined,
    onEvent: (event) => {
      if ('brain' in event && event.brain === brain) again.push(event.name);
    },
  });
  onTestFinished(() => later.close());
  await client.call('svc_commit', { brain, message: 'm' });
  await waitFor(() => again.includes('brain:save'), { what: 'the commit' });
  expect(again).not.toContain('brain:change');
  later.close();
  await later.ended;
});

verifies(
  'client:events',
  async ({ keyed: place }) => {
    const [{ url }, { url: other }] = [at(place, 0), at(place, 1)];
    const onEvent = (): void => {};
    const { ids } = await workspaceWith(place, 'viewer');
    const token = await mint(place, ids[0]);
    const states: string[] = [];
    const listening = listen({ url, token, onEvent, onChannel: ({ code }) => states.push(code) });
    await waitFor(() => states.includes('CONNECTED'), { what: 'the connection' });
    await createClient({ ...at(place), url: other }).call('svc_habitat_revokeToken', { tokenOrHash: token });
    expect(await thrownBy(listening.ended)).toMatchObject({ name: 'ListenError', code: 'UNAUTHORIZED' });
    expect(await thrownBy(listen({ url, token, onEvent }).ended)).toMatchObject({ code: 'UNAUTHORIZED' });
    const foreign = listen({ url, token: await mint(place, ids[0]), workspace: newName('not-mine'), onEvent });
    expect(await thrownBy(foreign.ended)).toMatchObject({ code: 'FORBIDDEN' });
    const gone = listen({
      url,
      key: place.key ?? undefined,
      after: 'evt_long-ago',
      onEvent,
      onGap: () => gone.close(),
    });
    await gone.ended;
  },
  { title: 'A listener that may not go on is told so and stays away; one that missed too much is told that.' },
);
