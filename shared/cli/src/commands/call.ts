/** Any tool by its name. */
import {
  type CommandContext,
  type CommandDeclaration,
  type CommandInput,
  manyArguments,
  textArgument,
  textOption,
} from '../command.ts';
import { readJson } from '../json-text.ts';
import { during, showObject } from '../output.ts';
import { UsageProblem } from '../problems.ts';
import { resultText } from '../result-text.ts';
import { readSource } from '../sources.ts';
import { toolArguments } from '../tool-arguments.ts';
import { describeTool } from './tools.ts';

export const callCommand: CommandDeclaration = {
  name: 'call',
  summary: 'Calls a tool.',
  notes: [
    'key=value is read as the tool wants it: text, number, true/false, one of its choices, an element of a list.',
    'key=@file reads a file, key=@- stdin, key=@@text begins with @; key:=json takes JSON; a key twice makes a list.',
  ],
  args: [
    { form: '<tool>', meaning: 'Name of the tool.', completes: 'tool' },
    { form: '[arguments...]', meaning: 'key=value', completes: 'tool-argument' },
  ],
  options: [
    {
      form: '--json [object]',
      meaning: 'All arguments as JSON (@file, - for stdin); without: JSON lines as output.',
      takes: /^\s*\{|^@|^-$/,
    },
    { form: '--idempotency-key <key>', meaning: 'Repeats an earlier change instead of making another.' },
  ],
  examples: [
    'svc call brain_write name=notes/tides content="High water at six."',
    'svc call svc_search query=tides limit=3',
    `svc call svc_search --json '{"query":"tides"}'`,
    'svc call brain_write name=notes/log content=@log.md',
  ],
  async run(context, input) {
    const { client, terminal, signal } = context;
    const { tool, args } = await wantedCall(context, input);
    const options = { signal, idempotencyKey: keyOption(input) };
    const result = await during(terminal, tool, client.callNamed(tool, args, options));
    showObject(terminal, Object(result) as object, () => resultText(terminal, result));
  },
};

/** Throws UsageProblem for what no request can carry; the rest the service judges. */
function keyOption(input: CommandInput): string | undefined {
  const key = textOption(input, 'idempotencyKey');
  if (key === undefined || /^[\u0020-\u007e]*$/.test(key)) return key;
  throw new UsageProblem('--idempotency-key: must be visible ASCII characters.');
}

interface WantedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

async function wantedCall(context: CommandContext, input: CommandInput): Promise<WantedCall> {
  const tool = textArgument(input, 0) ?? '';
  const read = (source: string): Promise<string> => readSource(context.surroundings, source, context.signal);
  const words = manyArguments(input, 1);
  const json = textOption(input, 'json');
  if (json !== undefined && words.length > 0)
    throw new UsageProblem('Arguments are given as key=value or as JSON, not as both.');
  if (json !== undefined) return { tool, args: await objectOf(json, read) };
  if (words.length === 0) return { tool, args: {} };
  const { inputSchema } = await describeTool(context, tool);
  return { tool, args: await toolArguments(inputSchema, words, read) };
}

async function objectOf(json: string, read: (source: string) => Promise<string>): Promise<Record<string, unknown>> {
  const text = json.startsWith('@') || json === '-' ? await read(json.replace(/^@/, '')) : json;
  try {
    const value: unknown = readJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw new UsageProblem(`--json: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new UsageProblem('--json: the arguments of a tool are an object.');
}
