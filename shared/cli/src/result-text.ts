/** The result of any tool for a person: facts one below the other, lists as tables. */
import { moment } from './moments.ts';
import type { Terminal } from './terminal.ts';
import { table } from './table.ts';
import { oneLine, visible } from './visible.ts';

type Fields = Readonly<Record<string, unknown>>;

const MAX_COLUMNS = 7;

export function resultText(terminal: Terminal, result: unknown): string {
  if (!isFields(result)) return typeof result === 'string' ? visible(result) : cell('', result);
  const entries = Object.entries(result);
  const lists = entries.filter((entry): entry is [string, Fields[]] => isRows(entry[1]));
  const texts = entries.filter((entry): entry is [string, string] => isLong(entry[1]));
  const facts = entries.filter(([, value]) => !isRows(value) && !isLong(value));
  const blocks = [
    factsText(terminal, facts),
    ...lists.map(([name, rows]) => `${terminal.paint('bold', name)}\n${rowsText(terminal, rows)}`),
    ...texts.map(([name, text]) => `${terminal.paint('bold', name)}\n${visible(text).trimEnd()}`),
  ];
  return blocks.filter((block) => block !== '').join('\n\n') || terminal.paint('dim', 'nothing');
}

/** Names right of which the values begin in one column. */
export function factsText(terminal: Terminal, facts: readonly (readonly [string, unknown])[]): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length));
  return facts
    .map(([name, value]) => `${terminal.paint('dim', oneLine(name).padEnd(width))}  ${cell(name, value)}`.trimEnd())
    .join('\n');
}

function rowsText(terminal: Terminal, rows: readonly Fields[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  const columns = names.map((name) => ({
    title: name,
    value: (row: Fields) => (row[name] === undefined ? '' : cell(name, row[name])),
    ...(rows.every((row) => typeof row[name] === 'number') && !isMoment(name) ? { isNumber: true as const } : {}),
  }));
  return table(terminal, columns, rows);
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'number' && isMoment(name) && value > 0) return moment(value);
  if (typeof value === 'string') return oneLine(value);
  if (Array.isArray(value) && value.length === 0) return '-';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return oneLine(value.join(', '));
  return oneLine(JSON.stringify(value));
}

function isMoment(name: string): boolean {
  return name === 'at' || name === 'timestamp' || /[a-z]At$/.test(name);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRows(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.length > 0 && value.every(isFields);
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.trimEnd().includes('\n');
}
