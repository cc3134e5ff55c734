/** Nobody waits for what somebody else's text costs. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Caller, codeOf } from '../client.ts';
import { loopTimeOf } from '../instruments/loop-time.ts';
import { type Scenario, verifies } from '../verifies.ts';

/** What is promised, with room for slower processors. */
const SOON_MS = 1000;

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

/**
 * Makes small calls until it is told to stop; resolves with the most processor time that the loop of the node used while
 * one of them waited, in ms: what a machine that is full adds counts for nothing.
 */
async function longestOf(small: Caller, brain: string, loopTime: () => number, isOver: () => boolean): Promise<number> {
  let longest = 0;
  while (!isOver()) {
    const begun = loopTime();
    await small.ok('brain_read', { brain, name: 'small' });
    longest = Math.max(longest, loopTime() - begun);
    await delay(2);
  }
  return longest;
}

const scenario = async ({ caller, fresh, place, report }: Scenario): Promise<void> => {
  const { user, brain } = await fresh();
  const policy = { container: 'public', readableBy: [], writableBy: [], mask: ['k5', 'salary'] };
  await user.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/masked`, policy });
  await user.ok('brain_write', { name: 'small', content: 'small' });
  let isOver = false;
  const watched = longestOf(caller(), brain, loopTimeOf(place.dataDir), () => isOver);
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
  const longest = await watched;
  report(`beside the nastiest texts a small call waited for ${Math.round(longest)} ms of processor time at most`);
  expect(longest).toBeGreaterThan(0);
  expect(longest).toBeLessThan(SOON_MS);
};

// What a text costs its process is the same on a cluster, where a full machine makes such a process look as if it stood still.
verifies('rows:nasty-texts', scenario, { only: 'embedded' });
