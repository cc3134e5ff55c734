/** What was made of texts with hidden fields: whoever lists, reads or searches them asks for the same ones again and again. */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Told of a file whose hidden fields could not be told apart because the attempt threw, which is a bug. */
export type OnUnjudged = (path: string, error: unknown) => void;

/** UTF-16 units of all texts together. */
const REMEMBERED = 16 * 1024 * 1024;
/** Of an entry besides its text. */
const OVERHEAD = 200;

interface Judgement {
  /** Null = nothing of it is shown. */
  readonly text: string | null;
}

/** Shared by all chains of policies; their numbers tell the judgements apart. */
export class JudgedTexts {
  readonly #onUnjudged: OnUnjudged;
  readonly #known = new LRUCache<string, Judgement>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ text }) => (text?.length ?? 0) + OVERHEAD,
  });

  constructor(onUnjudged: OnUnjudged) {
    this.#onUnjudged = onUnjudged;
  }

  /** One file that cannot be judged is hidden, and spoils neither the list nor the index it is in. */
  judged(path: string, judge: () => string | null): string | null {
    try {
      return judge();
    } catch (error) {
      this.#onUnjudged(path, error);
      return null;
    }
  }

  /** As `judged`, or as it was judged before; `kind` tells what is made of the text. */
  remembered(kind: string, path: string, text: string, judge: () => string | null): string | null {
    const key = `${kind}\0${path}\0${hash('sha256', text)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known.text;
    const judgement = { text: this.judged(path, judge) };
    this.#known.set(key, judgement);
    return judgement.text;
  }
}
