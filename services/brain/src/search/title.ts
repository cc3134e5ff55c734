/** What a file is called in lists: told by its text, without analysing the rest of it. */
import { describe, readFrontMatter } from './front-matter.ts';
import { firstHeading } from './markdown-sections.ts';
import { formatOf } from './passages.ts';
import { jsonBlocks } from './structured-blocks.ts';

/** The file's name without its extension. */
export function fileTitle(file: string): string {
  const name = file.slice(file.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(0, dot) : name;
}

/** The title in the front matter or the JSON object, else the first heading, else the file's name; as the index has it. */
export function titleOfText(file: string, text: string): string {
  return ownTitle(file, text) ?? fileTitle(file);
}

function ownTitle(file: string, text: string): string | null {
  const format = formatOf(file);
  if (format === 'json') return jsonTitle(text);
  if (format !== 'markdown') return null;
  const front = readFrontMatter(text);
  if (front !== null && front.described.title !== null) return front.described.title;
  const heading = firstHeading(text, front?.next ?? 0);
  return heading === '' ? null : heading;
}

function jsonTitle(text: string): string | null {
  try {
    const { title } = describe(JSON.parse(text));
    return title === null || jsonBlocks(text).length === 0 ? null : title;
  } catch {
    return null;
  }
}
