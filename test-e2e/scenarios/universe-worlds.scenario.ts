/** Worlds through the doors: derived alike everywhere, recorded once, compared, resumed, billed once. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { git } from '../instruments/git.ts';
import type { Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const DEMO = 'a36ae85d1e6e551413281bbf93a515f5c8048055360a656c026081a007c1a636';
const ZERO = '0'.repeat(64);
const ZERO_DEMO = 'c60ef59b73d243e87bdf500124cdff4903b6722091befb5bfae8c732b23d185c';
const FOLDER = 'universe/worlds/demo-29ea5330';
const MARKER = 'universe/restore.json';
const REPEATED = 100;

async function stageOf({ place, fresh }: Scenario) {
  const { user, brain } = await fresh();
  const path = (file: string) => join(brainFolder(place, brain), file);
  const record = (more: Fields = {}, gateway = 0) =>
    user.ok('svc_universe_record', { name: 'demo', ...more }, { gateway });
  return { user, brain, path, record, actor: newName('actor') };
}

async function spentBy({ caller }: Scenario, actor: string): Promise<unknown> {
  const { budget } = await caller().ok<{ budget?: Fields }>('escrow_status', { org: `scenario:materialize:${actor}` });
  return budget?.['spent'] ?? 0;
}

verifies('worlds:derived', async ({ caller }) => {
  const who = caller();
  const texts = await Promise.all(
    Array.from({ length: REPEATED }, async (_, n) => {
      const { text } = await who.call('svc_universe_snapshot', { name: 'demo' }, { gateway: n % 2 });
      return text;
    }),
  );
  expect(new Set(texts).size).toBe(1);
  expect(await who.ok('svc_universe_snapshot', { name: 'demo' })).toMatchObject({
    seed: '29ea5330aeeb111832aef23f5abc12e0314bd19d0186fcb70747d7ce9f09d5f7',
    stateRoot: 'f9978b50fbc1dc64598684542ed8e39791751cf4820cba6b55ddb32d0e79ba6b',
    id: DEMO,
  });
  const forked = (parent: string, child: string) => who.ok('svc_universe_fork', { parent, child });
  expect(await forked('demo', 'kid')).toMatchObject({
    id: 'b2f7063a58df2b66a8fc435caad6b9929a3a08b32426b3f02b74b4c852afa0b6',
  });
  expect(await forked('demo.kid', 'jr')).toMatchObject({
    id: 'ec01c76f2774f2f2d7037c2bd70ac52d15d5d3babfe5659c00581d59eb1ac8a3',
  });
  expect(await who.ok('svc_universe_snapshot', { name: 'demo.kid' })).toMatchObject({
    id: 'f71740cf22900a306029c15a98ab80b54d39fc95a293613ffe1cb6c3c75c2382',
  });
});

verifies('worlds:names', async ({ caller }) => {
  const who = caller();
  for (const name of ['../x', 'a..b', '', 'x'.repeat(65), 'con.x']) {
    await who.refused('E_SNAPSHOT_NAME', 'svc_universe_snapshot', { name });
  }
  await who.refused('E_SNAPSHOT_NAME', 'svc_universe_fork', { parent: 'demo', child: 'a.b' });
  for (const universe of ['', 'x'.repeat(257)]) {
    await who.refused('E_SNAPSHOT_UNIVERSE', 'svc_universe_snapshot', { name: 'demo', universe });
  }
});

verifies('worlds:recorded', async (scenario) => {
  const { user, brain, record } = await stageOf(scenario);
  const listener = await scenario.socket({ gateway: 1 });
  expect(await listener.subscribe({ events: ['universe:*'] })).toMatchObject({ ok: true });
  const once = await Promise.all(Array.from({ length: 20 }, (_, n) => record({ brain }, n % 2)));
  expect(once.filter(({ added }) => added === true)).toHaveLength(1);
  for (const answer of once) expect(answer).toMatchObject({ id: DEMO, file: `universe/manifests/${DEMO}.json` });
  expect(await record()).toMatchObject({ added: false });
  expect(await user.ok('svc_universe_status')).toMatchObject({ source: 'default', manifests: 1 });
  expect(await user.ok('svc_universe_diff', { a: DEMO, b: DEMO })).toMatchObject({
    identical: true,
    same: 7,
    changed: [],
  });
  await record({ stateRoot: ZERO });
  expect(await user.ok('svc_universe_diff', { a: DEMO, b: ZERO_DEMO })).toMatchObject({
    identical: false,
    same: 7,
    stateRootDiffers: true,
  });
  const isOurs = (event: Fields) => event['name'] === 'universe:recorded' && event['brain'] === brain;
  await listener.until('both manifests', (event) => isOurs(event) && event['id'] === ZERO_DEMO);
  expect(listener.heard.filter(isOurs).map(({ world }) => world)).toEqual(['demo', 'demo']);
});

verifies('worlds:differ', async (scenario) => {
  const { user, record } = await stageOf(scenario);
  await record();
  const { id: acme } = await record({ universe: 'acme' });
  const { id: kid } = await record({ name: 'demo.kid', fork: true });
  expect(await user.refused('E_SNAPSHOT_UNIVERSE', 'svc_universe_diff', { a: DEMO, b: acme })).toMatchObject({
    ok: false,
    universeMatch: false,
  });
  await user.refused('E_SNAPSHOT_WORLD_MISMATCH', 'svc_universe_diff', { a: DEMO, b: kid });
  const firsts = new Map([DEMO, String(acme), String(kid)].map((id) => [id.slice(0, 1), id]));
  for (let n = 0; ; n += 1) {
    const { id } = await record({ name: `twin-${n}` });
    const twin = String(id).slice(0, 1);
    if (firsts.has(twin)) {
      const refusal = await user.refused('E_SNAPSHOT_AMBIGUOUS', 'svc_universe_diff', { a: twin, b: DEMO });
      expect(refusal).toMatchObject({ count: 2 });
      break;
    }
    firsts.set(twin, String(id));
  }
});

verifies('worlds:changed', async (scenario) => {
  const { user, path, record, actor } = await stageOf(scenario);
  await record();
  const file = path(`universe/manifests/${DEMO}.json`);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"v":1', '"v":2'));
  await user.refused('E_SNAPSHOT_MANIFEST', 'svc_universe_diff', { a: DEMO, b: DEMO });
  await user.refused('E_SNAPSHOT_MANIFEST', 'svc_universe_resume', { id: DEMO, actor, materialize: true });
  expect(await spentBy(scenario, actor)).toBe(0);
});

verifies('worlds:resumed', async (scenario) => {
  const { user, brain, path, record, actor } = await stageOf(scenario);
  const listener = await scenario.socket({ gateway: 1 });
  expect(await listener.subscribe({ events: ['universe:*'] })).toMatchObject({ ok: true });
  await record();
  const resume = (more: Fields = {}) => user.ok('svc_universe_resume', { id: DEMO, actor, ...more });
  expect(await resume()).toMatchObject({ liveRootMatch: null, billed: 0, materialized: 0 });
  expect(JSON.parse(readFileSync(path(MARKER), 'utf8'))).toMatchObject({ actor, id: DEMO, world: 'demo' });
  expect(await resume({ materialize: true })).toMatchObject({ billed: 5, materialized: 5 });
  for (const generation of [0, 1, 2, 3, 4]) expect(existsSync(path(`${FOLDER}/cell-${generation}.json`))).toBe(true);
  expect(await spentBy(scenario, actor)).toBe(5);
  expect(await resume()).toMatchObject({ liveRootMatch: true });
  await user.ok('brain_write', { name: `${FOLDER}/cell-3.json`, content: '{"address":"x"}' });
  expect(await resume()).toMatchObject({ liveRootMatch: false });
  for (const name of ['universe:resumed', 'universe:materialized']) {
    await listener.until(name, (event) => event.name === name && event['brain'] === brain);
  }
});

verifies('worlds:budget', async (scenario) => {
  const { user, path, record, actor } = await stageOf(scenario);
  await record();
  await user.ok('escrow_create', { agentId: `scenario:materialize:${actor}`, budget: 4 });
  const refusal = await user.refused('E_SNAPSHOT_BUDGET', 'svc_universe_resume', {
    id: DEMO,
    actor,
    materialize: true,
  });
  expect(refusal).toMatchObject({ ok: false, available: 4 });
  expect([existsSync(path(MARKER)), existsSync(path(FOLDER))]).toEqual([false, false]);
  expect(await spentBy(scenario, actor)).toBe(0);
});

verifies('worlds:given-back', async (scenario) => {
  const { user, brain, record, actor, path } = await stageOf(scenario);
  await record();
  const account = `scenario:materialize:${actor}`;
  const listener = await scenario.socket();
  expect(await listener.subscribe({ events: ['escrow:*'] })).toMatchObject({ ok: true });
  const folder = brainFolder(scenario.place, brain);
  git(folder, 'checkout', '-q', '--detach');
  const resume = { id: DEMO, actor, materialize: true };
  expect(await user.refused('E_STATE_WRITE', 'svc_universe_resume', resume)).toMatchObject({ ok: false });
  await listener.until('the refund', (event) => event.name === 'escrow:refunded' && event['account'] === account);
  expect(await spentBy(scenario, actor)).toBe(0);
  expect(existsSync(path(FOLDER))).toBe(false);
  git(folder, 'checkout', '-q', 'main');
});

verifies('worlds:locked', async (scenario) => {
  const { user, brain, record, actor } = await stageOf(scenario);
  await record();
  const { members, workspace } = await createMembers(scenario.place, 'editor');
  const { id: holder, caller } = memberAt({ members, workspace }, 0);
  await caller.ok('svc_lock', { action: 'acquire', brain });
  const resume = { id: DEMO, actor, materialize: true };
  expect(await user.refused('E_STATE_LOCKED', 'svc_universe_resume', resume)).toMatchObject({ ok: false, holder });
  expect(await user.refused('E_STATE_WRITE', 'svc_universe_record', { name: 'x' })).toMatchObject({
    cause: 'E_LOCKED',
  });
  expect(await spentBy(scenario, actor)).toBe(0);
  // Whoever holds it goes on under it, in its own name alone.
  expect(await caller.ok('svc_universe_resume', { id: DEMO, brain })).toMatchObject({ actor: holder });
  await caller.fails('FORBIDDEN', 'svc_universe_resume', { id: DEMO, brain, actor });
});
