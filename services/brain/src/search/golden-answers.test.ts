/** The same files give the same answers, byte for byte, on every machine and in every process. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { askGolden, GOLDEN_QUERIES, goldenAnswers } from '../../testing/golden-search.ts';

const RESULTS = {
  lease: ['ops/leases.md 3.625767974', 'log/2026.txt 2.398334673', 'api/errors.json 2.363619297'],
  'renew a lease': ['ops/leases.md 4.407164561', 'log/2026.txt 3.445093313', 'api/errors.json 1.447167106'],
  'rollbak release': ['ops/deploy.md 2.75'],
  '"fencing token" lease': ['ops/leases.md 14.552795569', 'log/2026.txt 1.304533892', 'api/errors.json 1.249049344'],
  'lease -harbour': ['ops/leases.md 3.456059965', 'api/errors.json 2.370759654'],
  'depl* OR roll': ['ops/deploy.md 2.45'],
  'zuerich "zurich hauptbahnhof"': ['notes/zuerich.md 14.233333333'],
  '猫 🎉': ['notes/cats.md 2.875'],
  سفينة: ['notes/ship.md 4.15'],
  '4.17.21': ['notes/zuerich.md 13.1'],
  'retry after': ['api/errors.json 3.1'],
  'lease since:2026-02': ['ops/leases.md 3.566320276', 'log/2026.txt 2.176166078'],
};

test('the results of a few queries, with their scores', () => {
  const found = GOLDEN_QUERIES.map((query) => [
    query,
    askGolden(query, {}).results.map(({ file, score }) => `${file} ${score}`),
  ]);
  expect(Object.fromEntries(found)).toEqual(RESULTS);
});

/** To be replaced when a change of the analysis, the ranking or the snippets is meant, and for no other reason. */
const ALL_ANSWERS = 'b25108765b61ce2457720868837bb12bc2816d5b93a71fa5da6dd903f81c4919';

test('all that is answered and explained, in every mode', () => {
  expect(hash('sha256', goldenAnswers(), 'hex')).toBe(ALL_ANSWERS);
});
