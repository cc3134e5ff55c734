/** The passages of a text, and what each is known by among its vectors. */
import { hash } from 'node:crypto';
import type { RowChains } from '../ports.ts';
import type { AnalysedFile } from '../search/analysed-file.ts';

export interface PassageNames {
  /** Of each passage in order; null = it says nothing, so there is no vector of it. */
  readonly names: readonly (string | null)[];
  /** Of all of them together: texts of equal passages have equal ones. */
  readonly key: string;
}

const known = new WeakMap<AnalysedFile, PassageNames>();

/** Texts of one content hash may differ by what is hidden in them, so each is known by its own bytes. */
export function passageNames(analysed: AnalysedFile): PassageNames {
  const found = known.get(analysed);
  if (found !== undefined) return found;
  const names = Array.from({ length: analysed.rows }, (_, ordinal) => analysed.passageName(ordinal));
  const made = { names, key: hash('sha256', names.join(' ')) };
  known.set(analysed, made);
  return made;
}

/** Reads the text of which an analysis was made, which the caller holds; null when that is no longer there. */
export type TextOf = (analysed: AnalysedFile) => Promise<string | null>;

/** The text of a file as it is indexed under the rules, null when that is no longer what was analysed. */
export function analysedText(
  { file, analysed }: { readonly file: string; readonly analysed: AnalysedFile },
  chains: RowChains,
  text: string | null,
): string | null {
  const chain = chains.chainOf(file);
  const indexed = text !== null && chain.hides(file) ? chain.indexed(file, text) : text;
  return indexed !== null && analysed.holds(indexed) ? indexed : null;
}

/** Of the text that was analysed. */
export function passageText(analysed: AnalysedFile, text: string, ordinal: number): string {
  return text.slice(...analysed.span(ordinal));
}
