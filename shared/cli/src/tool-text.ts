/** A tool as a page of help. */
import { wrapAnsi } from 'fast-wrap-ansi';
import type { DescribedTool } from './commands/tools.ts';
import { shellWord } from './shell-word.ts';
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';
import { choicesOf, type Schema, writtenValue } from './tool-arguments.ts';
import { visible } from './visible.ts';

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly meaning: string;
}

export function toolText(terminal: Terminal, tool: DescribedTool): string {
  const { name, description, inputSchema, outputSchema, access, effect, refusals, example, annotations } = tool;
  const facts = [
    `access ${access}`,
    `effect ${effect}`,
    ...(annotations['destructiveHint'] === true ? ['destructive'] : []),
  ];
  const args = argumentsOf(inputSchema);
  const results = argumentsOf(outputSchema);
  const heading = (text: string): string => terminal.paint('bold', text);
  const blocks = [
    `${terminal.paint(['bold', 'cyan'], name)}\n${visible(description)}\n${terminal.paint('dim', facts.join(' · '))}`,
    args.length === 0 ? 'No arguments.' : `${heading('Arguments')}\n${argumentTable(terminal, args, true)}`,
    results.length === 0 ? '' : `${heading('Result')}\n${argumentTable(terminal, results, false)}`,
    refusals.length === 0 ? '' : `${heading('May refuse with')}\n${wrapped(terminal, refusals.join(', '))}`,
    example === null ? '' : `${heading('Example')}\n${exampleText(name, example)}`,
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

/** Between words. */
function wrapped({ columns }: Terminal, text: string): string {
  return Number.isFinite(columns) ? wrapAnsi(text, columns) : text;
}

function argumentTable(terminal: Terminal, args: readonly Argument[], showsNeed: boolean): string {
  return table(
    terminal,
    [
      {
        title: 'NAME',
        value: ({ name }) => name,
        paint: ({ isRequired }) => (isRequired && showsNeed ? 'bold' : null),
      },
      { title: 'TYPE', value: ({ type }) => type, paint: () => 'dim' },
      { title: 'NEEDED', value: ({ isRequired }) => (showsNeed && isRequired ? 'yes' : '') },
      { title: 'MEANING', value: ({ meaning }) => meaning },
    ],
    args,
  );
}

export function argumentsOf(schema: Schema): Argument[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, Schema>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: typeOf(property),
    isRequired: required.includes(name),
    meaning: typeof property['description'] === 'string' ? property['description'] : '',
  }));
}

function typeOf(schema: Schema): string {
  const choices = choicesOf(schema);
  if (choices !== null) return choices.map(String).join(' | ');
  const union = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(union)) return union.map((one: Schema) => typeOf(one)).join(' | ');
  const { type, items } = schema;
  if (type === 'array') return `${typeof items === 'object' && items !== null ? typeOf(items as Schema) : 'any'}[]`;
  if (Array.isArray(type)) return type.join(' | ');
  return typeof type === 'string' ? type : 'any';
}

function exampleText(name: string, example: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(example).map(([key, value]) => {
    const { kind, text } = writtenValue(value);
    return `${key}${kind}${shellWord(text)}`;
  });
  return ['svc call', name, ...words].join(' ');
}
