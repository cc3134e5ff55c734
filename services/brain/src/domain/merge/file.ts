/** Three-way merge of one file's text, by the kind its name tells. */
import { mergeJson, parseJson } from './json.ts';
import { mergeLines, mergeOneSided, type TextMerge } from './lines.ts';
import { mergeMarkdown } from './markdown.ts';

export interface FileVersions {
  readonly path: string;
  /** Empty when the file had no common past. */
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** One side changed = that side. Where both changed the same place, ours stands and `clashes` is true. */
export function mergeFile({ path, base, ours, theirs }: FileVersions): TextMerge {
  const settled = mergeOneSided(base, ours, theirs);
  if (settled !== null) return settled;
  if (/\.json$/i.test(path)) {
    const merged = mergeJson(base, ours, theirs) ?? mergeLines(base, ours, theirs);
    const broken = parseJson(ours) !== undefined && parseJson(merged.text) === undefined;
    return broken ? { text: ours, clashes: true } : merged;
  }
  return /\.(?:md|markdown)$/i.test(path) ? mergeMarkdown(base, ours, theirs) : mergeLines(base, ours, theirs);
}
