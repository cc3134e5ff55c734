/** Under which headings passages stand, for an answer: each file is read once, however many of its passages are shown. */
import { readFrontMatter } from './front-matter.ts';
import { markdownSections, type Section } from './markdown-sections.ts';
import { formatOf } from './passages.ts';

export class HeadingPaths {
  readonly #sections = new Map<string, readonly Section[]>();

  /** Outermost first; none in files that are not Markdown, and in front matter. */
  of(file: string, content: string, at: number): readonly string[] {
    const sections = this.#sections.get(file) ?? sectionsOf(file, content);
    this.#sections.set(file, sections);
    return sectionAt(sections, at)?.headings ?? [];
  }
}

function sectionsOf(file: string, content: string): readonly Section[] {
  return formatOf(file) === 'markdown' ? markdownSections(content, readFrontMatter(content)?.next ?? 0) : [];
}

/** The last that does not begin behind it. */
function sectionAt(sections: readonly Section[], at: number): Section | undefined {
  let [low, high] = [0, sections.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sections[middle]?.headingStart ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return sections[low - 1];
}
