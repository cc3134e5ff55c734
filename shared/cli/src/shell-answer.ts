import { connect } from './connection.ts';
import { complete } from './completion.ts';
import type { Surroundings } from './surroundings.ts';
import { oneLine } from './visible.ts';
import { splitLine } from './words.ts';

/** What the scripts call; not for people. */
export const ANSWER_COMMAND = '__complete';

/** Somebody waits with a finger on the key. */
const WITHIN_MS = 2000;

interface CompletionCall extends Pick<Surroundings, 'argv' | 'env'> {
  readonly stdout: Pick<Surroundings['stdout'], 'write'>;
}

/** `--line <text up to the cursor> [--breaks <characters>]`, or `-- <words...> <unfinished word>`. Says nothing when it cannot. */
export async function answerShell({ argv, env, stdout }: CompletionCall): Promise<void> {
  const { words, current, breaks } = questionOf(argv.slice(1));
  const late = AbortSignal.timeout(WITHIN_MS);
  const asked = complete({ words, current, client: (options) => connect(env, { ...options, timeout: '2' }, late) });
  const nothing = new Promise<null>((resolve) => late.addEventListener('abort', () => resolve(null)));
  const answer = await Promise.race([asked, nothing]).catch(() => null); // a prompt is no place for complaints
  if (answer === null) return;
  const cut = cutOf(current, breaks);
  const lines = answer.candidates.map(({ value, meaning }) => `${oneLine(value.slice(cut))}\t${oneLine(meaning)}\n`);
  stdout.write(`${lines.join('')}${answer.files ? ':files\n' : ''}`);
}

function questionOf(args: readonly string[]): { words: readonly string[]; current: string; breaks: string } {
  const valueOf = (name: string): string | undefined =>
    args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
  const line = valueOf('--line');
  if (line === undefined) {
    const given = args.slice(args.indexOf('--') + 1);
    return { words: given.slice(0, -1), current: given.at(-1) ?? '', breaks: '' };
  }
  const { words, current } = splitLine(line);
  return { words: words.slice(1), current, breaks: valueOf('--breaks') ?? '' };
}

/** How much of the word the shell has left behind already: it breaks words where it likes. */
function cutOf(current: string, breaks: string): number {
  return Math.max(...current.split('').map((char, at) => (breaks.includes(char) ? at + 1 : 0)), 0);
}
