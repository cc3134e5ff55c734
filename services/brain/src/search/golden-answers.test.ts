/** The same files give the same answers, byte for byte, on every machine and in every process. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { askGolden, GOLDEN_QUERIES, goldenAnswers } from '../../testing/golden-search.ts';

const RESULTS = {
  lease: ['ops/leases.md 2.939202527', 'api/errors.json 2.095870902', 'log/2026.txt 2.048673067'],
  'renew a lease': ['ops/leases.md 3.34762398', 'log/2026.txt 3.24941618', 'api/errors.json 1.416728652'],
  'rollbak release': ['ops/deploy.md 2.8'],
  '"fencing token" lease': ['ops/leases.md 13.617799117', 'api/errors.json 0.999087212', 'log/2026.txt 0.986278538'],
  'lease -harbour': ['ops/leases.md 2.794914397', 'api/errors.json 1.927822167'],
  'depl* OR roll': ['ops/deploy.md 2.4'],
  'zuerich "zurich hauptbahnhof"': ['notes/zuerich.md 13.466666667'],
  '猫 🎉': ['notes/cats.md 2.65'],
  سفينة: ['notes/ship.md 3.4'],
  '4.17.21': ['notes/zuerich.md 12.8'],
  'retry after': ['api/errors.json 2.4'],
  'lease since:2026-02': ['ops/leases.md 2.789301312', 'log/2026.txt 1.870078313'],
};

test('the results of a few queries, with their scores', () => {
  const found = GOLDEN_QUERIES.map((query) => [
    query,
    askGolden(query, {}).results.map(({ file, score }) => `${file} ${score}`),
  ]);
  expect(Object.fromEntries(found)).toEqual(RESULTS);
});

/** To be replaced when a change of the analysis, the ranking or the snippets is meant, and for no other reason. */
const ALL_ANSWERS = 'a7ae2c88e4964ded81b001d65106245bd0000a5d48f909faeb30438fc4ad527b';

test('all that is answered and explained, in every mode', () => {
  expect(hash('sha256', goldenAnswers(), 'hex')).toBe(ALL_ANSWERS);
});
