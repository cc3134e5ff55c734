/** Files of a brain: their text out and in. */
import { type CommandDeclaration, textArgument, textOption } from '../command.ts';
import { showObject } from '../output.ts';
import { PLACE_OPTIONS, placeOf } from '../place.ts';
import { UsageProblem } from '../problems.ts';
import { readSource } from '../sources.ts';
import type { Terminal } from '../terminal.ts';
import { visible } from '../visible.ts';

export const getCommand: CommandDeclaration = {
  name: 'get',
  summary: 'Prints a file of the brain, byte for byte.',
  notes: ['With --json it is an object with its hash, brain and branch.'],
  args: [{ form: '<file>', meaning: 'Path; without an extension, .md is meant.', completes: 'brain-file' }],
  options: [...PLACE_OPTIONS, { form: '--at <state>', meaning: 'Past state: a commit or a branch.' }],
  examples: ['svc get learnings/first', 'svc get learnings/first > first.md', 'svc get notes/tides --at main'],
  async run({ client, terminal, signal }, input) {
    const args = { name: textArgument(input, 0) ?? '', at: textOption(input, 'at'), ...placeOf(input) };
    const file = await client.call('brain_read', args, { signal });
    if (input.options['json'] !== undefined) terminal.json(file);
    else terminal.raw(terminal.isSeen ? endedLine(visible(file.content)) : file.content);
  },
};

/** A prompt begins on a line of its own. */
function endedLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

export const setCommand: CommandDeclaration = {
  name: 'set',
  summary: 'Writes a file of the brain: a text, a file, or what comes on stdin.',
  args: [
    { form: '<file>', meaning: 'Path; without an extension, .md is meant.', completes: 'brain-file' },
    { form: '[text]', meaning: 'Its new content; absent or "-": stdin.' },
  ],
  options: [
    { form: '-f, --file <path>', meaning: 'Takes the content from this file.', completes: 'file' },
    { form: '--if-match <hash>', meaning: 'Only while the file has this hash; "none": only while it does not exist.' },
    ...PLACE_OPTIONS,
  ],
  examples: [
    'svc set learnings/first "Write things down."',
    'date | svc set notes/now',
    'svc set notes/plan -f plan.md',
  ],
  async run({ client, terminal, surroundings, signal }, input) {
    const text = textArgument(input, 1);
    const path = textOption(input, 'file');
    if (text !== undefined && path !== undefined) throw new UsageProblem('A text or a file, not both.');
    if (text === undefined && path === undefined && surroundings.stdin.isTTY === true)
      terminal.note(terminal.paintNote('dim', 'Type the text; Ctrl-D ends it.'));
    const content = text === undefined || text === '-' ? await readSource(surroundings, path ?? '-', signal) : text;
    const args = {
      name: textArgument(input, 0) ?? '',
      content,
      ifMatch: textOption(input, 'ifMatch'),
      ...placeOf(input),
    };
    const written = await client.call('brain_write', args, { signal });
    showObject(terminal, written, () => writtenText(terminal, written));
  },
};

export interface Written {
  readonly file: string;
  readonly bytes: number;
  readonly changed: boolean;
  readonly created: boolean;
  readonly brain: string;
  readonly branch: string;
}

export function writtenText(terminal: Terminal, { file, bytes, changed, created, brain, branch }: Written): string {
  const did = created ? 'created' : changed ? 'changed' : 'is as it was';
  const where = terminal.paint('dim', `${bytes} bytes, brain ${brain}, branch ${branch}`);
  return `${terminal.paint('green', '✓')} ${terminal.paint('cyan', file)} ${did} ${where}`;
}
