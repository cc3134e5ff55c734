/** Backups of a brain: what comes back, what is refused, and what a kill in the middle leaves. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { brainServed } from '../instruments/served.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { BACKUP_FILES, BACKUP_KILLS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { brainFolder, type TargetPlace } from '../targets/target.ts';
import { newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

/** Of its own: a boundary on an island anywhere makes commits of all brains be told by other names. */
const own = ownTarget();

const shelf = (place: TargetPlace) => join(brainFolder(place, 'svc'), '..', '..', 'backups');
const headsOf = (folder: string) => git(folder, 'for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads');

function filesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => !name.startsWith('.git/'));
  const sum = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  return Object.fromEntries(names.sort().map((name) => [name, sum(name)]));
}

/** Ten files, three branches, an island, and something noted. */
async function furnished({ fresh, place }: Scenario) {
  const { user, brain } = await fresh();
  for (let index = 0; index < 10; index += 1)
    await user.ok('brain_write', { name: `n${index}.md`, content: `${index}` });
  // Boundaries of islands hold in every brain.
  await user.ok('svc_create_island', { name: newName('ops'), triggers: ['deploy'], content: 'How we deploy' });
  const { commit } = await user.ok('svc_commit', { message: 'first' });
  for (const name of ['a', 'b']) await user.ok('svc_create_branch', { name });
  await user.ok('svc_citations_add', { commit, context: 'why' });
  await user.ok('svc_resolution_track', { file: 'n1.md', change: 'kept' });
  await user.ok('brain_write', { name: 'dirty.md', content: 'uncommitted' });
  return { user, brain, folder: brainFolder(place, brain) };
}

const noted = async (user: Caller) => [
  await user.ok('svc_citations_list'),
  await user.ok('svc_resolution_list'),
  await user.ok('svc_get_islands'),
];

verifies(
  'backup:restored',
  async (scenario) => {
    const listener = await scenario.socket();
    const { user, brain, folder } = await furnished(scenario);
    const before = [headsOf(folder), filesOf(folder), await noted(user)];
    const made = await user.ok('svc_brain_backup', {}, { gateway: 1 });
    const file = join(shelf(scenario.place), String(made['path']));
    expect(createHash('sha256').update(readFileSync(file)).digest('hex')).toBe(made['sha256']);
    const { backups } = await user.ok<{ backups: Fields[] }>('svc_brain_backups', { limit: 1000 });
    expect(backups).toContainEqual(expect.objectContaining({ path: made['path'], sha256: made['sha256'], brain }));

    for (const name of Object.keys(filesOf(folder))) await user.ok('brain_delete_file', { name });
    await user.ok('brain_save', { name: 'newer.md', content: 'newer' });
    await user.ok('svc_branch_delete', { name: 'b' });
    const answer = await user.ok('svc_brain_restore', { path: made['path'] }, { gateway: 1 });
    expect(answer).toMatchObject({ status: 'restored', brain, commit: made['commit'], files: 12 });
    expect(await user.ok('brain_read', { name: 'n1' })).toMatchObject({ content: '1' });
    expect([headsOf(folder), filesOf(folder), await noted(user)]).toEqual(before);
    expect(await user.ok('svc_branch_is_dirty')).toMatchObject({ files: [{ file: 'dirty.md', change: 'added' }] });
    const at = `rescue/${String(answer['rescue'])}/ours`;
    expect(await user.ok('brain_read', { name: 'newer', at })).toMatchObject({ content: 'newer' });
    assertSound(folder);
    for (const name of ['backup:created', 'brain:restored'])
      await listener.until(name, (event) => event.name === name && event.brain === brain);
  },
  { on: own },
);

verifies(
  ['backup:damaged', 'backup:hidden'],
  async (scenario) => {
    const { user, brain, folder } = await furnished(scenario);
    const { path } = await user.ok('svc_brain_backup');
    const whole = readFileSync(join(shelf(scenario.place), String(path)));
    const before = [headsOf(folder), filesOf(folder), await noted(user)];
    const name = `${brain}-damaged.svcb`;
    for (let count = 0; count < 8; count += 1) {
      const copy = Buffer.from(whole);
      const at = scenario.random.int(0, copy.length - 1);
      copy.writeUInt8(copy.readUInt8(at) ^ (1 << scenario.random.int(0, 7)), at);
      const damaged = count % 2 === 0 ? copy : copy.subarray(0, at);
      writeFileSync(join(shelf(scenario.place), name), damaged);
      await user.refused('E_BACKUP_CORRUPT', 'svc_brain_restore', { path: name, brain });
    }
    expect([headsOf(folder), filesOf(folder), await noted(user)]).toEqual(before);
    for (const tool of ['svc_brain_backup', 'svc_brain_restore'])
      await user.fails('VAF_PATH_BLOCKED', tool, { path: '../../etc/x' });
    const policy = { readableBy: ['role:admin'], writableBy: ['role:admin'], container: 'default' };
    await scenario.caller().ok('svc_habitat_setPolicy', { resource: `brain:${brain}/n1.md`, policy });
    await user.fails('FORBIDDEN', 'svc_brain_backup');
  },
  { on: own },
);

verifies(
  'backup:home',
  async ({ place, caller }) => {
    const operator = caller();
    const [ours, theirs] = [await createMembers(place, 'admin'), await createMembers(place, 'admin')];
    const [ann, eve] = [memberAt(ours, 0).caller, memberAt(theirs, 0).caller];
    const brain = newName('home');
    await ann.ok('brain_push', { name: brain, create: true });
    await ann.ok('brain_save', { brain, name: 'pay', content: 'a secret' });
    const policy = { readableBy: [], writableBy: ['role:admin'], container: ours.workspace };
    await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}`, policy });
    // Not even the operator sees it from another workspace.
    await operator.fails('BRAIN_LOAD_FAIL', 'svc_brain_backup', { brain });
    await operator.ok('svc_habitat_setWorkspace', { workspaceId: ours.workspace });
    const { path } = await operator.ok('svc_brain_backup', { brain });
    // Under a name to which nothing is attached, as on another node.
    const twin = newName('twin');
    const made = await operator.ok('svc_brain_restore', { path, brain: twin }, { gateway: 1 });
    expect(made).toMatchObject({ brain: twin, kept: null, rescue: null });
    await eve.fails('BRAIN_LOAD_FAIL', 'brain_read', { brain: twin, name: 'pay' });
    expect(await ann.ok('brain_read', { brain: twin, name: 'pay' })).toMatchObject({ content: 'a secret' });
    // Only an admin of its home may.
    await ann.ok('brain_delete', { name: twin, confirm: twin });

    const lost = newName('lost');
    const file = join(shelf(place), String(path));
    writeFileSync(join(shelf(place), `${lost}.svcb`), movedTo(readFileSync(file), ours.workspace, lost));
    await operator.refused('E_UNKNOWN_WORKSPACE', 'svc_brain_restore', { path: lost, brain: lost });
    expect(existsSync(brainFolder(place, lost))).toBe(false);
    await operator.fails('BRAIN_LOAD_FAIL', 'brain_push', { name: lost });
  },
  { on: own },
);

/** The same backup of a brain that was at home elsewhere. */
function movedTo(backup: Buffer, from: string, to: string): Buffer {
  const [start, line] = [backup.indexOf(10) + 1, backup.indexOf('{')];
  const size = Number(backup.toString('latin1', start, line).split(' ')[1]);
  const manifest = Buffer.from(backup.toString('utf8', line, line + size).replace(`"${from}"`, `"${to}"`));
  const sum = createHash('sha256').update(manifest).digest('hex');
  const head = Buffer.from(`manifest ${manifest.length} ${sum}\n`);
  return Buffer.concat([backup.subarray(0, start), head, manifest, backup.subarray(line + size)]);
}

verifies(
  'backup:under-writes',
  async ({ fresh, place, caller, report }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    for (let index = 0; index < BACKUP_FILES; index += 1)
      writeFileSync(join(folder, `f${index}.md`), `# ${index}\n\n${'word '.repeat(index % 50)}\n`);
    await user.ok('svc_commit', { message: 'many' });
    for (let index = 0; index < 10; index += 1) await user.ok('brain_save', { name: 'f0.md', content: `${index}` });
    let isOver = false;
    const writing = (async () => {
      for (let number = 1; !isOver; number += 1)
        for (const name of ['x', 'y']) await user.ok('brain_write', { name, content: String(number) });
    })();
    await waitFor(() => existsSync(join(folder, 'y.md')), { what: 'the first writes' });
    const startedAt = performance.now();
    const { path } = await caller().ok('svc_brain_backup', { brain });
    const tookMs = performance.now() - startedAt;
    isOver = true;
    await writing;
    const twin = newName('twin');
    await caller().ok('svc_brain_restore', { path, brain: twin });
    const numbers = await Promise.all(
      ['x', 'y'].map(async (name) => Number((await user.ok('brain_read', { brain: twin, name }))['content'])),
    );
    expect([0, 1]).toContain((numbers[0] ?? 0) - (numbers[1] ?? 9));
    const there = brainFolder(place, twin);
    const [ours, theirs] = [filesOf(folder), filesOf(there)];
    for (const name of ['x.md', 'y.md']) for (const files of [ours, theirs]) delete files[name];
    expect(theirs).toEqual(ours);
    expect(headsOf(there)).toBe(headsOf(folder));
    expect(filesAt(there, 'main').length).toBe(BACKUP_FILES);
    report(`a brain of ${BACKUP_FILES} files backed up under writes in ${Math.round(tookMs)} ms`);
  },
  { on: own, timeoutMs: 300_000 },
);

const isUnfinished = (place: TargetPlace) => readdirSync(shelf(place)).some((name) => name.startsWith('.'));

/** The answer, if there was one, and whether the processes were killed before it. */
async function killedDuring(
  { place, random }: Scenario,
  call: () => Promise<Reply>,
): Promise<{ answer: Reply | null; isInside: boolean }> {
  const { brains, whole } = own.get();
  let isDone = false;
  const reply = call()
    .catch(() => null)
    .finally(() => (isDone = true));
  while (!isDone && !isUnfinished(place)) await delay(1);
  await delay(random.int(0, 250));
  const isInside = !isDone;
  await killed(brains);
  await whole();
  return { answer: await reply, isInside };
}

verifies(
  'backup:killed',
  async (scenario) => {
    const { place, report } = scenario;
    const { user, brain } = await scenario.fresh();
    const folder = brainFolder(place, brain);
    for (let index = 0; index < 200; index += 1) writeFileSync(join(folder, `f${index}.md`), `old ${index}`);
    await user.ok('svc_commit', { message: 'old' });
    const { path } = await user.ok('svc_brain_backup');
    let inside = 0;
    for (let round = 0; inside < BACKUP_KILLS; round += 1) {
      expect(round).toBeLessThan(BACKUP_KILLS * 10);
      const known = readdirSync(shelf(place));
      const isRestore = round % 2 === 0;
      const newer = `new ${round}`;
      await user.ok('brain_save', { name: 'f0.md', content: newer });
      const [tool, args] = isRestore ? (['svc_brain_restore', { path }] as const) : (['svc_brain_backup', {}] as const);
      const call = () => user.call(tool, args, { headers: { 'x-svc-timeout-ms': '15000' } });
      const { answer, isInside } = await killedDuring(scenario, call);
      if (isInside) inside += 1;
      await brainServed(user, brain);
      const { content } = await user.ok('brain_read', { brain, name: 'f0' });
      const isRestored = isRestore && answer !== null && codeOf(answer) === null;
      expect(isRestored ? ['old 0'] : isRestore ? ['old 0', newer] : [newer]).toContain(content);
      expect(Object.keys(filesOf(folder)).length).toBe(200);
      assertSound(folder);
      // Whatever has a name is whole.
      for (const name of readdirSync(shelf(place)).filter((one) => one.endsWith('.svcb') && !known.includes(one)))
        await user.ok('svc_brain_restore', { path: name });
    }
    const isSwept = async () => {
      await user.ok('svc_brain_backup', { brain });
      return !isUnfinished(place);
    };
    await waitFor(isSwept, { what: 'what was left half made to be swept away' });
    report(`${inside} kills inside of backups and restores: old or new, and nothing half made`);
  },
  { on: own, timeoutMs: 300_000 + BACKUP_KILLS * 30_000 },
);
