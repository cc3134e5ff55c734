/** Calls with the nasty kinds of text and structure, at any size: what they cost must not grow faster than they do. */
import type { Args, GrowthCase, ToolCall } from './growth.ts';
import { numbered, repeated } from './growth-texts.ts';
import { VERSION_CASES } from './growth-versions.ts';

/** Below it the fields `k5` and `salary` are masked where the measuring side can attach a policy. */
export const MASKED_FOLDER = 'masked';

const frontMatter = (yaml: string): string => `---\n${yaml}---\nbody\n`;
const yamlKeys = (size: number): string => numbered(size, (at) => `k${at}: value ${at}\n`);
const jsonKeys = (size: number): string => `{${numbered(size, (at) => `"k${at}": "value ${at}",\n`)}"salary": 1}`;
const jsonItems = (size: number): string => `[${numbered(size, (at) => `{"id": ${at}, "k5": "v"},\n`)}{"id": -1}]`;

const tinyItems = (size: number): string => `[${numbered(size, () => '{"k5":1},')}{"id":-1}]`;

const TEXTS: readonly (readonly [name: string, extension: string, size: number, (size: number) => string])[] = [
  ['keys in front matter', 'md', 15_000, (size) => frontMatter(yamlKeys(size))],
  ['a flow list in front matter', 'md', 15_000, (size) => frontMatter(`tags: [${repeated('a, ', size)}]\n`)],
  [
    'brackets in front matter',
    'md',
    15_000,
    (size) => frontMatter(`a: ${'['.repeat(size / 2)}${']'.repeat(size / 2)}\n`),
  ],
  ['anchors in front matter', 'md', 15_000, (size) => frontMatter(numbered(size, (at) => `a${at}: &x${at} 1\n`))],
  ['fences that never end', 'md', 500_000, (size) => repeated('---\n```\n', size)],
  ['headings', 'md', 500_000, (size) => repeated('# a\nb\n', size)],
  ['blanks', 'md', 500_000, (size) => `# a\n${' '.repeat(size)}b`],
  ['line ends', 'md', 500_000, (size) => `a${'\n'.repeat(size)}b`],
  ['marks on one letter', 'md', 250_000, (size) => `a${repeated('\u0301\u0323', size)}`],
  ['one long word', 'txt', 500_000, (size) => 'x'.repeat(size)],
  ['distinct words', 'txt', 500_000, (size) => numbered(size, (at) => `w${at.toString(36)} `)],
  ['members', 'json', 500_000, jsonKeys],
  ['items', 'json', 500_000, jsonItems],
  ['tiny items', 'json', 500_000, tinyItems],
  ['nested items', 'json', 500_000, (size) => `${'['.repeat(size / 2)}${']'.repeat(size / 2)}`],
  ['keys', 'yaml', 500_000, yamlKeys],
];

/** Not the same file twice, and no file that is there. */
const stored = (content: string, run: number, extension: string): string =>
  extension === 'json' ? `${' '.repeat(run % 50)}${content}` : `${content}\nrun ${run}\n`;

const write = (folder: string, extension: string, content: string, run: number): ToolCall => [
  'brain_write',
  { name: `${folder}/f.${extension}`, content: stored(content, run, extension) },
];

const search: ToolCall = ['svc_search', { query: 'value' }];

const writes = TEXTS.map(
  ([name, extension, size, text]): GrowthCase => ({
    name: `write: ${name} (${extension})`,
    size,
    prepare: () => [search],
    call: (asked, run) => write('plain', extension, text(asked), run),
  }),
);

const searches = TEXTS.map(
  ([name, extension, size, text]): GrowthCase => ({
    name: `search after it: ${name} (${extension})`,
    size,
    prepare: (asked, run) => [search, write('plain', extension, text(asked), run)],
    call: () => search,
  }),
);

const masked = TEXTS.filter(([, extension]) => extension === 'md' || extension === 'json').flatMap(
  ([name, extension, size, text]): GrowthCase[] => [
    {
      name: `masked, read: ${name} (${extension})`,
      size,
      prepare: (asked, run) => [write(MASKED_FOLDER, extension, text(asked), run)],
      call: () => ['brain_read', { name: `${MASKED_FOLDER}/f.${extension}` }],
    },
    {
      name: `masked, write over it: ${name} (${extension})`,
      size,
      prepare: (asked, run) => [write(MASKED_FOLDER, extension, text(asked), run)],
      call: (asked, run) => write(MASKED_FOLDER, extension, text(asked), run + 1),
    },
  ],
);

const islandFile = (extension: string, content: string, run: number): ToolCall => [
  'brain_write',
  { name: `islands/grown.${extension}`, content: stored(content, run, extension) },
];
const island = { name: 'grown' };

const islands: readonly GrowthCase[] = [
  {
    name: 'island made: a long text',
    size: 500_000,
    prepare: () => [['svc_delete_island', island]],
    call: (size) => ['svc_create_island', { ...island, content: `# a\n${' '.repeat(size)}b` }],
  },
  {
    name: 'island made: an object of many members',
    size: 250_000,
    prepare: () => [['svc_delete_island', island]],
    call: (size) => ['svc_create_island', { ...island, content: JSON.parse(jsonKeys(size)) as Args }],
  },
  {
    name: 'island made: marks in its description',
    size: 900,
    prepare: () => [['svc_delete_island', island]],
    call: (size) => ['svc_create_island', { ...island, description: `a${repeated('\u0301\u0323', size)}` }],
  },
  {
    name: 'island switched: keys in its front matter',
    size: 15_000,
    prepare: (size, run) => [
      ['svc_delete_island', island],
      islandFile('md', frontMatter(`enabled: true\n${yamlKeys(size)}`), run),
    ],
    call: () => ['svc_disable_island', island],
  },
  {
    name: 'island given triggers: members of its data',
    size: 500_000,
    prepare: (size, run) => [
      ['svc_delete_island', island],
      islandFile('json', `{"island": {"triggers": []}, "data": ${jsonKeys(size)}}`, run),
    ],
    call: (_size, run) => ['svc_update_island_triggers', { ...island, triggers: [`run ${run}`] }],
  },
];

const others: readonly GrowthCase[] = [
  {
    name: 'rerank: one long text',
    size: 400_000,
    call: (size) => ['svc_rerank', { query: 'cats sat', docs: [repeated('Cats sat here, w1. ', size)], budget: 1_000 }],
  },
  {
    name: 'rerank: a thousand texts',
    size: 400_000,
    call: (size) => [
      'svc_rerank',
      {
        query: 'cats sat',
        docs: Array.from({ length: 1_000 }, () => repeated('Cats sat. ', size / 1_000)),
        topK: 1_000,
      },
    ],
  },
  {
    name: 'commit: line ends in the message',
    size: 4_500,
    prepare: (_size, run) => [write('plain', 'txt', 'x', run)],
    call: (size, run) => ['svc_commit', { message: `${run}${'\n'.repeat(size)}b` }],
  },
  {
    name: 'islands: marks in a text with triggers',
    size: 900,
    call: (size) => ['svc_find_islands_by_trigger', { trigger: `a${repeated('\u0301\u0323', size)}` }],
  },
  {
    name: 'format yaml: keys',
    size: 15_000,
    call: (size, run) => [
      'brain_write',
      { name: 'plain/y', format: 'yaml', content: `${yamlKeys(size)}run: ${run}\n` },
    ],
  },
];

export const GROWTH_CASES: readonly GrowthCase[] = [
  ...writes,
  ...searches,
  ...masked,
  ...islands,
  ...VERSION_CASES,
  ...others,
];
