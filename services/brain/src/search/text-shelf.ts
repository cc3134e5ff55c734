/** A few of the indexed texts, those used last; all others are where they are kept for good. */
import { LRUCache } from 'lru-cache';
import type { AnalysedFile } from './analysed-file.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const OVERHEAD_BYTES = 256;

/** Of all indexes of the process. Known by the analysis itself: equal hashes may stand for texts with other parts hidden. */
export const textShelf = new LRUCache<AnalysedFile, string>({
  maxSize: MAX_BYTES,
  sizeCalculation: (text) => (/[^\x00-\xff]/.test(text) ? 2 : 1) * text.length + OVERHEAD_BYTES,
});

/** A file whose text is to be shown. */
export interface ShownFile {
  readonly file: string;
  readonly analysed: AnalysedFile;
}

/**
 * The texts of one index, as far as they are at hand. Whoever asks for one that is not gets nothing, and has to ask for
 * everything again once the missing ones were lent.
 */
export class TextsAtHand {
  readonly #lent = new Map<AnalysedFile, string>();
  #missing = new Map<AnalysedFile, ShownFile>();

  textOf(shown: ShownFile): string {
    const text = this.#lent.get(shown.analysed) ?? textShelf.get(shown.analysed);
    if (text === undefined) this.#missing.set(shown.analysed, shown);
    return text ?? '';
  }

  get isMissing(): boolean {
    return this.#missing.size > 0;
  }

  /** Those asked for in vain since the last call. */
  takeMissing(): ShownFile[] {
    const missing = [...this.#missing.values()];
    this.#missing = new Map();
    return missing;
  }

  /** Until `endLoan` answers what was said with it, however long it is; false when the analysis was not made of that text. */
  lend({ analysed }: ShownFile, text: string): boolean {
    if (!analysed.holds(text)) return false;
    this.#lent.set(analysed, text);
    textShelf.set(analysed, text);
    return true;
  }

  endLoan<Answer>(answer: Answer): Answer {
    this.#lent.clear();
    return answer;
  }
}
