/** Texts as they are kept elsewhere, read when they are to be analysed. */
import { hash as digest } from 'node:crypto';
import { Slices } from '../thread/slices.ts';

export interface TextSource {
  /** What the file holds now; null when it is gone or no text. */
  text(path: string): Promise<string | null>;
}

export interface TextReading {
  readonly source: TextSource;
  /** A text could not be read. */
  onProblem(error: unknown): void;
}

export interface ReadText {
  readonly path: string;
  /** SHA-256 of the content. */
  readonly hash: string;
  readonly content: string;
}

/** A text that may be at hand, then with its hash. */
interface WantedText {
  readonly path: string;
  readonly hash: string | null;
  readonly text: string | null;
}

const READS_AT_ONCE = 16;
/** UTF-16 units of text in hand at once, about. */
const UNITS_AT_ONCE = 2 * 1024 * 1024;

interface TextsRead {
  readonly texts: ReadText[];
  /** How many of the wanted, from the first on, were looked at. */
  readonly count: number;
}

/**
 * The texts that can be had, as many as may be in hand at once. One that is no longer what was noted is taken as it is,
 * under its own hash: whoever changed it is noticed with the next look at the tree. So many are read in any case: `least`.
 */
export async function readTexts(reading: TextReading, wanted: readonly WantedText[], least = 0): Promise<TextsRead> {
  const texts: ReadText[] = [];
  const slices = new Slices();
  let [count, units] = [0, 0];
  while (count < wanted.length && (count < least || units < UNITS_AT_ONCE)) {
    const some = wanted.slice(count, count + READS_AT_ONCE);
    const contents = await Promise.all(some.map((one) => readText(reading, one)));
    for (const read of contents) {
      if (read === null) continue;
      texts.push(read);
      units += read.content.length;
    }
    count += some.length;
    if (slices.isOver) await slices.pause();
  }
  return { texts, count };
}

/** Null also when it cannot be read: one bad file spoils itself alone. */
async function readText(
  { source, onProblem }: TextReading,
  { path, hash, text }: WantedText,
): Promise<ReadText | null> {
  if (text !== null && hash !== null) return { path, hash, content: text };
  try {
    const content = await source.text(path);
    return content === null ? null : { path, hash: digest('sha256', content, 'hex'), content };
  } catch (error) {
    onProblem(error);
    return null;
  }
}
