/** A file of the brain in the person's editor, written back only over what they had read. */
import { RefusalError } from '@svc/client/client.ts';
import { type CommandContext, type CommandDeclaration, textArgument } from '../command.ts';
import { edit, openDraft } from '../editor.ts';
import { explain } from '../explain.ts';
import { showObject } from '../output.ts';
import { optionsFor, PLACE_OPTIONS, type Place, placeOf } from '../place.ts';
import { Problem, UsageProblem } from '../problems.ts';
import { shellWord } from '../shell-word.ts';
import { writtenText } from './files.ts';

export const editCommand: CommandDeclaration = {
  name: 'edit',
  summary: 'Opens a file of the brain in your editor and writes it back.',
  notes: [
    'What somebody else wrote meanwhile is not overwritten: your text is kept, and you are told where.',
    'The editor is $VISUAL, $EDITOR or vi. A file that does not exist is created.',
  ],
  args: [{ form: '<file>', meaning: 'Path; without an extension, .md is meant.', completes: 'brain-file' }],
  options: PLACE_OPTIONS,
  examples: ['svc edit learnings/first', 'EDITOR="code --wait" svc edit notes/plan'],
  async run(context, input) {
    const { client, terminal, surroundings, signal } = context;
    if (surroundings.stdin.isTTY !== true)
      throw new UsageProblem('An editor needs a terminal.', ['In a script: svc get and svc set --if-match.']);
    const name = textArgument(input, 0) ?? '';
    const read = await readState(context, name, placeOf(input));
    const draft = await openDraft(read.file, read.content);
    const content = await edit(surroundings, draft);
    if (content === read.content) {
      await draft.discard();
      terminal.note(`${read.file} is as it was.`);
      return;
    }
    try {
      const args = { name: read.file, content, ifMatch: read.hash, ...read.place };
      const written = await client.call('brain_write', args, { signal });
      await draft.discard();
      showObject(terminal, written, () => writtenText(terminal, written));
    } catch (error) {
      throw notWritten(error, read, draft.path);
    }
  },
};

interface ReadState {
  readonly file: string;
  readonly content: string;
  /** What the file must still have when it is written. */
  readonly hash: string;
  /** Where it was read: the current branch may be another one when the editor is closed. */
  readonly place: Place;
}

async function readState({ client, signal }: CommandContext, name: string, place: Place): Promise<ReadState> {
  try {
    const { file, content, hash, brain, branch } = await client.call('brain_read', { name, ...place }, { signal });
    return { file, content, hash, place: { brain, branch } };
  } catch (error) {
    if (!(error instanceof RefusalError) || error.code !== 'E_FILE_ABSENT') throw error;
    const { current, branch } = await client.call('brain_current', {}, { signal });
    return {
      file: name,
      content: '',
      hash: 'none',
      place: {
        brain: place.brain ?? current,
        branch: place.branch ?? (place.brain === undefined ? branch : undefined),
      },
    };
  }
}

/** Whatever went wrong, the person's text is still there, and what is proposed means the place where it was read. */
function notWritten(error: unknown, { file, place }: ReadState, path: string): Problem {
  const { exit, message, advice } = explain(error);
  if (error instanceof RefusalError && error.code === 'E_CONFLICT') {
    const here = [shellWord(file), ...optionsFor(place)].join(' ');
    const text = shellWord(path);
    return new Problem(`Somebody wrote ${file} while you edited it; theirs is kept, and so is yours.`, exit, [
      `Your text: ${text}`,
      `Compare:   svc get ${here} | diff - ${text}`,
      `Then:      svc edit ${here}   or, to put yours in place of theirs:  svc set ${here} -f ${text}`,
    ]);
  }
  return new Problem(`${file} was not written: ${message}`, exit, [...advice, `Your text is in ${path}`]);
}
