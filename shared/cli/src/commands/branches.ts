/** Branches of a brain. */
import type { Result } from '@svc/client/client.ts';
import { type CommandDeclaration, textArgument, textOption } from '../command.ts';
import { moment } from '../moments.ts';
import { during, showObject, showRows } from '../output.ts';
import { factsText } from '../result-text.ts';

type Branch = Result<'svc_list_branches'>['branches'][number];

const BRAIN_OPTION = { form: '--brain <name>', meaning: 'Brain; default: the current one of the session.' };
const NAME = { form: '<name>', meaning: 'Branch.', completes: 'branch' } as const;
const SHORT_COMMIT = 8;

export const branchListCommand: CommandDeclaration = {
  name: 'branch list',
  isDefault: true,
  summary: 'Lists the branches; the current one of the session has a star.',
  options: [BRAIN_OPTION],
  examples: ['svc branch', 'svc branch list --brain research'],
  async run({ client, terminal, signal }, input) {
    const rows: Branch[] = [];
    let cursor: string | undefined;
    do {
      const args = { brain: textOption(input, 'brain'), cursor };
      const { branches, nextCursor } = await client.call('svc_list_branches', args, { signal });
      rows.push(...branches);
      cursor = nextCursor;
    } while (cursor !== undefined);
    showRows(terminal, rows, COLUMNS, 'No branches.');
  },
};

const COLUMNS = [
  { title: ' ', value: ({ current }: Branch) => (current ? '*' : ''), paint: () => 'green' as const },
  { title: 'BRANCH', value: ({ name }: Branch) => name, paint: () => 'cyan' as const },
  { title: 'COMMIT', value: ({ commit }: Branch) => commit.slice(0, SHORT_COMMIT), paint: () => 'yellow' as const },
  { title: 'UNCOMMITTED', value: ({ changedFiles }: Branch) => String(changedFiles), isNumber: true as const },
  {
    title: 'UPDATED',
    value: ({ updatedAt }: Branch) => (updatedAt === null ? '' : moment(updatedAt)),
    paint: () => 'dim' as const,
  },
];

export const branchCreateCommand: CommandDeclaration = {
  name: 'branch create',
  summary: 'Creates a branch and moves the session to it.',
  args: [{ form: '<name>', meaning: 'Branch.' }],
  options: [
    { form: '--from <state>', meaning: 'Branch or commit; default: head of the current branch.' },
    { form: '--stay', meaning: 'The session stays where it is.' },
    BRAIN_OPTION,
  ],
  examples: ['svc branch create experiment'],
  async run({ client, terminal, signal }, input) {
    const place = { from: textOption(input, 'from'), brain: textOption(input, 'brain') };
    const args = { name: textArgument(input, 0) ?? '', switch: input.options['stay'] !== true, ...place };
    const made = await client.call('svc_create_branch', args, { signal });
    showObject(terminal, made, () => {
      const left = made.uncommittedLeft > 0 ? `; ${made.uncommittedLeft} uncommitted files stayed behind` : '';
      return `${terminal.paint('green', '✓')} ${terminal.paint('cyan', made.branch)} created at ${terminal.paint('yellow', made.commit.slice(0, SHORT_COMMIT))}${left}`;
    });
  },
};

export const branchSwitchCommand: CommandDeclaration = {
  name: 'branch switch',
  summary: 'Moves the session to a branch.',
  args: [NAME],
  options: [BRAIN_OPTION],
  examples: ['svc branch switch main'],
  async run({ client, terminal, signal }, input) {
    const args = { name: textArgument(input, 0) ?? '', brain: textOption(input, 'brain') };
    const moved = await client.call('svc_switch_branch', args, { signal });
    showObject(terminal, moved, () => `${terminal.paint('green', '✓')} on ${terminal.paint('cyan', moved.branch)}`);
  },
};

export const branchMergeCommand: CommandDeclaration = {
  name: 'branch merge',
  summary: 'Merges a branch into the current one.',
  args: [NAME],
  options: [BRAIN_OPTION],
  examples: ['svc branch merge experiment'],
  async run({ client, terminal, signal }, input) {
    const args = { from: textArgument(input, 0) ?? '', brain: textOption(input, 'brain') };
    const merged = await during(terminal, 'merging', client.call('svc_branch_merge', args, { signal }));
    showObject(terminal, merged, () => factsText(terminal, Object.entries(merged)));
  },
};

export const branchDeleteCommand: CommandDeclaration = {
  name: 'branch delete',
  summary: 'Deletes a branch; its last commit can still be read.',
  args: [NAME],
  options: [BRAIN_OPTION],
  examples: ['svc branch delete experiment'],
  async run({ client, terminal, signal }, input) {
    const args = { name: textArgument(input, 0) ?? '', brain: textOption(input, 'brain') };
    const deleted = await client.call('svc_branch_delete', args, { signal });
    showObject(terminal, deleted, () => factsText(terminal, Object.entries(deleted)));
  },
};
