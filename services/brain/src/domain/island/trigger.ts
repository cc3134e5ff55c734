/** Words and phrases that call an island up. */

/** Trimmed, compatibility-composed, lower-cased, each once; in the order given. */
export function normalTriggers(triggers: readonly string[]): string[] {
  const normal = triggers.map((trigger) => lowered(trigger.trim()).trim());
  return [...new Set(normal.filter((trigger) => trigger !== ''))];
}

/** Tells of triggers, as `normalTriggers` gives them, those that `text` is or contains as whole words. */
export function triggerMatcher(text: string): (triggers: readonly string[]) => string[] {
  const words = spaced(lowered(text).trim());
  return (triggers) => triggers.filter((trigger) => containsWords(words, spaced(trigger)));
}

function lowered(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

function spaced(text: string): string {
  return text.replaceAll(/\s+/gu, ' ');
}

function containsWords(text: string, phrase: string): boolean {
  for (let at = text.indexOf(phrase); at !== -1; at = text.indexOf(phrase, at + 1)) {
    if (isBoundary(text, at) && isBoundary(text, at + phrase.length)) return true;
  }
  return false;
}

const WORD_CHARACTER = /[\p{L}\p{N}\p{M}_]/u;
/** Scripts that put no space between words: every place between two of their characters may be the end of one. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** A place in the text that is not inside a word. */
function isBoundary(text: string, at: number): boolean {
  const before = characterBefore(text, at);
  const after = at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '';
  if (!WORD_CHARACTER.test(before) || !WORD_CHARACTER.test(after)) return true;
  return UNSPACED.test(before) && UNSPACED.test(after);
}

function characterBefore(text: string, at: number): string {
  const low = text.charCodeAt(at - 1);
  const isPair = low >= 0xdc00 && low <= 0xdfff && at >= 2;
  return text.slice(isPair ? at - 2 : Math.max(0, at - 1), at);
}
