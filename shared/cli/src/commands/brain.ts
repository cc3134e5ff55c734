/** What is in a brain and how it came there: search, history, commit, sync. */
import type { Result } from '@svc/client/client.ts';
import { type CommandDeclaration, manyArguments, textArgument, textOption } from '../command.ts';
import { wholeNumber } from '../numbers.ts';
import { moment } from '../moments.ts';
import { during, showObject, showRows } from '../output.ts';
import { PLACE_OPTIONS, placeOf } from '../place.ts';
import { factsText } from '../result-text.ts';
import type { Terminal } from '../terminal.ts';
import { oneLine, visible } from '../visible.ts';

type Hit = Result<'svc_search'>['results'][number];

export const searchCommand: CommandDeclaration = {
  name: 'search',
  summary: 'Searches the files of the brain.',
  notes: ['docs/search.md shows what a query can say. A word that begins with a dash stands behind --.'],
  args: [{ form: '<words...>', meaning: 'What to look for.' }],
  options: [
    { form: '-n, --limit <count>', meaning: 'Results at most.' },
    { form: '--category <folder>', meaning: 'Only below this folder.' },
    ...PLACE_OPTIONS,
  ],
  examples: ['svc search high water', 'svc search tides --json | jq -r .file', 'svc search water -- -low'],
  async run({ client, terminal, signal }, input) {
    const args = {
      query: manyArguments(input, 0).join(' '),
      limit: wholeNumber(input, 'limit'),
      category: textOption(input, 'category'),
      ...placeOf(input),
    };
    const { results, total } = await client.call('svc_search', args, { signal });
    if (terminal.isJson) for (const hit of results) terminal.json(hit);
    else if (results.length === 0) terminal.note(terminal.paintNote('dim', 'Nothing found.'));
    else terminal.print(hitsText(terminal, results, total));
  },
};

function hitsText(terminal: Terminal, hits: readonly Hit[], total: number): string {
  const blocks = hits.map(({ file, lines, title, snippet, score }) => {
    const place = `${terminal.paint('cyan', oneLine(file))}${terminal.paint('dim', `:${oneLine(String(lines))}`)}`;
    const head = `${place}  ${terminal.paint('bold', oneLine(title))}  ${terminal.paint('dim', String(score))}`;
    return `${head}\n${indented(visible(snippet).trim())}`;
  });
  const more = total > hits.length ? [terminal.paint('dim', `${hits.length} of ${total}; more with --limit`)] : [];
  return [...blocks, ...more].join('\n\n');
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

type Commit = Result<'svc_history'>['history'][number];

const SHORT_COMMIT = 8;

export const logCommand: CommandDeclaration = {
  name: 'log',
  summary: 'Lists the commits of the branch, or those of one file, newest first.',
  args: [{ form: '[file]', meaning: 'Only commits that touched this file.', completes: 'brain-file' }],
  options: [{ form: '-n, --limit <count>', meaning: 'Commits at most, default 20.' }, ...PLACE_OPTIONS],
  examples: ['svc log', 'svc log learnings/first -n 5'],
  async run({ client, terminal, signal }, input) {
    const args = { file: textArgument(input, 0), limit: wholeNumber(input, 'limit') ?? 20, ...placeOf(input) };
    const { history } = await client.call('svc_history', args, { signal });
    showRows(terminal, history, COMMIT_COLUMNS, 'No commits.');
  },
};

const COMMIT_COLUMNS = [
  { title: 'COMMIT', value: ({ commit }: Commit) => commit.slice(0, SHORT_COMMIT), paint: () => 'yellow' as const },
  { title: 'WHEN', value: ({ at }: Commit) => moment(at), paint: () => 'dim' as const },
  { title: 'WHO', value: ({ agent, author }: Commit) => agent ?? author },
  { title: 'FILES', value: ({ count }: Commit) => String(count), isNumber: true as const },
  { title: 'MESSAGE', value: ({ message }: Commit) => message.split('\n')[0] ?? '' },
];

export const commitCommand: CommandDeclaration = {
  name: 'commit',
  summary: 'Commits every uncommitted file of the branch.',
  options: [{ form: '-m, --message <text>', meaning: 'What changed; needed.' }, ...PLACE_OPTIONS],
  examples: ['svc commit -m "what I learned today"'],
  async run({ client, terminal, signal }, input) {
    const message = textOption(input, 'message') ?? '';
    const asked = client.call('svc_commit', { message, ...placeOf(input) }, { signal });
    const done = await during(terminal, 'committing', asked);
    const { committed, commit, count, brain, branch } = done;
    showObject(terminal, done, () =>
      committed
        ? `${terminal.paint('green', '✓')} ${terminal.paint('yellow', commit.slice(0, SHORT_COMMIT))} ${count} ${count === 1 ? 'file' : 'files'} ${terminal.paint('dim', `brain ${brain}, branch ${branch}`)}`
        : 'Nothing to commit.',
    );
  },
};

export const syncCommand: CommandDeclaration = {
  name: 'sync',
  summary: "Syncs the branch with the brain's remote: pull, then push.",
  args: [{ form: '[direction]', meaning: 'Only one of both.', choices: ['push', 'pull'] }],
  options: [{ form: '--remote <name>', meaning: 'Name of the remote, default origin.' }, ...PLACE_OPTIONS],
  examples: ['svc sync', 'svc sync pull --brain research'],
  async run({ client, terminal, signal }, input) {
    const direction = textArgument(input, 0) as 'push' | 'pull' | undefined;
    const args = { direction, remote: textOption(input, 'remote'), ...placeOf(input) };
    const done = await during(terminal, 'syncing', client.call('svc_sync', args, { signal }));
    const { status, remote, pulled, pushed, conflicts, uncommittedLeft } = done;
    showObject(terminal, done, () =>
      factsText(terminal, [
        ['status', status],
        ['remote', remote],
        ['pulled', `${pulled.added} added, ${pulled.updated} updated, ${pulled.deleted} deleted`],
        ['pushed', `${pushed} commits`],
        ...(conflicts.length > 0 ? [['conflicts', conflicts.map(({ file }) => file)] as const] : []),
        ...(uncommittedLeft > 0 ? [['uncommitted', `${uncommittedLeft} files stay here: svc commit`] as const] : []),
      ]),
    );
  },
};
