/** The unified format of a difference, as `git diff` prints it and `git apply` reads it. */
import { type LineEdit, lineEdits, linesOf } from './line-edits.ts';

interface TextDifference {
  readonly added: number;
  readonly removed: number;
  /** Hunks as far as they fit; empty when the texts are equal. */
  readonly patch: string;
  /** There are hunks that did not fit. */
  readonly truncated: boolean;
}

/** Lines around a change that are shown with it. */
const CONTEXT = 3;

/** `null` = there is no file on that side. `maxBytes` of the patch, which ends where a hunk does. */
export function textDifference(
  path: string,
  before: string | null,
  after: string | null,
  maxBytes: number,
): TextDifference {
  const [old, now] = [linesOf(before ?? ''), linesOf(after ?? '')];
  const edits = lineEdits(old, now);
  const added = edits.reduce((sum, edit) => sum + edit.added, 0);
  const removed = edits.reduce((sum, edit) => sum + edit.removed, 0);
  const parts = [header('---', 'a', path, before) + header('+++', 'b', path, after)];
  let bytes = Buffer.byteLength(parts[0] ?? '');
  for (const group of groupsOf(edits)) {
    const room = maxBytes - bytes;
    const hunk = linesOfGroup(group) > room ? null : hunkOf(group, old, now);
    if (hunk === null || Buffer.byteLength(hunk) > room)
      return { added, removed, patch: parts.length === 1 ? '' : parts.join(''), truncated: true };
    bytes += Buffer.byteLength(hunk);
    parts.push(hunk);
  }
  return { added, removed, patch: edits.length === 0 ? '' : parts.join(''), truncated: false };
}

/** One side of a file that is there. */
interface DiffedFile {
  readonly mode: string;
  readonly text: string;
}

/** Of a file that is one to git when nobody says otherwise. */
export const REGULAR_MODE = '100644';

/** What stands above the hunks where they cannot say all: of another mode, and of an empty file that came or went. */
export function modeHeader(path: string, before: DiffedFile | null, after: DiffedFile | null): string {
  if (before === null && after === null) return '';
  const first = `diff --git a/${path} b/${path}\n`;
  if (before !== null && after !== null)
    return before.mode === after.mode ? '' : `${first}old mode ${before.mode}\nnew mode ${after.mode}\n`;
  const { mode, text } = before ?? after ?? { mode: REGULAR_MODE, text: '' };
  if (mode === REGULAR_MODE && text !== '') return '';
  return `${first}${before === null ? 'new' : 'deleted'} file mode ${mode}\n`;
}

/** A name with blanks ends in a tab, or `patch` would cut it there. */
function header(mark: string, side: string, path: string, text: string | null): string {
  if (text === null) return `${mark} /dev/null\n`;
  return `${mark} ${side}/${path}${/\s/.test(path) ? '\t' : ''}\n`;
}

/** Edits whose surroundings touch stand in one hunk. */
function groupsOf(edits: readonly LineEdit[]): LineEdit[][] {
  const groups: LineEdit[][] = [];
  let last: LineEdit | undefined;
  for (const edit of edits) {
    const group = groups.at(-1);
    if (group !== undefined && last !== undefined && edit.from - (last.from + last.removed) <= 2 * CONTEXT)
      group.push(edit);
    else groups.push([edit]);
    last = edit;
  }
  return groups;
}

/** At least as many bytes as the hunk has lines. */
function linesOfGroup(group: readonly LineEdit[]): number {
  return group.reduce((sum, { removed, added }) => sum + removed + added, 0);
}

function hunkOf(group: readonly LineEdit[], old: readonly string[], now: readonly string[]): string {
  const [first] = group;
  const last = group.at(-1);
  if (first === undefined || last === undefined) return '';
  const from = Math.max(0, first.from - CONTEXT);
  const to = first.to - (first.from - from);
  const fromEnd = Math.min(old.length, last.from + last.removed + CONTEXT);
  const toEnd = last.to + last.added + (fromEnd - last.from - last.removed);
  const lines = [`@@ -${range(from, fromEnd)} +${range(to, toEnd)} @@\n`];
  let place = from;
  for (const edit of group) {
    for (; place < edit.from; place += 1) lines.push(shown(' ', old[place]));
    for (let index = 0; index < edit.removed; index += 1) lines.push(shown('-', old[edit.from + index]));
    for (let index = 0; index < edit.added; index += 1) lines.push(shown('+', now[edit.to + index]));
    place = edit.from + edit.removed;
  }
  for (; place < fromEnd; place += 1) lines.push(shown(' ', old[place]));
  return lines.join('');
}

/** An empty range names the line before it. */
function range(start: number, end: number): string {
  const length = end - start;
  const first = length === 0 ? start : start + 1;
  return length === 1 ? `${first}` : `${first},${length}`;
}

function shown(mark: string, line = ''): string {
  return line.endsWith('\n') ? `${mark}${line}` : `${mark}${line}\n\\ No newline at end of file\n`;
}
