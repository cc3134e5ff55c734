/** An interactive prompt: every command of `svc`, and every tool by its bare name. */
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { COMMANDS } from './commands/all.ts';
import { complete } from './completion.ts';
import { connect } from './connection.ts';
import { openHistory } from './history.ts';
import { GROUPS } from './program.ts';
import type { Surroundings } from './surroundings.ts';
import { createTerminal } from './terminal.ts';
import { splitLine, wordsOf } from './words.ts';

type RunCommand = (surroundings: Surroundings, signal: AbortSignal) => Promise<number>;

const LEAVE = new Set(['exit', 'quit', '\\q']);
const GREETING = 'Type a command or a tool; Tab completes, help lists them, Ctrl-D leaves.';

/** Until the person leaves, or stdin ends. `run` runs one command. Resolves with the exit code of the last one. */
export async function openPrompt(surroundings: Surroundings, run: RunCommand): Promise<number> {
  const terminal = createTerminal(surroundings, 'auto');
  const isPerson = surroundings.stdin.isTTY === true && surroundings.stdout.isTTY === true;
  const history = await openHistory(surroundings);
  let running: AbortController | null = null;
  let code = 0;
  surroundings.onInterrupt(() => running?.abort(new Error('ended by Ctrl-C')));
  if (isPerson) terminal.note(terminal.paintNote('dim', GREETING));
  const lines = isPerson
    ? askedLines(surroundings, terminal.paint('cyan', 'svc> '), history.lines)
    : givenLines(surroundings);
  for await (const line of lines) {
    const words = wordsOf(line);
    const [first] = words;
    if (first === undefined) continue;
    if (LEAVE.has(first)) break;
    if (isPerson) await history.add(line);
    running = new AbortController();
    code = await run({ ...surroundings, argv: argvOf(words) }, running.signal);
    running = null;
  }
  return code;
}

const OWN = new Set([...COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''), ...Object.keys(GROUPS), 'help']);

/** A word that is no command is the name of a tool. */
export function argvOf(words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  if (first === 'svc') return words.slice(1);
  return OWN.has(first) || first.startsWith('-') ? words : ['call', ...words];
}

/** A readline for each line, so that a command has the terminal for itself. */
async function* askedLines(
  surroundings: Surroundings,
  prompt: string,
  history: readonly string[],
): AsyncGenerator<string> {
  const said = [...history];
  // A command that read what was typed may have come to its end, or was left while it waited for that.
  while (surroundings.stdin.readable) {
    const reader = createInterface({
      input: surroundings.stdin,
      output: surroundings.stdout,
      history: [...said],
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: completerFor(surroundings),
    });
    const line = await askLine(reader, prompt);
    reader.close();
    if (line === null) {
      surroundings.stdout.write('\n');
      return;
    }
    if (line.trim() !== '') said.unshift(line);
    yield line;
  }
}

/** Null at Ctrl-D. Ctrl-C begins the line anew. */
async function askLine(reader: Interface, prompt: string): Promise<string | null> {
  reader.setPrompt(prompt);
  reader.on('SIGINT', () => {
    reader.write(null, { ctrl: true, name: 'e' });
    reader.write(null, { ctrl: true, name: 'u' });
  });
  reader.prompt();
  const ended = new AbortController();
  const line = once(reader, 'line', { signal: ended.signal }).then(([text]) => String(text));
  const closed = once(reader, 'close', { signal: ended.signal }).then(() => null);
  try {
    return await Promise.race([line, closed]);
  } finally {
    ended.abort();
    await Promise.allSettled([line, closed]);
  }
}

async function* givenLines({ stdin }: Surroundings): AsyncGenerator<string> {
  yield* createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
}

type Answer = (error: null, result: [string[], string]) => void;

function completerFor({ env }: Surroundings): (line: string, answer: Answer) => void {
  return (line, answer) => {
    void completionsOf(line, env).then((values) => {
      const { current } = splitLine(line);
      answer(null, [values, current]);
    });
  };
}

async function completionsOf(line: string, env: Surroundings['env']): Promise<string[]> {
  const { words, current } = splitLine(line);
  const ask = (asked: readonly string[]) =>
    complete({ words: asked, current, client: (options) => connect(env, { ...options, timeout: '2' }) })
      .then(({ candidates }) => candidates.map(({ value }) => (value.endsWith('=') ? value : `${value} `)))
      .catch((): string[] => []); // a node that does not answer completes nothing
  if (words.length > 0) return ask(argvOf(words));
  return [...(await ask([])), ...(await ask(['call']))];
}
