/** What a front matter is, to everybody who looks for one. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { addMember } from '../instruments/members.ts';
import { verifies } from '../verifies.ts';

const FENCES: Readonly<Record<string, readonly [fence: string, isOne: boolean]>> = {
  plain: ['---\n', true],
  blanks: ['---  \t\n', true],
  'a no-break space': ['---\u00A0\n', true],
  'an ideographic space': ['---\u3000\n', true],
  'carriage returns': ['---\r\n', true],
  'four dashes': ['----\n', false],
  'a letter': ['--- x\n', false],
  'a space that has no width': ['---\u200B\n', false],
  'a blank before': [' ---\n', false],
  'a no-break space before': ['\u00A0---\n', false],
};

verifies('rows:one-grammar', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const { caller: viewer } = await addMember(place, 'default', 'viewer');
  const policy = { container: 'public', readableBy: [], writableBy: [], mask: ['salary'] };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/masked`, policy });
  const seen: Record<string, readonly boolean[]> = {};
  for (const [index, [kind, [fence]]] of Object.entries(FENCES).entries()) {
    const yaml = `title: Lantern${index}\nsalary: h1dden${index}z\ntriggers: [beacon${index}z]\n`;
    const content = `${fence}${yaml}${fence}# Harbour\n\nkelp\n`;
    for (const folder of ['masked', 'open', 'islands'])
      await operator.ok('brain_write', { name: `${folder}/f${index}.md`, content });
    const shown = await viewer.ok<{ content: string }>('brain_read', { brain, name: `masked/f${index}.md` });
    const query = { brain, query: `beacon${index}z`, category: 'open' };
    const { results } = await viewer.ok<{ results: Fields[] }>('svc_search', query);
    const { islands } = await viewer.ok<{ islands: Fields[] }>('svc_get_islands', { brain });
    const island = islands.find(({ name }) => name === `f${index}`);
    seen[kind] = [
      !shown.content.includes(`h1dden${index}z`),
      results[0]?.['title'] === `Lantern${index}`,
      JSON.stringify(island ?? null).includes(`beacon${index}z`),
    ];
  }
  const expected = Object.entries(FENCES).map(([kind, [, isOne]]) => [kind, [isOne, isOne, isOne]]);
  expect(seen).toEqual(Object.fromEntries(expected));
});
