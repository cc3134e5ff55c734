/** The same files give the same answers, byte for byte, on every machine and in every process. */
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Nearness } from './nearness.ts';
import type { SearchAnswer, SearchRequest } from './search-answer.ts';
import { SearchIndex } from './search-index.ts';

const FILES: Readonly<Record<string, string>> = {
  'ops/deploy.md':
    '# Deploying\n\nBuild the image, push it and wait for the health check.\n\n## Rolling back\n\nRun the rollback with the last good release. Connections are drained for thirty seconds.',
  'ops/leases.md':
    '---\ntitle: Leases and fencing tokens\ntags: [lock]\n---\nA lease is granted for a limited time. The fencing token rises with each grant.\n\nWhoever forgets to renew the lease loses it.',
  'notes/zuerich.md': '# Zürich\n\nAb Zürich Hauptbahnhof um acht Uhr, Gleis 4.17.21.',
  'notes/cats.md': '# 黒猫 🎉\n\n会議の議事録。猫は寝る🎂🎂',
  'notes/ship.md': '# السفينة\n\nتغادر السفينة الميناء صباح الأحد.',
  'api/errors.json': '{ "E_LOCKED": "somebody else holds the lease", "retryAfter": 30 }',
  'log/2026.txt': 'The rollout was on time; the lease of the harbour pilot was renewed twice.',
};
const TIMES: Readonly<Record<string, number>> = {
  'ops/deploy.md': Date.UTC(2026, 0, 3),
  'ops/leases.md': Date.UTC(2026, 1, 3),
  'log/2026.txt': Date.UTC(2026, 2, 3),
};

const QUERIES = [
  'lease',
  'renew a lease',
  'rollbak release',
  '"fencing token" lease',
  'lease -harbour',
  'depl* OR roll',
  'zuerich "zurich hauptbahnhof"',
  '猫 🎉',
  'سفينة',
  '4.17.21',
  'retry after',
  'lease since:2026-02',
];

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

const nearness: Nearness = {
  weight: 1,
  cosinesOf: ({ hash: name, rows }) => Array.from({ length: rows }, (_, at) => ((name.length + at) % 7) / 10),
};
const WAYS: readonly Partial<SearchRequest>[] = [
  { mode: 'plain' },
  { mode: 'hybrid' },
  { mode: 'hybrid', recency: 'strong', group: 'passage' },
  { mode: 'hybrid', nearness },
  { mode: 'semantic', nearness },
];

const index = new SearchIndex();
for (const [file, content] of Object.entries(FILES)) index.set({ file, content, hash: `of ${file}`, chain: 0 });

function ask(query: string, way: Partial<SearchRequest>): SearchAnswer {
  const changedAt = (file: string): number | null => TIMES[file] ?? null;
  const request = {
    query,
    mode: 'hybrid',
    limit: 10,
    group: 'file',
    admitted: null,
    explain: true,
    changedAt,
  } as const;
  return index.search({ ...request, ...way });
}

test('the results of a few queries, with their scores', () => {
  const found = QUERIES.map((query) => [query, ask(query, {}).results.map(({ file, score }) => `${file} ${score}`)]);
  expect(Object.fromEntries(found)).toEqual(RESULTS);
});

/** To be replaced when a change of the analysis, the ranking or the snippets is meant, and for no other reason. */
const ALL_ANSWERS = 'a7ae2c88e4964ded81b001d65106245bd0000a5d48f909faeb30438fc4ad527b';

test('all that is answered and explained, in every mode', () => {
  const answers = WAYS.map((way) => QUERIES.map((query) => ask(query, way)));
  expect(hash('sha256', JSON.stringify(answers), 'hex')).toBe(ALL_ANSWERS);
});
