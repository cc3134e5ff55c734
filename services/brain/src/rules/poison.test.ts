/** Files that are made so that telling their hidden fields apart goes wrong. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
let brain = '';
let brains = 0;

const ADA = testCaller(() => node, { userId: 'ada', workspace: 'acme', roles: ['admin'] });
const OPERATOR = testCaller(() => node, null);

const MASK = { mask: ['salary'] };
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

const POISONS: readonly (readonly [string, string])[] = [
  ['a.json', `{"salary": 91000, "a": 1, "a": ${deep(60_000)}}`],
  ['list.json', `[{"salary": 91000, "a": 1, "a": ${deep(60_000)}}]`],
  ['islands/a.json', `{"island": {}, "data": {"salary": 91000, "a": 1, "a": ${deep(60_000)}}}`],
  ['flow.md', `---\n{salary: 91000, a: ${deep(1200)}}\n---\nrome\n`],
];

beforeEach(async () => {
  brains += 1;
  brain = `p${brains}`;
  await OPERATOR.ok('brain_push', { name: brain, create: true });
  await OPERATOR.ok('brain_write', { brain, name: 'secret/plan.md', content: '# quixotic rome\n' });
  await OPERATOR.ok('brain_write', { brain, name: 'good.json', content: '{"salary": 92000, "name": "rome"}' });
});

describe.each(POISONS)('%s', (file, text) => {
  test.each(['by a tool', 'by an editor'])('%s opens nothing and stops nothing', async (way) => {
    await ADA.ok('svc_search', { brain, query: 'rome' });
    if (way === 'by a tool') await OPERATOR.ok('brain_write', { brain, name: file, content: text });
    else {
      mkdirSync(join(bed.dataDir, 'brains', brain, 'islands'), { recursive: true });
      writeFileSync(join(bed.dataDir, 'brains', brain, file), text);
    }
    bed.registry.setPolicy(`brain:${brain}`, MASK);
    bed.registry.setPolicy(`brain:${brain}/secret`, { readableBy: ['role:boss'] });
    for (let again = 0; again < 3; again += 1) {
      for (const query of ['quixotic', '91000', '92000']) {
        expect(await ADA.ok('svc_search', { brain, query })).toMatchObject({ total: 0, results: [] });
      }
      expect(await ADA.ok('svc_search', { brain, query: 'rome' })).toMatchObject({
        total: expect.toSatisfy((total: number) => total >= 1),
      });
      const { files } = await ADA.ok('brain_list_files', { brain });
      expect(files).toContainEqual(expect.objectContaining({ file: 'good.json' }));
      expect(JSON.stringify(files)).not.toContain('secret');
      expect(await ADA.ok('svc_health')).toMatchObject({ status: 'ok' });
    }
    const read = await node
      .call(
        'brain_read',
        { brain, name: file },
        { subject: { userId: 'ada', workspace: 'acme', roles: ['admin'] }, operator: false },
      )
      .catch((error: Error) => ({ code: error.message }));
    expect(JSON.stringify(read)).not.toContain('91000');
    expect(read).not.toMatchObject({ code: 'INTERNAL' });
  });
});
