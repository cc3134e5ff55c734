/** Rows as columns that fit the terminal. */
import Table from 'cli-table3';
import stringWidth from 'fast-string-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import type { Terminal } from './terminal.ts';
import { oneLine } from './visible.ts';

export interface Column<Row> {
  readonly title: string;
  /** Text of others; it is made harmless here. */
  value(row: Row): string;
  readonly paint?: (row: Row) => Parameters<Terminal['paint']>[0] | null;
  readonly isNumber?: true;
}

const GAP = 2;
const LEAST = 12;

/** The widest column gives way where the lines would be longer than the terminal: its text is wrapped. */
export function table<Row>(terminal: Terminal, columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.value(row))));
  const shown = columns.map((_, at) => at).filter((at) => cells.some((row) => row[at] !== ''));
  const widths = fitted(
    shown.map((at) => Math.max(...[columns[at]?.title ?? '', ...cells.map((row) => row[at] ?? '')].map(cellsOf))),
    terminal.columns,
  );
  const drawn = new Table({
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP, compact: true },
    colAligns: shown.map((at) => (columns[at]?.isNumber === true ? 'right' : 'left')),
  });
  drawn.push(shown.map((at) => terminal.paint('dim', columns[at]?.title ?? '')));
  for (const [index, row] of rows.entries()) {
    drawn.push(
      shown.map((at, place) => {
        const style = columns[at]?.paint?.(row) ?? null;
        const lines = wrapAnsi(cells[index]?.[at] ?? '', widths[place] ?? LEAST, { hard: true }).split('\n');
        return lines.map((line) => (style === null ? line : terminal.paint(style, line))).join('\n');
      }),
    );
  }
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function cellsOf(text: string): number {
  return stringWidth(text);
}

/** Widths that together take no more than `room`; columns give way from the widest on, none below LEAST. */
function fitted(widths: readonly number[], room: number): number[] {
  const fit = [...widths];
  let excess = fit.reduce((sum, width) => sum + width + GAP, -GAP) - room;
  while (excess > 0) {
    const widest = fit.indexOf(Math.max(...fit));
    const width = fit[widest] ?? 0;
    const next = Math.max(...fit.filter((_, at) => at !== widest), LEAST);
    const less = Math.min(excess, Math.max(1, width - next));
    if (width - less < LEAST) break;
    fit[widest] = width - less;
    excess -= less;
  }
  return fit;
}

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
