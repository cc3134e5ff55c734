/** What people type, over real texts: this project's docs, the READMEs of installed packages, notes in ten languages. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { SearchIndex } from './search-index.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const PACKAGES = join(ROOT, 'node_modules/.pnpm');
/** How many of the queries below have to find what they name before anything else; two more did: docs and READMEs change. */
const AT_LEAST = 55;

const NOTES: Readonly<Record<string, string>> = {
  'de/zuerich': '# Reise nach Zürich\n\nDer Zug fährt um acht Uhr. Das Gepäck bleibt im Schließfach.',
  'de/strasse': '# Umzug\n\nDie neue Wohnung liegt in der Gartenstraße; der Schlüssel ist beim Hausmeister.',
  'de/heizung': '# Heizung\n\nDie Wärmepumpe wird im Frühling gewartet. Der Zähler steht im Keller.',
  'fr/recette': '# Gâteau à la crème brûlée\n\nBattre les œufs avec le sucre, puis laisser refroidir une nuit.',
  'fr/reunion': "# Réunion d'équipe\n\nLe calendrier de la livraison a été repoussé à la mi-février.",
  'es/manana': '# Mañana\n\nLlamar al señor Núñez sobre la contraseña del servidor.',
  'da/aeroe': '# Ærø\n\nFærgen sejler fra Svendborg; billetter købes på havnen.',
  'pl/lodz': '# Łódź\n\nSpotkanie z zespołem odbędzie się w przyszły wtorek.',
  'tr/istanbul': '# İstanbul\n\nToplantı perşembe günü, ofis Beyoğlu semtinde.',
  'el/athina': '# Αθήνα\n\nΗ συνάντηση είναι την Τρίτη στο κέντρο της πόλης.',
  'ru/sklad': '# Склад\n\nКлючи от склада лежат у охранника на первом этаже.',
  'ja/kaigi': '# 会議の議事録\n\n東京本社で予算案を承認した。次回は来週の月曜日。',
  'ja/ryouri': '# 料理\n\nカレーライスの作り方。玉ねぎを炒める。',
  'zh/beijing': '# 北京出差\n\n周三的航班已经取消，改坐高铁。',
  'ko/seoul': '# 서울 출장\n\n호텔 예약 번호는 이메일에 있다.',
  'th/krungthep': '# กรุงเทพ\n\nประชุมทีมวันศุกร์ ห้องประชุมใหญ่ชั้นสาม',
  'ar/safina': '# السفينة\n\nتغادر السفينة الميناء صباح الأحد. الحجز باسم أحمد.',
  'ar/maktaba': '# المكتبة\n\nكتب جديدة في الطابق الثاني من مكتبة المدينة.',
  'he/sifriya': '# הספרייה\n\nהספרים החדשים בקומה השנייה.',
  'emoji/party': '# Office party 🎉\n\nBring the 🎂 at five. Somebody takes the photos 📷.',
  'emoji/alarm': '# On call\n\nWhen the pager says 🔥 wake the second in line; ✅ ends it.',
  'log/2025-review': '# Review\n\nThe rollout of the ledger was late by two weeks.',
  'log/2026-review': '# Review\n\nThe rollout of the ledger was on time.',
  'log/errors':
    '# Errors seen\n\n`ECONNRESET` from the upstream after 30 s; E_QUOTA_DISK on node 7; build 4.17.21 fixed it.',
  'code/parser': 'function parseRetryAfterHeader(value) { return readHttpDate(value) ?? max_retry_seconds; }',
};
const TIMES: Readonly<Record<string, number>> = {
  'log/2025-review': Date.UTC(2025, 5, 3),
  'log/2026-review': Date.UTC(2026, 5, 3),
};

/** Any of `first` answers it. */
type Row = readonly [query: string, ...first: string[]];

const ROWS: readonly Row[] = [
  // plain words, as somebody asks
  ['how do I revoke a token', 'docs/tokens'],
  ['who may read an island', 'docs/boundaries', 'docs/access'],
  ['restore a backup of a brain', 'docs/copies'],
  ['vote on a topic together with another laptop', 'docs/federation'],
  ['sell a skill to another agent', 'docs/market'],
  ['run a task every five minutes', 'docs/queues'],
  ['what does a hold do to my budget', 'docs/budgets'],
  ['socket that reconnects and resumes events', 'docs/events', 'docs/listening'],
  [
    'parse command line options',
    'package/yargs-parser',
    'package/commander',
    'package/@pkgjs/parseargs',
    'package/jackspeak',
  ],
  ['compare semantic versions', 'package/semver'],
  ['convert milliseconds to a human string', 'package/ms'],
  ['watch how many bytes in human readable form', 'package/pretty-bytes'],
  ['PostgreSQL client for node', 'package/pg'],
  ['property based testing', 'package/fast-check'],
  ['temporary files and directories', 'package/tmp'],
  // phrases
  ['"least recently used"', 'package/lru-cache'],
  ['"glob pattern" matching', 'package/minimatch', 'package/picomatch', 'package/glob'],
  ['"second in line"', 'emoji/alarm'],
  ['"late by two weeks"', 'log/2025-review'],
  ['"Circuit breaker" OR "exponential backoff" retry', 'package/retry'],
  // identifiers, versions, codes, paths
  ['parseRetryAfterHeader', 'code/parser'],
  ['retry after header', 'code/parser'],
  ['max_retry_seconds', 'code/parser'],
  ['ECONNRESET', 'log/errors'],
  ['E_QUOTA_DISK', 'log/errors'],
  ['4.17.21', 'log/errors'],
  ['SVC_NODE_SECRET', 'docs/federation', 'docs/config'],
  ['svc_lease_acquire', 'docs/memory'],
  ['path:docs escrow pool', 'docs/budgets'],
  ['category:package ansi escape codes strip', 'package/strip-ansi'],
  ['quickj* wasm', 'package/@jitl/quickjs-wasmfile-release-sync'],
  ['cookie -signature', 'package/cookie'],
  // German, with and without its letters
  ['Zürich', 'de/zuerich'],
  ['zuerich', 'de/zuerich'],
  ['gartenstrasse', 'de/strasse'],
  ['Gartenstraße', 'de/strasse'],
  ['waermepumpe', 'de/heizung'],
  ['Waehler zaehler Keller', 'de/heizung'],
  // French, Spanish, Danish, Polish, Turkish, Greek, Russian
  ['creme brulee', 'fr/recette'],
  ['oeufs sucre', 'fr/recette'],
  ['reunion equipe', 'fr/reunion'],
  ['contrasena servidor', 'es/manana'],
  ['aero faerge', 'da/aeroe'],
  ['lodz', 'pl/lodz'],
  ['istanbul', 'tr/istanbul'],
  ['ΑΘΗΝΑ', 'el/athina'],
  ['ключи склада', 'ru/sklad'],
  // scripts without blanks, scripts from the right
  ['予算案', 'ja/kaigi'],
  ['カレー', 'ja/ryouri'],
  ['高铁', 'zh/beijing'],
  ['호텔 예약', 'ko/seoul'],
  ['ห้องประชุม', 'th/krungthep'],
  ['سفينة', 'ar/safina'],
  ['والمكتبة', 'ar/maktaba'],
  ['احمد', 'ar/safina'],
  ['הספרים', 'he/sifriya'],
  // emoji
  ['🎂', 'emoji/party'],
  ['🔥 pager', 'emoji/alarm'],
  // slips of the finger
  ['propetry based tessting', 'package/fast-check'],
  ['wärmepunpe', 'de/heizung'],
  // dates
  ['ledger rollout since:2026', 'log/2026-review'],
  ['ledger rollout until:2025-12', 'log/2025-review'],
];

const index = new SearchIndex();
const add = (file: string, content: string): void =>
  index.set({ file: `${file}.md`, content, hash: `of ${file}`, chain: 0 });

/** Each package once, whatever versions are there. */
function readmes(): Map<string, string> {
  const found = new Map<string, string>();
  for (const version of readdirSync(PACKAGES).toSorted()) {
    const folder = join(PACKAGES, version, 'node_modules');
    const name = version.replace(/(?<=.)@.*$/, '').replace('+', '/');
    for (const readme of ['README.md', 'readme.md', 'Readme.md']) {
      const path = join(folder, name, readme);
      if (existsSync(path)) found.set(name, readFileSync(path, 'utf8'));
    }
  }
  return found;
}

beforeAll(() => {
  for (const [file, content] of Object.entries(NOTES)) add(file, content);
  for (const doc of readdirSync(join(ROOT, 'docs'))) {
    if (doc.endsWith('.md')) add(`docs/${doc.slice(0, -3)}`, readFileSync(join(ROOT, 'docs', doc), 'utf8'));
  }
  for (const [name, text] of readmes()) add(`package/${name}`, text);
});

test(`what people type finds what they mean first, in ${AT_LEAST} of ${ROWS.length}`, () => {
  const changedAt = (file: string): number | null => TIMES[file.replace(/\.md$/, '')] ?? null;
  const missed = ROWS.flatMap(([query, ...first]) => {
    const { results } = index.search({
      query,
      mode: 'hybrid',
      limit: 5,
      group: 'file',
      admitted: null,
      explain: false,
      changedAt,
    });
    const found = results.map(({ file }) => file.replace(/\.md$/, ''));
    return first.includes(found[0] ?? '') ? [] : [{ query, first, found }];
  });
  expect(ROWS.length - missed.length, JSON.stringify(missed, null, 1)).toBeGreaterThanOrEqual(AT_LEAST);
});
