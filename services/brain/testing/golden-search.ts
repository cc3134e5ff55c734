/** A few files, a few queries, and all that is answered and explained of them in every mode. */
import type { Nearness } from '../src/search/nearness.ts';
import type { SearchAnswer, SearchRequest } from '../src/search/search-answer.ts';
import { SearchIndex } from '../src/search/search-index.ts';

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

export const GOLDEN_QUERIES = [
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

export function askGolden(query: string, way: Partial<SearchRequest>): SearchAnswer {
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

/** As JSON. */
export function goldenAnswers(): string {
  return JSON.stringify(WAYS.map((way) => GOLDEN_QUERIES.map((query) => askGolden(query, way))));
}
