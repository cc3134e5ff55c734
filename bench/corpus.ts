/** Made-up Markdown with the word frequencies of real text, the same in every run. */

const VOCABULARY = 20_000;
const SYLLABLES = [
  'ka',
  'lo',
  'mi',
  'ter',
  'ran',
  'du',
  'sel',
  'vo',
  'pin',
  'gar',
  'he',
  'zu',
  'bri',
  'con',
  'tal',
  'we',
];
const SECTIONS = 3;
const SENTENCES = 5;
const WORDS = 14;

/** A small fast generator (mulberry32): numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The word of a rank; low ranks are frequent. */
function word(rank: number): string {
  let text = '';
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    text += SYLLABLES[rest % SYLLABLES.length];
  }
  return text;
}

/** The most frequent first. */
export function commonWords(count: number): string[] {
  return Array.from({ length: count }, (_, rank) => word(rank));
}

/** Zipf's law: the logarithm of the rank is spread evenly. */
function drawWord(random: () => number): string {
  return word(Math.floor(VOCABULARY ** random()) - 1);
}

export function words(random: () => number, count: number): string {
  return Array.from({ length: count }, () => drawWord(random)).join(' ');
}

/** About 1.6 KB: a title and three sections. */
export function markdownFile(index: number): string {
  const random = seeded(index + 1);
  const sections = Array.from({ length: SECTIONS }, () => {
    const sentences = Array.from({ length: SENTENCES }, () => `${words(random, WORDS)}.`);
    return `## ${words(random, 3)}\n\n${sentences.join(' ')}\n`;
  });
  return `# ${words(random, 4)} ${index}\n\n${sections.join('\n')}`;
}

/** Queries of two to four words. */
export function queries(count: number): string[] {
  const random = seeded(987_654_321);
  return Array.from({ length: count }, () => words(random, 2 + Math.floor(random() * 3)));
}
