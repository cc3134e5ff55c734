/** What a file may be called: any text that every file system, git and a shell can carry. */
import { foldCase, isAscii } from './fold-case.ts';

export const MAX_PATH_DEPTH = 8;
const MAX_PATH_BYTES = 512;
const MAX_SEGMENT_CHARACTERS = 100;
export const MAX_SEGMENT_BYTES = 200;

/** Why a path is no legal one. */
export interface PathProblem {
  /** The segment at fault; null when it is the path as a whole. */
  readonly segment: string | null;
  /** The character at fault; null when there is none. */
  readonly character: string | null;
  /** Completes "The path …"; safe to show, because what cannot be seen is written as its code point. */
  readonly reason: string;
}

const PLAIN = /^[A-Za-z0-9_](?:[A-Za-z0-9 _.-]{0,98}[A-Za-z0-9_-])?$/;

/**
 * Controls, separators of lines, lone surrogates, non-characters and U+FFFD, which stands for bytes that are no text;
 * what Windows refuses, also as the private characters that stand for it on network drives.
 */
const FORBIDDEN =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u{FFFD}\u{FFF9}-\u{FFFB}\u{F001}-\u{F07F}/\\:*?"<>|]/u;
/**
 * Formats that nobody sees, or that turn the direction of what stands beside them: text could hide in them. The joiners
 * that words and emoji are made with are none of them, and tags are none in a flag.
 */
const INVISIBLE =
  /(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]{0,15})[\u{E0020}-\u{E007F}]|[[\p{Cf}&&\p{Default_Ignorable_Code_Point}]--[\u{180E}\u{200C}-\u{200D}\u{E0020}-\u{E007F}]]/v;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;

const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)\s*(?:\.|$)/;
/** The short names that NTFS gives to `.git`, `.gitmodules` and their like. */
const GIT_SHORT_NAME = /^(?:git(?:mod|ign|att)?|gi[0-9a-f]{1,4})~[0-9]/;

/** The name under which a path is known: that of its composed form (NFC). */
export function normalPath(path: string): string {
  // What is far too long is refused anyway, and composing a long run of marks takes the square of its length.
  return path.length > 4 * MAX_PATH_BYTES || isAscii(path) ? path : path.normalize('NFC');
}

/** Why `path`, in its normal form, is no legal path of a file, as what completes "The path …"; null when it is one. */
export function filePathProblem(path: string): string | null {
  return explainFilePath(path)?.reason ?? null;
}

/** The same with the parts at fault. */
export function explainFilePath(path: string): PathProblem | null {
  if (path === '') return ofPath('is empty');
  const bytes = Buffer.byteLength(path);
  const segments = path.split('/', MAX_PATH_DEPTH + 1);
  if (segments.length > MAX_PATH_DEPTH) return ofPath(`is deeper than ${MAX_PATH_DEPTH} segments`);
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== null) return problem;
  }
  return bytes > MAX_PATH_BYTES ? ofPath(`has ${bytes} bytes; at most ${MAX_PATH_BYTES} are possible`) : null;
}

/** Whether text could hide in it: see `INVISIBLE`. */
export function hasInvisible(text: string): boolean {
  return INVISIBLE.test(text);
}

export function isFilePath(path: string): boolean {
  return filePathProblem(path) === null;
}

function segmentProblem(segment: string): PathProblem | null {
  if (PLAIN.test(segment) && !WINDOWS_DEVICE.test(segment.toLowerCase())) return null;
  if (segment === '') return { segment, character: null, reason: 'has an empty segment' };
  return lengthProblem(segment) ?? characterProblem(segment) ?? edgeProblem(segment) ?? nameProblem(segment);
}

function lengthProblem(segment: string): PathProblem | null {
  const bytes = Buffer.byteLength(segment);
  const isShort = segment.length <= 2 * MAX_SEGMENT_CHARACTERS;
  const characters = isShort ? Array.from(segment).length : segment.length;
  if (characters > MAX_SEGMENT_CHARACTERS)
    return ofSegment(segment, `is longer than ${MAX_SEGMENT_CHARACTERS} characters`);
  if (bytes > MAX_SEGMENT_BYTES)
    return ofSegment(segment, `has ${bytes} bytes as UTF-8; at most ${MAX_SEGMENT_BYTES} are possible`);
  return null;
}

function characterProblem(segment: string): PathProblem | null {
  const [forbidden] = FORBIDDEN.exec(segment) ?? [];
  if (forbidden !== undefined)
    return ofSegment(segment, `has ${named(forbidden)}; no file name may have that`, forbidden);
  const [invisible] = INVISIBLE.exec(segment) ?? [];
  if (invisible !== undefined)
    return ofSegment(segment, `has ${named(invisible)}; no file name may have that invisible character`, invisible);
  if (segment.normalize('NFC') !== segment) return ofSegment(segment, 'is not in its composed form (NFC)');
  return null;
}

/** Judged without what file systems ignore, too: to HFS+ a joiner before a dot is not there. */
function edgeProblem(segment: string): PathProblem | null {
  const visible = segment.replace(IGNORABLE, '');
  if (visible === '') {
    const unseen = characterAt(segment, 0);
    return ofSegment(segment, `has nothing but invisible characters, such as ${named(unseen)}`, unseen);
  }
  for (const text of [segment, visible]) {
    const first = characterAt(text, 0);
    if (/^(?:[.-]|\p{White_Space})/u.test(text))
      return ofSegment(segment, `starts with ${named(first)}; no file name starts with a dot, dash or space`, first);
    const last = characterAt(text, -1);
    if (/[.\p{White_Space}]$/u.test(text))
      return ofSegment(segment, `ends with ${named(last)}; no file name ends with a dot or space`, last);
  }
  return null;
}

function nameProblem(segment: string): PathProblem | null {
  const folded = foldCase(segment);
  if (WINDOWS_DEVICE.test(folded)) return ofSegment(segment, 'is the name of a device on Windows');
  if (GIT_SHORT_NAME.test(folded))
    return ofSegment(segment, `has ${named('~')} where it makes a short name that NTFS gives to files of git`, '~');
  const first = characterAt(segment, 0);
  if (folded.startsWith('.git')) return ofSegment(segment, `starts with ${named(first)} and so passes for .git`, first);
  return null;
}

function ofPath(reason: string): PathProblem {
  return { segment: null, character: null, reason };
}

/** `problem` completes "which …". */
function ofSegment(segment: string, problem: string, character: string | null = null): PathProblem {
  return {
    segment: cut(segment).toWellFormed(),
    character: character?.toWellFormed() ?? null,
    reason: `has the segment ${shown(segment)}, which ${problem}`,
  };
}

function characterAt(text: string, at: number): string {
  return Array.from(at === 0 ? text.slice(0, 2) : text.slice(-2)).at(at) ?? '';
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}"\\]|(?! )\p{White_Space}/u;

/** `"?" (U+003F)`, and the code point alone of what cannot be seen. */
function named(character: string): string {
  const point = `U+${codePoint(character).padStart(4, '0')}`;
  return UNSEEN.test(character) && !/["\\]/.test(character) ? point : `${JSON.stringify(character)} (${point})`;
}

function shown(text: string): string {
  return `"${cut(text).replaceAll(new RegExp(UNSEEN, 'gu'), escaped)}"`;
}

function escaped(character: string): string {
  return character === '"' || character === '\\' ? `\\${character}` : `\\u{${codePoint(character)}}`;
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
}

function cut(text: string): string {
  const start = Array.from(text.slice(0, 2 * MAX_SEGMENT_CHARACTERS + 2)).slice(0, MAX_SEGMENT_CHARACTERS);
  return start.join('').length < text.length ? `${start.join('')}…` : text;
}
