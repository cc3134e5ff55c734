import { describe, readFrontMatter, UNDESCRIBED } from './front-matter.ts';
import type { Described } from './front-matter.ts';
import { markdownSections } from './markdown-sections.ts';
import type { Section } from './markdown-sections.ts';
import { packSpans, paragraphSpans } from './passage-packing.ts';
import { countNewlines } from './sentences.ts';
import type { Span } from './sentences.ts';
import { jsonBlocks, yamlBlocks } from './structured-blocks.ts';
import type { Block } from './structured-blocks.ts';

export type TextFormat = 'markdown' | 'json' | 'yaml' | 'text';

interface Passage {
  /** Heading path, outermost first; the key for a passage of one JSON or YAML key. */
  readonly headings: readonly string[];
  /** First and last line, 1-based, inclusive. */
  readonly lines: readonly [from: number, to: number];
  /** Verbatim content.slice(start, end), at most 1,200 UTF-16 units. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface SplitFile {
  /** Front matter (or JSON) title, else first heading; null when the file names none and its name has to serve. */
  readonly title: string | null;
  /** Tags and triggers. */
  readonly tags: readonly string[];
  /** In order of the text; at least one, empty for an empty file. */
  readonly passages: readonly Passage[];
}

interface Unplaced {
  readonly headings: readonly string[];
  readonly span: Span;
}

/** The format is chosen by the file name's extension alone. */
export function formatOf(file: string): TextFormat {
  const name = file.toLowerCase();
  if (name.endsWith('.md') || name.endsWith('.markdown')) return 'markdown';
  if (name.endsWith('.json')) return 'json';
  return name.endsWith('.yaml') || name.endsWith('.yml') ? 'yaml' : 'text';
}

function place(content: string, found: readonly Unplaced[]): Passage[] {
  let line = 1;
  let at = 0;
  return found.map(({ headings, span: [start, end] }) => {
    const from = line + countNewlines(content, at, start);
    const to = from + countNewlines(content, start, end);
    [line, at] = [to, end];
    return { headings, lines: [from, to], text: content.slice(start, end), start, end };
  });
}

function plainPassages(content: string): Unplaced[] {
  return packSpans(content, paragraphSpans(content, 0, content.length)).map((span) => ({ headings: [], span }));
}

/** Small neighbours share a passage; a passage that lies within one block carries that block's key. */
function blockPassages(content: string, blocks: readonly Block[]): Unplaced[] {
  const spans = blocks.map((block) => block.span);
  let index = 0;
  return packSpans(content, spans).map((span) => {
    while ((blocks[index]?.span[1] ?? Infinity) <= span[0]) index += 1;
    const block = blocks[index];
    const isWithin = block !== undefined && block.span[0] <= span[0] && span[1] <= block.span[1];
    return { headings: isWithin && block.key !== null ? [block.key] : [], span };
  });
}

function sectionPassages(content: string, section: Section, next: Section | undefined): Unplaced[] {
  const spans = packSpans(content, paragraphSpans(content, section.start, section.end));
  const isLeaf = (next?.headings.length ?? 0) <= section.headings.length;
  // A heading without text is found through its children; without children it is its own text.
  const own = spans.length === 0 && isLeaf ? paragraphSpans(content, section.headingStart, section.start) : spans;
  return own.map((span) => ({ headings: section.headings, span }));
}

function splitMarkdown(content: string): Split {
  const front = readFrontMatter(content);
  const sections = markdownSections(content, front?.next ?? 0);
  const firstHeading = sections.find((section) => section.headings.length > 0)?.headings.at(-1) ?? null;
  const head = front === null ? [] : blockPassages(content, yamlBlocks(content, front.start, front.end));
  const found = [
    ...head,
    ...sections.flatMap((section, index) => sectionPassages(content, section, sections[index + 1])),
  ];
  const { title, tags } = front?.described ?? UNDESCRIBED;
  return { described: { title: title ?? (firstHeading === '' ? null : firstHeading), tags }, found };
}

function splitJson(content: string): Split | null {
  try {
    const described = describe(JSON.parse(content));
    const blocks = jsonBlocks(content);
    return blocks.length === 0 ? null : { described, found: blockPassages(content, blocks) };
  } catch {
    return null;
  }
}

function splitYaml(content: string): Split | null {
  const blocks = yamlBlocks(content, 0, content.length);
  return blocks.length === 0 ? null : { described: UNDESCRIBED, found: blockPassages(content, blocks) };
}

/**
 * What names a passage (its headings, the title and tags of its file) is indexed with each passage, so a file of many
 * headings over little text would cost hundreds of times its size. Labels of all passages together, in UTF-16 units:
 * twice the text and a little.
 */
const LABEL_SHARE = 2;
const LABELS_OF_A_SMALL_FILE = 1_024;
/** A passage costs as much as so many units of labels, whatever it is called. */
const UNITS_PER_PASSAGE = 32;

interface Split {
  readonly described: Described;
  readonly found: readonly Unplaced[];
}

/** A file that would cost too much is split as plain text, its headings being text like the rest; tags that fit stay. */
function withinLabels(content: string, { described, found }: Split): Split {
  const room = content.length * LABEL_SHARE + LABELS_OF_A_SMALL_FILE;
  const eachPassage = UNITS_PER_PASSAGE + (described.title?.length ?? 0);
  const headingUnits = found.reduce(
    (sum, { headings }) => headings.reduce((part, { length }) => part + length, sum),
    0,
  );
  const isTooMuch = headingUnits + found.length * eachPassage > room;
  const kept = isTooMuch ? plainPassages(content) : found;
  const left = room - (isTooMuch ? 0 : headingUnits) - kept.length * eachPassage;
  let tagRoom = left / Math.max(kept.length, 1);
  const tags = described.tags.filter(({ length }) => (tagRoom -= length) >= 0);
  return { described: { title: described.title, tags }, found: kept };
}

/** Splits a file's text into passages; malformed structure falls back to plain text. Never throws. */
export function splitFile(format: TextFormat, content: string): SplitFile {
  const structured =
    (format === 'markdown' && splitMarkdown(content)) ||
    (format === 'json' && splitJson(content)) ||
    (format === 'yaml' && splitYaml(content)) ||
    null;
  const { described, found } = withinLabels(
    content,
    structured ?? { described: UNDESCRIBED, found: plainPassages(content) },
  );
  const passages = place(content, found);
  if (passages.length === 0) passages.push({ headings: [], lines: [1, 1], text: '', start: 0, end: 0 });
  return { ...described, passages };
}
