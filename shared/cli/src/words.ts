/** A line as a shell would take it apart: quotes and backslashes, nothing else. */

interface SplitLine {
  readonly words: readonly string[];
  /** The last word is not finished: the cursor stands at its end. '' = a new one begins. */
  readonly current: string;
}

const PIECE =
  /(?<gap>\s+)|'(?<plain>[^']*)'?|"(?<quoted>(?:[^"\\]|\\[\s\S]?)*)"?|\\(?<escaped>[\s\S]?)|(?<bare>[^\s'"\\]+)/g;

export function splitLine(line: string): SplitLine {
  const { words, open } = takeApart(line);
  return { words, current: open ?? '' };
}

/** All words of a finished line. */
export function wordsOf(line: string): readonly string[] {
  const { words, open } = takeApart(line);
  return open === null ? words : [...words, open];
}

/** `open`: the word at the end, null when none has begun. */
function takeApart(line: string): { words: readonly string[]; open: string | null } {
  const words: string[] = [];
  let open: string | null = null;
  for (const { groups = {} } of line.matchAll(PIECE)) {
    const { gap, plain, quoted, escaped, bare } = groups;
    const piece = plain ?? quoted?.replace(/\\([\s\S])/g, '$1') ?? escaped ?? bare ?? '';
    if (gap === undefined) open = (open ?? '') + piece;
    else if (open !== null) {
      words.push(open);
      open = null;
    }
  }
  return { words, open };
}
