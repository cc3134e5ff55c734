/** From the words of the person to an exit code. */
import { ANSWER_COMMAND, answerShell } from './shell-answer.ts';
import type { CommandContext } from './command.ts';
import { connect } from './connection.ts';
import { type ExitName, exitCode } from './exit-codes.ts';
import { explain } from './explain.ts';
import { type Chosen, createProgram, parseCommand } from './program.ts';
import type { Surroundings } from './surroundings.ts';
import { createTerminal, type Form, type Terminal } from './terminal.ts';
import { jsonLine } from './visible.ts';

/** Thrown into what runs when the person wants to end it. */
export class Interrupted extends Error {}

/** Resolves with the exit code. `signal` ends what runs. */
export async function runCli(surroundings: Surroundings, signal: AbortSignal): Promise<number> {
  if (surroundings.argv[0] === ANSWER_COMMAND) {
    await answerShell(surroundings);
    return exitCode('ok');
  }
  const plain = createTerminal(surroundings, 'auto');
  try {
    const chosen = await choose(surroundings, plain);
    if (chosen === null) return exitCode('ok');
    const terminal = createTerminal(surroundings, formOf(chosen));
    return await runChosen(surroundings, terminal, chosen, signal);
  } catch (error) {
    return exitCode(tell(plain, error, surroundings.argv.includes('--json')));
  }
}

/** Null when help was all that was wanted. */
async function choose(surroundings: Surroundings, terminal: Terminal): Promise<Chosen | null> {
  let chosen: Chosen | null = null;
  const program = createProgram({
    version: surroundings.version,
    columns: Math.min(terminal.columns, 110),
    hasColour: terminal.paint('bold', '') !== '',
    write: (text) => terminal.raw(text),
    choose: (what) => {
      chosen = what;
    },
  });
  const { argv } = surroundings;
  return (await parseCommand(program, argv.length === 0 ? ['--help'] : argv)) ? chosen : null;
}

function formOf({ input }: Chosen): Form {
  if (input.options['json'] !== undefined) return 'json';
  return input.options['text'] === true ? 'text' : 'auto';
}

async function runChosen(
  surroundings: Surroundings,
  terminal: Terminal,
  { declaration, input }: Chosen,
  signal: AbortSignal,
): Promise<number> {
  let code = exitCode('ok');
  try {
    const context: CommandContext = {
      surroundings,
      terminal,
      signal,
      get client() {
        return connect(surroundings.env, input.options);
      },
      async openPrompt() {
        const { openPrompt } = await import('./prompt.ts');
        code = await openPrompt(surroundings, runCli);
      },
    };
    await declaration.run(context, input);
    return code;
  } catch (error) {
    return exitCode(signal.aborted ? 'interrupted' : tell(terminal, error, formOf({ declaration, input }) === 'json'));
  }
}

function tell(terminal: Terminal, error: unknown, asJson: boolean): ExitName {
  const { exit, message, code, advice, data } = explain(error);
  if (asJson) terminal.note(jsonLine({ error: { exit, code, message, advice, data } }));
  else {
    const head = terminal.paintNote(['bold', 'red'], 'svc:');
    const named = code === null ? '' : ` ${terminal.paintNote('dim', `(${code})`)}`;
    terminal.note([`${head} ${message}${named}`, ...advice.map((line) => `  ${line}`)].join('\n'));
  }
  return exit;
}
