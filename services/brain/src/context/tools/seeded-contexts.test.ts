/** Contexts of brains made by chance: within their budget, true to what they cite, silent about what the caller may not read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import type { Subject } from '@svc/contract/subject.ts';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();

const patiently = () => ({ deadlineAt: Date.now() + 60_000 });
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['admin'], verified: true };
const BOB: Subject = { ...ANN, userId: 'bob', agentId: 'bob', roles: ['editor'] };
const as = (subject: Subject | null) => testCaller(() => node, subject);
const [operator, admin, editor] = [as(null), as(ANN), as(BOB)];

/** Stands in everything that an editor may not read, its name too. */
const SECRET = 'canaryzz';
const ADMINS = { readableBy: ['role:admin'], writableBy: ['role:admin'] };

const word = fc.constantFrom('quay', 'tide', 'harbour', 'rope', 'engine', 'pilot', 'fog', 'größe');
const sentence = fc.array(word, { minLength: 1, maxLength: 30 }).map((words) => `${words.join(' ')}.`);
const body = fc.array(sentence, { maxLength: 12 }).map((sentences) => sentences.join('\n\n'));
const heading = fc.option(word, { nil: null });
const note = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd/e'), body, heading, hasPay: fc.boolean() });
const island = fc.record({
  body,
  triggers: fc.uniqueArray(word, { maxLength: 2 }),
  always: fc.boolean(),
  enabled: fc.boolean(),
  isSecret: fc.boolean(),
  source: fc.subarray(['open', SECRET]),
});
const brainOfChance = fc.record({
  core: fc.uniqueArray(fc.constantFrom('identity', 'goals', 'lessons', 'errors'), { maxLength: 4 }),
  isLastCoreSecret: fc.boolean(),
  coreBody: body,
  open: fc.array(note, { maxLength: 5 }),
  secret: fc.array(note, { maxLength: 3 }),
  islands: fc.array(island, { maxLength: 4 }),
  changed: body,
  wishes: fc.array(
    fc.record({
      budget: fc.integer({ min: 256, max: 3000 }),
      query: fc.option(fc.oneof(word, sentence, fc.constant(SECRET)), { nil: undefined }),
      includeTools: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
type BrainOfChance = typeof brainOfChance extends fc.Arbitrary<infer Value> ? Value : never;

/** Keys of front matter that only an admin sees stand before the text that everybody sees. */
function textOf({ body: text, heading: title, hasPay }: BrainOfChance['open'][number]): string {
  const front = hasPay ? `---\nowner: ann\npay: ${SECRET}\nnote: |\n  ${SECRET}\n  ${SECRET}\n---\n` : '';
  return `${front}${title === null ? '' : `# ${title}\n\n`}${text}\n`;
}

function islandText({ body: text, triggers, always, enabled, isSecret, source }: BrainOfChance['islands'][number]) {
  const named = isSecret ? [...triggers, SECRET] : triggers;
  const front = JSON.stringify({ triggers: named, always, enabled, source });
  return `---\n${front}\n---\n${isSecret ? `${SECRET} ` : ''}${text}\n`;
}

/** By the path. */
function filesOf(given: BrainOfChance, brain: string): Map<string, string> {
  const secretCore = given.isLastCoreSecret ? given.core.at(-1) : undefined;
  return new Map([
    ...given.core.map((name) => [`${name}.md`, `${name === secretCore ? SECRET : name} ${given.coreBody}`] as const),
    ...given.open.map((one) => [`open/${one.name}.md`, textOf(one)] as const),
    ...given.secret.map((one) => [`${SECRET}/${one.name}.md`, `${SECRET} ${textOf(one)}`] as const),
    ...given.islands.map((one, n) => [`islands/${islandName(one, brain, n)}.md`, islandText(one)] as const),
  ]);
}

const islandName = ({ isSecret }: { isSecret: boolean }, brain: string, n: number): string =>
  `${isSecret ? SECRET : 'i'}-${brain}-${n}`;

async function make(given: BrainOfChance, brain: string): Promise<void> {
  await operator.ok('brain_push', { name: brain, create: true }, patiently());
  const put = (path: string, text: string): void => {
    const file = join(bed.dataDir, 'brains', brain, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const [path, text] of filesOf(given, brain)) put(path, text);
  const { code } = await operator.ok('svc_commit', { brain, message: 'made by chance' }, patiently());
  expect(code).toBeUndefined();
  put('open/a.md', `changed ${given.changed}`);
  put(`${SECRET}/new.md`, `${SECRET} ${given.changed}`);
  await operator.ok('brain_attend', { brain, name: `${SECRET}/new.md`, score: 1 }, patiently());
  bed.registry.setPolicy(`brain:${brain}/${SECRET}`, ADMINS);
  bed.registry.setPolicy(`brain:${brain}/open`, { filter: ['note'], mask: ['pay'] });
  if (given.isLastCoreSecret && given.core.length > 0)
    bed.registry.setPolicy(`brain:${brain}/${given.core.at(-1) ?? ''}.md`, ADMINS);
  for (const [n, one] of given.islands.entries())
    if (one.isSecret) bed.registry.setPolicy(`_island:${islandName(one, brain, n)}`, ADMINS);
}

interface Built {
  readonly assembled: string;
  readonly tokens: number;
  readonly budget: number;
  readonly layers: readonly { readonly tokens: number }[];
  readonly citations: readonly { file: string; lines: [number, number]; commit: string | null; hash: string }[];
}

async function expectTrue(brain: string, { assembled, tokens, budget, citations }: Built): Promise<void> {
  expect(tokens).toBe(Math.ceil(Buffer.byteLength(assembled) / 4));
  expect(tokens).toBeLessThanOrEqual(budget);
  for (const { file, lines, commit, hash } of citations) {
    // The hash of a file with hidden fields is another one in every commit: that of the branch is told.
    expect(await editor.ok('brain_read', { brain, name: file }, patiently())).toMatchObject({ file, hash });
    const place = { brain, name: file, ...(commit === null ? {} : { at: commit }) };
    const read = await editor.ok('brain_read', place, patiently());
    const quoted = String(read['content'])
      .split('\n')
      .slice(lines[0] - 1, lines[1])
      .join('\n');
    expect(assembled, `${file} ${lines.join('-')}`).toContain(quoted.trimEnd());
  }
}

test('never beyond the budget, each citation as its reader finds it, nothing hidden', async () => {
  let made = 0;
  let citations = 0;
  let seenByAdmin = 0;
  await fc.assert(
    fc.asyncProperty(brainOfChance, async (given) => {
      made += 1;
      const brain = `chance${made}`;
      await make(given, brain);
      for (const wish of given.wishes) {
        const built = (await editor.ok('context_build', { brain, ...wish }, patiently())) as unknown as Built;
        expect(JSON.stringify(built)).not.toContain(SECRET);
        await expectTrue(brain, built);
        citations += built.citations.length;
        const whole = await admin.ok('context_build', { brain, ...wish }, patiently());
        if (JSON.stringify(whole).includes(SECRET)) seenByAdmin += 1;
      }
    }),
    // Brains of a node are few: none is spent on a shorter example.
    { numRuns: runs(200), endOnFailure: true },
  );
  expect(citations).toBeGreaterThan(made);
  expect(seenByAdmin).toBeGreaterThan(made / 4);
}, 600_000);
