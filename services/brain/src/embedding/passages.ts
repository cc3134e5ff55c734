/** The passages of a text, and what each is known by among its vectors. */
import { hash } from 'node:crypto';
import { type AnalysedFile, END, ROW_STRIDE, START } from '../search/analysis-cache.ts';

export interface PassageNames {
  /** Of each passage in order; null = it says nothing, so there is no vector of it. */
  readonly names: readonly (string | null)[];
  /** Of all of them together: texts of equal passages have equal ones. */
  readonly key: string;
}

const NAME_LENGTH = 32;
const known = new WeakMap<AnalysedFile, PassageNames>();

/** Texts of one content hash may differ by what is hidden in them, so each is known by its own bytes. */
export function passageNames(analysed: AnalysedFile): PassageNames {
  const found = known.get(analysed);
  if (found !== undefined) return found;
  const names = Array.from({ length: analysed.rows }, (_, ordinal) => {
    const text = passageText(analysed, ordinal);
    return text.trim() === '' ? null : hash('sha256', text).slice(0, NAME_LENGTH);
  });
  const made = { names, key: hash('sha256', names.join(' ')) };
  known.set(analysed, made);
  return made;
}

export function passageText({ text, layout }: AnalysedFile, ordinal: number): string {
  const at = ordinal * ROW_STRIDE;
  return text.toString('utf8', layout[at + START], layout[at + END]);
}
