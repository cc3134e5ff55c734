/** Nobody waits for what somebody else's text costs. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf } from '../client.ts';
import { promised } from '../settings.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const many = (count: number, part: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join('');

/** As long as a file may be, or as what is read of a front matter. */
const NASTY: Readonly<Record<string, string>> = {
  'many keys.md': `---\n${many(3_500, (at) => `k${at}: value ${at}\n`)}---\nkelp\n`,
  'a list of anchors.md': `---\na: &a [x]\nb: [${'*a, '.repeat(3_000)}]\n---\nkelp\n`,
  'blanks.md': `# kelp\n\n${' '.repeat(1_000_000)}x\n`,
  'brackets.json': `{"salary": 1, "a": ${'['.repeat(450_000)}${']'.repeat(450_000)}}`,
  'tiny items.json': `[${many(110_000, () => '{"k5":1},')}{"id":-1}]`,
  'members.json': `{${many(50_000, (at) => `"k${at}": "v${at}",`)}"salary": 1}`,
};

/** Makes small calls until it is told to stop; resolves with the longest that one took, in ms. */
async function longestOf(small: Caller, brain: string, isOver: () => boolean): Promise<number> {
  let longest = 0;
  while (!isOver()) {
    const begun = performance.now();
    await small.ok('brain_read', { brain, name: 'small' });
    longest = Math.max(longest, performance.now() - begun);
    await delay(2);
  }
  return longest;
}

/** A node beside, which does nothing else: what small calls take there is what the machine takes. */
async function idlePlace({ keyed }: Scenario): Promise<{ idle: Caller; idleBrain: string }> {
  const [idle, idleBrain] = [new Caller(keyed), newName('b')];
  await idle.ok('brain_switch', { name: idleBrain, create: true });
  await idle.ok('brain_write', { name: 'small', content: 'small' });
  return { idle, idleBrain };
}

const scenario = async (one: Scenario): Promise<void> => {
  const { caller, fresh, report } = one;
  const { user, brain } = await fresh();
  const policy = { container: 'public', readableBy: [], writableBy: [], mask: ['k5', 'salary'] };
  await user.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/masked`, policy });
  await user.ok('brain_write', { name: 'small', content: 'small' });
  let isOver = false;
  const { idle, idleBrain } = await idlePlace(one);
  const watched = Promise.all([longestOf(caller(), brain, () => isOver), longestOf(idle, idleBrain, () => isOver)]);
  try {
    for (const [name, content] of Object.entries(NASTY)) {
      for (const folder of ['open', 'masked']) {
        // A front matter that is more than is read cannot hide anything, and is refused where something is hidden.
        const file = { brain, name: `${folder}/${name}` };
        for (const text of [content, content.replace('1', '2')]) {
          const written = await user.call('brain_write', { ...file, content: text });
          expect(['null', ...(folder === 'masked' ? ['VAF_INPUT_INVALID'] : [])]).toContain(String(codeOf(written)));
        }
        await user.call('brain_read', file);
      }
      await user.ok('svc_search', { brain, query: 'kelp value' });
    }
    const documents = Array.from({ length: 20 }, (_, at) => `${'kelp anchor '.repeat(8_000)}${at}`);
    await user.ok('svc_rerank', { query: 'kelp anchor', documents, budget: 2_000 });
  } finally {
    isOver = true;
  }
  const [longest, elsewhere] = await watched;
  const figures = `${Math.round(longest)} ms at most, on an idle node ${Math.round(elsewhere)} ms`;
  report(`beside the nastiest texts a small call took ${figures}`);
  expect(longest).toBeLessThan(Math.max(promised(500), 4 * elsewhere));
};

// What a text costs its process is the same on a cluster, where a full machine makes such a process look as if it stood still.
verifies('rows:nasty-texts', scenario, { only: 'embedded' });
