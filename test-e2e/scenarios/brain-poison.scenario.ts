/** Files made to break whoever tells apart what they hide, through every way in and every door out. */
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { type Caller, codeOf, type Reply } from '../client.ts';
import { git } from '../instruments/git.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { poisonCorpus, poisonIslands } from '../instruments/poison.ts';
import { type Ask, Ear, hiddenObjects, isOfOpenFile, MASKED, SHUT } from '../instruments/poison-ear.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { POISON_ANSWERS, POISON_SHARE, SEED } from '../settings.ts';
import { brainFolder, logsOf } from '../targets/target.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

const REMOTE = 'poison';

let remoteFolder = '';

const target = ownTarget(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-poison-'));
  remoteFolder = join(folder, 'remote.git');
  git(tmpdir(), 'init', '-q', '--bare', '-b', 'main', remoteFolder);
  return {
    environment: { SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `${REMOTE}=file://${remoteFolder}` },
    async dispose() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

interface PlacedPoison {
  readonly path: string;
  readonly bytes: Buffer;
  readonly isText: boolean;
}

interface Ground {
  readonly brain: string;
  readonly operator: Caller;
  readonly viewer: Caller;
  readonly editor: Caller;
  readonly admin: Caller;
  /** Of which fields are hidden. */
  readonly masked: readonly PlacedPoison[];
  readonly all: readonly PlacedPoison[];
}

const PLACES = [
  'masked/tool',
  'open/tool',
  'masked/editor',
  'open/editor',
  'shut/editor',
  'masked/pull',
  'open/pull',
  'shut/pull',
  'islands',
] as const;
type Place = (typeof PLACES)[number];

/** Of each place the next ones, so that together they have every kind. */
function someOf<Item>(all: readonly Item[], place: Place): Item[] {
  const from = SEED + PLACES.indexOf(place);
  return all.filter((_, index) => (from + index) % POISON_SHARE === 0);
}

function placed(folder: Place, mark: string): PlacedPoison[] {
  const corpus = poisonCorpus((index) => `${mark}${folder.replaceAll('/', '')}${index}z`);
  return someOf(corpus, folder).map(({ name, ...rest }) => ({ path: `${folder}/${name}`, ...rest }));
}

async function maskFields(operator: Caller, brain: string, further: readonly string[]): Promise<void> {
  const policy = {
    container: 'public',
    readableBy: [],
    writableBy: [],
    filter: [...further],
    mask: ['salary', 'pay.salary'],
  };
  for (const place of ['masked', 'islands'])
    await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/${place}`, policy });
}

/** The corpus by a tool, an editor and git; with hidden fields, without any, and where only admins read. */
async function layOut({ place, fresh }: Scenario): Promise<Ground> {
  const { user: operator, brain } = await fresh();
  const members = await createMembers(place, 'viewer', 'editor', 'admin');
  const { workspace } = members;
  await maskFields(operator, brain, []);
  await operator.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/shut`,
    policy: { container: workspace, readableBy: ['role:admin'], writableBy: ['role:admin'] },
  });
  const [viewer, editor, admin] = [0, 1, 2].map((index) => memberAt(members, index).caller.with({ headers: {} }));
  if (viewer === undefined || editor === undefined || admin === undefined) throw new Error('too few members');
  const byTool = [...placed('masked/tool', MASKED), ...placed('open/tool', 'open')].filter(({ isText }) => isText);
  const islands = someOf(
    poisonIslands((index) => `${MASKED}islands${index}z`),
    'islands',
  ).map(({ name, ...rest }) => ({ path: `islands/${name}`, ...rest }));
  const byEditor = [
    ...placed('masked/editor', MASKED),
    ...placed('open/editor', 'open'),
    ...placed('shut/editor', SHUT),
    ...islands,
  ];
  const byGit = [...placed('masked/pull', MASKED), ...placed('open/pull', 'open'), ...placed('shut/pull', SHUT)];
  await operator.ok('brain_write', { name: 'open/harbour.md', content: '# harbour\n\nlighthouse kelp\n' });
  await operator.ok('svc_commit', { message: 'base' });
  await operator.ok('svc_sync', { remote: REMOTE, direction: 'push' });
  const written: PlacedPoison[] = [];
  for (const file of byTool) if (await isWritten(operator, file)) written.push(file);
  writeAll(brainFolder(place, brain), byEditor);
  pushAsPerson(byGit);
  await operator.ok('svc_sync', { remote: REMOTE, direction: 'pull' });
  const all = [...written, ...byEditor, ...byGit];
  const masked = all.filter(({ path }) => path.startsWith('masked/') || path.startsWith('islands/'));
  return { brain, operator, viewer, editor, admin, masked, all };
}

/** What cannot hold hidden fields is refused where some are hidden; nothing else is said no to. */
async function isWritten(user: Caller, { path, bytes }: PlacedPoison): Promise<boolean> {
  const reply = await user.call('brain_write', { name: path, content: bytes.toString('utf8') });
  const code = codeOf(reply);
  if (code === 'VAF_INPUT_INVALID' && path.startsWith('masked/')) return false;
  expect([path, code, reply.status]).toEqual([path, null, 200]);
  return true;
}

function writeAll(folder: string, files: readonly PlacedPoison[]): void {
  for (const { path, bytes } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
}

function pushAsPerson(files: readonly PlacedPoison[]): void {
  const clone = join(dirname(remoteFolder), 'person');
  git(
    dirname(remoteFolder),
    'clone',
    '-q',
    '-b',
    git(remoteFolder, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads'),
    remoteFolder,
    clone,
  );
  writeAll(clone, files);
  git(clone, 'add', '-A');
  git(clone, 'commit', '-q', '-m', 'poison');
  git(clone, 'push', '-q');
}

/** Both branches change the same files in different ways, so that their merge has to look into each. */
async function partWays({ operator, brain, masked, all }: Ground): Promise<void> {
  await operator.ok('svc_commit', { brain, message: 'poison' });
  await operator.ok('svc_create_branch', { brain, name: 'side' });
  const mended = (text: string, word: string): string =>
    text.replaceAll(/kelp|"a"/g, (found) => found.replace(/kelp|a/, word));
  const chosen = [
    ...masked.filter(({ path }) => path.startsWith('masked/tool')),
    ...all.filter(({ path }) => path.startsWith('open/tool')),
  ];
  for (const [index, { path, bytes }] of chosen.entries()) {
    if (index % 3 !== 0) continue;
    await operator.call('brain_write', {
      brain,
      branch: 'side',
      name: path,
      content: mended(bytes.toString('utf8'), 'anchor'),
    });
    await operator.call('brain_write', {
      brain,
      name: path,
      content: mended(bytes.toString('utf8'), index % 2 === 0 ? 'tide' : 'gull'),
    });
  }
  for (const branch of ['side', 'main'])
    await operator.ok('svc_commit', { brain, branch, message: `${branch} goes on` });
}

function questions({ brain, all }: Ground, random: Scenario['random'], told: readonly string[], index: number): Ask {
  const { path } = random.pick(all);
  const island = random
    .pick(all.filter(({ path: file }) => file.startsWith('islands/')))
    .path.slice('islands/'.length)
    .replace(/\.\w+$/, '');
  const commit = told.length === 0 ? {} : { at: random.pick(told) };
  const query = random.pick([
    MASKED,
    SHUT,
    'harbour lighthouse',
    'kelp',
    'salary',
    `${MASKED}maskedtool${index % 60}z`,
    `${SHUT}shutpull${index % 60}z`,
  ]);
  return random.pick<Ask>([
    ['brain_read', { brain, name: path }],
    ['brain_read', { brain, name: path, ...commit }],
    ['svc_get_memory', { brain, file: path }],
    ['brain_list_files', { brain, limit: 1000 }],
    ['brain_corpus', { brain, content: index % 7 === 0, limit: 100 }],
    ['svc_search', { brain, query, limit: 50, explain: index % 2 === 0 }],
    ['svc_search', { brain, query, mode: 'plain', group: 'passage', budget: 2000 }],
    ['svc_search', { brain, query, branch: 'side' }],
    ['svc_health', {}],
    ['svc_history', { brain, ...(index % 2 === 0 ? { file: path } : {}) }],
    ['svc_diff', { brain, file: path }],
    ['svc_diff', { brain, ...(told.length === 0 ? {} : { from: random.pick(told) }), limit: 20 }],
    ['svc_get_islands', { brain }],
    ['svc_load_island', { brain, name: island }],
    ['svc_get_island', { brain, name: island }],
    ['svc_island_status', { brain, name: island }],
    ['svc_find_islands_by_trigger', { brain, trigger: 'kelp' }],
    ['svc_export_islands', { brain }],
    ['svc_branch_is_dirty', { brain }],
    ['svc_list_branches', { brain }],
    ['svc_branch_merge', { brain, from: 'side', into: 'main', dryRun: true }],
    ['svc_conflicts', { brain }],
    ['brain_state', { brain }],
    ['brain_list', { limit: 1000 }],
    ['svc_update_island_triggers', { brain, name: island, triggers: ['kelp', `t${index % 3}`] }],
    ['brain_save', { brain, name: `open/own-${index % 20}.md`, content: `# kelp ${index}\n` }],
  ]);
}

async function askAll(ground: Ground, { random }: Scenario, ear: Ear, count: number): Promise<void> {
  const users = [ground.viewer, ground.editor, ground.admin, ground.operator];
  const lane = async (from: number): Promise<void> => {
    for (let index = from; index < count; index += 6) {
      const user = users[index % users.length] ?? ground.viewer;
      const ask = questions(ground, random, [...ear.commits].slice(0, 20), index);
      const reply = await user.call(...ask, { gateway: index });
      ear.answer(ask, reply, user === ground.admin);
      if (ask[0] === 'brain_read' && user === ground.editor && ask[1]['at'] === undefined)
        await writeBack(ground, ear, ask, reply);
    }
  };
  await Promise.all(Array.from({ length: 6 }, (_, from) => lane(from)));
}

/** What is shown comes back, changed where nothing is hidden. */
async function writeBack({ brain, editor }: Ground, ear: Ear, [, { name }]: Ask, reply: Reply): Promise<void> {
  const result = reply.body.result ?? {};
  if (codeOf(reply) !== null || typeof result['content'] !== 'string') return;
  const ask: Ask = ['brain_write', { brain, name, content: result['content'].replace('lighthouse', 'light house') }];
  ear.answer(ask, await editor.call(...ask), false);
}

verifies(
  'rows:poison',
  async (scenario) => {
    const { place, socket, report } = scenario;
    const listener = await socket();
    await listener.subscribe({ events: ['*'] });
    const ground = await layOut(scenario);
    const { brain, operator, masked } = ground;
    const hiddenHashes = masked.flatMap(({ bytes }) => [
      hash('sha256', bytes),
      hash('sha1', Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes])),
    ]);
    await partWays(ground);
    const ear = new Ear();
    await askAll(ground, scenario, ear, Math.ceil(POISON_ANSWERS / 3));
    // Other rules, so that every index is judged anew while it is asked, and the same again.
    const change = async (): Promise<void> => {
      for (const further of [['x'], ['k1'], []]) await maskFields(operator, brain, further);
    };
    await Promise.all([change(), askAll(ground, scenario, ear, Math.ceil(POISON_ANSWERS / 3))]);
    await operator.call('svc_branch_merge', { brain, from: 'side', into: 'main' });
    await askAll(ground, scenario, ear, Math.ceil(POISON_ANSWERS / 3));
    const { conflicts } = await operator.ok<{ conflicts: { id: string }[] }>('svc_conflicts', { brain, limit: 100 });
    for (const { id } of conflicts) {
      for (const user of [ground.viewer, operator]) {
        const ask: Ask = ['svc_conflict_read', { brain, id }];
        ear.answer(ask, await user.call(...ask), false);
      }
    }
    expect(ear.traces.slice(0, 10)).toEqual([]);
    expect(ear.late).toBeLessThan(ear.answers / 10);
    await waitFor(() => listener.of(brain, 'brain:save').length > 2, { what: 'the events of the commits' });
    for (const event of listener.heard) ear.hear(`event ${event.name}`, JSON.stringify(event), false);
    ear.hear('a log', logsOf(place), false);
    for (const index of place.gateways.keys())
      ear.hear('metrics', (await operator.with({ gateway: index }).get('/metrics')).text, false);
    expect(ear.traces.slice(0, 10)).toEqual([]);
    // Neither the bytes, nor any commit or tree, which could be computed again from a guess.
    const folder = brainFolder(place, brain);
    const told = [
      ...hiddenHashes.filter((id) => ear.hexes.has(id)),
      ...hiddenObjects(folder).filter((id) => ear.hexes.has(id) && !isOfOpenFile(folder, id)),
    ];
    expect(told.map((id) => `${id}: ${ear.hexes.get(id)}`)).toEqual([]);
    for (const { path } of masked.filter(({ isText }) => isText)) {
      const text = readFileSync(join(brainFolder(place, brain), path), 'utf8');
      expect([path, text.includes(MASKED)]).toEqual([path, true]);
    }
    report(
      `poison: ${ground.all.length} files, ${ear.answers} answers (${ear.late} late), ${listener.heard.length} events, 0 INTERNAL, 0 traces`,
    );
  },
  { on: target, timeoutMs: 1_800_000 },
);
