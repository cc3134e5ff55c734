/** What a command shows: rows or one object, as JSON lines or as text. */
import type { Terminal } from './terminal.ts';
import { type Column, table } from './table.ts';

export function showRows<Row extends object>(
  terminal: Terminal,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  /** Said to a person when there are none. */
  none: string,
): void {
  if (terminal.isJson) for (const row of rows) terminal.json(row);
  else if (rows.length === 0) terminal.note(terminal.paintNote('dim', none));
  else terminal.print(table(terminal, columns, rows));
}

export function showObject(terminal: Terminal, value: object, text: () => string): void {
  if (terminal.isJson) terminal.json(value);
  else terminal.print(text());
}

/** With a note on stderr while it takes long. */
export async function during<Value>(terminal: Terminal, what: string, work: Promise<Value>): Promise<Value> {
  const progress = terminal.progress(what);
  try {
    return await work;
  } finally {
    progress.end();
  }
}
