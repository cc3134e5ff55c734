/** Names of all scripts and of the hostile kinds: each works everywhere, or is refused with a reason. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { inBatches } from '../instruments/in-batches.ts';
import { hostileName, ordinaryName } from '../instruments/names.ts';
import { hashOutside } from '../instruments/outside.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { NAMES } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { ownTarget, verifies } from '../verifies.ts';

let remotes: string | null = null;

const target = ownTarget(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-names-'));
  git(tmpdir(), 'init', '-q', '--bare', '-b', 'main', join(folder, 'r.git'));
  remotes = folder;
  return {
    environment: { SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `r=file://${join(folder, 'r.git')}` },
    async dispose() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
const on = { on: target, timeoutMs: 300_000 + 200 * NAMES };

interface Named {
  readonly name: string;
  readonly isOrdinary: boolean;
  readonly token: string;
}

/** Each in a directory of its own, so that none is confused with another. */
function namesFor(random: Parameters<typeof ordinaryName>[0]): Named[] {
  return Array.from({ length: NAMES }, (_, index) => {
    const isOrdinary = index % 2 === 0;
    const name = isOrdinary ? ordinaryName(random) : hostileName(random);
    return { name: `n${index}/${name}`, isOrdinary, token: `zq${index}qz` };
  });
}

/** The file of a name that was taken; null of one that was refused, once the refusal was found good. */
async function writeNamed(user: Caller, { name, isOrdinary, token }: Named): Promise<string | null> {
  const reply = await user.call('brain_write', { name, content: `${token}\n` });
  const shown = `${JSON.stringify(name)} -> ${reply.text}`;
  if (reply.status === 200) {
    const written = reply.body.result?.['content'] as { name: string; file: string };
    const composed = name.normalize('NFC');
    expect([composed, `${composed}.md`], shown).toContain(written.file);
    expect(written.name, shown).toBe(written.file);
    return written.file;
  }
  expect([reply.status, codeOf(reply), isOrdinary && name.length < 90], shown).toEqual([
    400,
    'VAF_PATH_BLOCKED',
    false,
  ]);
  expectReason(reply.body.error?.message ?? '', reply.body.error?.data ?? {}, shown);
  return null;
}

function expectReason(message: string, { segment, character }: Fields, shown: string): void {
  if (typeof segment !== 'string') {
    expect(message, shown).toMatch(/is deeper than|bytes; at most/);
    return;
  }
  expect(message, shown).toMatch(/segment/);
  expect(message, shown).not.toMatch(/[\p{Cc}\p{Cs}]/u);
  if (typeof character === 'string' && character !== '\ufffd') {
    const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    expect(message, shown).toMatch(new RegExp(`U\\+${point}`));
  }
}

async function listed(user: Caller): Promise<string[]> {
  const files: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await user.ok<{ files: { file: string }[]; nextCursor?: string }>('brain_list_files', {
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    files.push(...page.files.map(({ file }) => file));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return files.sort();
}

function onDisk(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (path === '.git') return [];
    return entry.isDirectory() ? onDisk(folder, path) : [path];
  });
}

async function expectReadable(user: Caller, { name, token }: Named, file: string): Promise<void> {
  for (const spelling of [name, name.normalize('NFD'), file]) {
    const read = await user.ok('brain_read', { name: spelling });
    expect([spelling, read['file'], read['content']]).toEqual([spelling, file, `${token}\n`]);
  }
  const found = await user.ok<{ results: { file: string }[] }>('svc_search', { query: token });
  expect([name, found.results.map((result) => result.file)]).toEqual([name, [file]]);
}

async function expectTold(socket: EventSocket, brain: string, files: readonly string[]): Promise<void> {
  await waitFor(() => (socket.of(brain, 'brain:change').length >= files.length ? true : undefined), {
    what: 'an event for each name',
  });
  const told = socket.of(brain, 'brain:change').map((event) => `${String(event['file'])} ${String(event['change'])}`);
  expect(told.sort()).toEqual(files.map((file) => `${file} created`).sort());
}

/** A clone as the most cautious git makes it. */
function cloned(bare: string, branch: string, into: string): string {
  const cautious = ['-c', 'core.protectHFS=true', '-c', 'core.protectNTFS=true', '-c', 'transfer.fsckObjects=true'];
  git(tmpdir(), ...cautious, 'clone', '-q', '-b', branch, `file://${bare}`, into);
  return into;
}

verifies(
  'names:everywhere',
  async ({ fresh, place, random, socket, report }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    const listener = await socket();
    await listener.subscribe({ events: ['brain:change'] });
    const before = hashOutside(place);

    const taken = new Map<string, Named>();
    await inBatches(namesFor(random), async (named) => {
      const file = await writeNamed(user, named);
      if (file !== null) taken.set(file, named);
    });
    const files = [...taken.keys()].sort();
    report(`names:everywhere ${files.length} of ${NAMES} names were taken`);
    expect(files.length).toBeGreaterThan(NAMES / 2);
    expect(await listed(user)).toEqual(files);
    expect(onDisk(folder).sort()).toEqual(files);
    await expectTold(listener, brain, files);
    await inBatches([...taken], async ([file, named]) => expectReadable(user, named, file));

    await user.ok('svc_commit', { message: 'names' });
    expect(filesAt(folder, 'main').sort()).toEqual(files);
    assertSound(folder);
    await user.ok('svc_sync', { remote: 'r', direction: 'push' });
    const bare = join(remotes ?? '', 'r.git');
    const branch = git(bare, 'for-each-ref', '--format=%(refname:lstrip=2)', `refs/heads/brain/${brain}`);
    const person = cloned(bare, branch, join(remotes ?? '', `person-${brain}`));
    expect(onDisk(person).sort()).toEqual(files);

    for (const [file, { token }] of taken) writeFileSync(join(person, file), `${token} by a person\n`);
    git(person, 'commit', '-q', '-a', '-m', 'by a person');
    git(person, 'push', '-q');
    await user.ok('svc_sync', { remote: 'r', direction: 'pull' });
    await inBatches([...taken], async ([file, { token }]) => {
      expect((await user.ok('brain_read', { name: file }))['content']).toBe(`${token} by a person\n`);
    });
    await inBatches(files, async (name) => {
      await user.ok('brain_delete_file', { name });
    });
    expect([await listed(user), onDisk(folder)]).toEqual([[], []]);
    expect(hashOutside(place)).toBe(before);
  },
  on,
);

verifies(
  'names:islands',
  async ({ fresh, random }) => {
    const { user } = await fresh();
    const made = new Map<string, string>();
    const names = Array.from({ length: Math.min(NAMES, 500) }, (_, index) => `${ordinaryName(random)}${index}`);
    await inBatches(names, async (name) => {
      const reply = await user.call('svc_create_island', { name, content: `about ${name}`, triggers: ['t'] });
      if (reply.status === 200) made.set(name.normalize('NFC'), name);
      else expect([Array.from(name).length > 50, codeOf(reply)], reply.text).toEqual([true, 'VAF_INPUT_INVALID']);
    });
    expect(made.size).toBeGreaterThan(names.length / 2);
    await inBatches([...made], async ([name, asGiven]) => {
      const loaded = await user.ok<{ name: string; data: { content: string } }>('svc_load_island', { name: asGiven });
      expect([loaded.name, loaded.data.content]).toEqual([name, `about ${asGiven}`]);
    });
    const { islands } = await user.ok<{ islands: { name: string }[] }>('svc_get_islands', { limit: 1000 });
    expect(islands.map(({ name }) => name).sort()).toEqual([...made.keys()].sort());
    for (const name of ['../x', 'a?b', '.x', 'con', 'a\u202eb']) {
      const error = await user.fails('VAF_INPUT_INVALID', 'svc_create_island', { name, content: 'x' });
      expect(error.message).toMatch(/^name: /);
    }
  },
  on,
);

verifies(
  'names:composed',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    const decomposed = 'A\u0308pfel/u\u0308ber.md';
    const composed = 'Äpfel/über.md';
    mkdirSync(join(folder, 'A\u0308pfel'));
    writeFileSync(join(folder, decomposed), 'by a person');
    for (const name of [composed, decomposed, 'Äpfel/über'])
      expect(await user.ok('brain_read', { name })).toMatchObject({ file: composed, content: 'by a person' });
    expect(await user.ok('brain_write', { name: composed, content: 'by an agent' })).toMatchObject({ created: false });
    await user.ok('brain_write', { name: 'Äpfel/new', content: 'x' });
    expect(onDisk(folder).sort()).toEqual([decomposed, 'A\u0308pfel/new.md'].sort());
    expect(await listed(user)).toEqual(['Äpfel/new.md', composed].sort());
    await user.ok('svc_commit', { message: 'm' });
    expect(filesAt(folder, 'main').sort()).toEqual([decomposed, 'A\u0308pfel/new.md'].sort());
    expect(git(folder, 'status', '--porcelain')).toBe('');
  },
  on,
);

verifies(
  'names:confused',
  async ({ fresh }) => {
    const { user } = await fresh();
    for (const name of ['Straße', 'Café/x', 'ΟΔΟΣ', 'ﬁle', 'note', 'a\u200db'])
      await user.ok('brain_write', { name, content: 'x' });
    for (const name of ['STRASSE', 'CAFÉ/y', 'οδος', 'FILE', 'Note', 'ＮＯＴＥ', 'ab']) {
      const error = await user.fails('VAF_PATH_BLOCKED', 'brain_write', { name, content: 'y' });
      expect([name, error.message]).toEqual([name, expect.stringContaining('take for a name in use')]);
      expect(error.data['segment'], error.message).toEqual(expect.any(String));
    }
    for (const name of ['Strase', 'Cafe/x', 'ı', 'i', 'nоte']) await user.ok('brain_write', { name, content: 'x' });
  },
  on,
);

verifies(
  'names:stem',
  async ({ fresh }) => {
    const { user } = await fresh();
    const written = await user.ok('brain_write', { name: 'facts/answer', content: '{"answer": 42}', format: 'json' });
    expect(written).toMatchObject({ name: 'facts/answer.json', file: 'facts/answer.json' });
    const found = { file: 'facts/answer.json', content: '{"answer": 42}' };
    expect(await user.ok('brain_read', { name: 'facts/answer' })).toMatchObject(found);
    expect(await user.ok('svc_get_memory', { category: 'facts', filename: 'answer' })).toMatchObject(found);
    await user.ok('brain_write', { name: 'facts/answer.yaml', content: 'answer: 42' });
    const refused = await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'facts/answer' });
    expect(refused).toMatchObject({ candidates: ['facts/answer.json', 'facts/answer.yaml'] });
    expect(refused['error']).toContain('facts/answer.yaml');
    expect(await user.ok('brain_write', { name: 'facts/answer', content: '42' })).toMatchObject({
      file: 'facts/answer.md',
    });
    expect(await user.ok('brain_read', { name: 'facts/answer' })).toMatchObject({ file: 'facts/answer.md' });
    expect(await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'facts/other' })).not.toHaveProperty('candidates');
    const commit = await user.ok<{ commit: string }>('brain_save', { name: 'v1.2', content: 'x' });
    expect(commit).toMatchObject({ name: 'v1.2.md' });
    expect(await user.ok('brain_read', { name: 'v1.2', at: commit.commit })).toMatchObject({ file: 'v1.2.md' });
  },
  on,
);

verifies(
  'names:ignored',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    mkdirSync(join(folder, 'build'));
    writeFileSync(join(folder, 'build', 'out.md'), 'x');
    writeFileSync(join(folder, 'secret.md'), 'x');
    writeFileSync(join(folder, 'kept.md'), 'x');
    writeFileSync(join(folder, '.gitignore'), 'build/\nsecret.*\n');
    await waitFor(async () => ((await listed(user)).includes('kept.md') ? true : undefined), { what: 'the file' });
    const shown = (await listed(user)).filter((file) => file !== '.gitignore');
    expect(shown).toEqual(['kept.md']);
    const { count } = await user.ok('svc_commit', { message: 'm' });
    expect([count, filesAt(folder, 'main')]).toEqual([1, ['kept.md']]);
    await user.fails('VAF_PATH_BLOCKED', 'brain_write', { name: 'build/more', content: 'x' });
  },
  on,
);

verifies(
  'messages:missing',
  async ({ caller }) => {
    const user = caller();
    const { message } = await user.fails('VAF_INPUT_INVALID', 'svc_set_memory', { category: 'a' });
    expect(message).toBe('filename: is required (or file); content: is required');
    const docs = await user.fails('VAF_INPUT_INVALID', 'svc_rerank', { query: 'x', docs: [4] });
    expect(docs.message).toBe('docs.0: must be one of these: string, object');
  },
  on,
);

verifies(
  'messages:settings',
  async ({ fresh }) => {
    const { user } = await fresh();
    const refused = await user.refused('E_NOT_CONFIGURED', 'svc_sync');
    expect(refused).toMatchObject({ remote: 'origin', settings: ['SVC_SYNC_REMOTES', 'HOST_REPO'] });
    expect(refused['error']).toMatch(/origin.*SVC_SYNC_REMOTES or HOST_REPO/);
  },
  on,
);

verifies(
  'messages:modes',
  async ({ fresh }) => {
    const { user } = await fresh();
    const { body } = await user.get('/tools').then(({ text }) => ({ body: JSON.parse(text) as { tools: Fields[] } }));
    const card = body.tools.find(({ name }) => name === 'svc_search') as {
      inputSchema: { properties: { mode: Fields } };
    };
    const offered = card.inputSchema.properties.mode['enum'] as string[];
    for (const mode of offered) await user.ok('svc_search', { query: 'x', mode });
    expect(offered).toContain('semantic');
    const { message } = await user.fails('VAF_INPUT_INVALID', 'svc_search', { query: 'x', mode: 'psychic' });
    for (const mode of offered) expect(message).toContain(mode);
  },
  on,
);

verifies(
  'messages:brain',
  async ({ caller }) => {
    const error = await caller().fails('BRAIN_LOAD_FAIL', 'brain_read', { name: 'x', brain: 'nowhere' });
    expect([error.message, error.data['hint']]).toEqual([
      'Failed to load brain',
      expect.stringContaining('brain_list'),
    ]);
  },
  on,
);
