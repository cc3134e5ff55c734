/** Texts that cost a search index little or much: what people write, and the worst that somebody may store. */

export interface Corpus {
  readonly name: string;
  readonly isProse: boolean;
  /** Path and content of so many files, all different. */
  file(number: number): { readonly path: string; readonly content: string };
}

const PARAGRAPH_WORDS = 60;
const VOCABULARY = 20_000;
const LETTERS = 'etaoinshrdlu';

/** Not random, so that the figures are the same each time: the sequence of a linear congruential generator. */
function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function wordOf(number: number): string {
  let word = '';
  for (let rest = number + 7; rest > 0; rest = Math.floor(rest / LETTERS.length))
    word += LETTERS[rest % LETTERS.length];
  return word;
}

/** Words as rare as those of a language: few make most of a text. */
function prose(seed: number, size: number): string {
  const next = sequence(seed);
  const word = (): string => wordOf(Math.floor(VOCABULARY * next() ** 4));
  const paragraphs = [`# ${word()} ${word()}`];
  for (let length = 0; length < size; ) {
    const paragraph = `${Array.from({ length: PARAGRAPH_WORDS }, word).join(' ')}.`;
    paragraphs.push(paragraph);
    length += paragraph.length + 2;
  }
  return paragraphs.join('\n\n');
}

const numbered = (number: number, width: number): string => number.toString(36).padStart(width, '0');

/** Words that no other place has. */
function distinct(from: number, size: number, width: number): string {
  const count = Math.floor(size / (width + 1));
  return Array.from({ length: count }, (_, index) => numbered(from * count + index, width)).join(' ');
}

const MEBIBYTE = 1_000_000;

export const CORPORA: readonly Corpus[] = [
  {
    name: 'prose, long files',
    isProse: true,
    file: (number) => ({ path: `p${number}.md`, content: prose(number, 20_000) }),
  },
  {
    name: 'prose, notes of 1 KB',
    isProse: true,
    file: (number) => ({ path: `n${number}.md`, content: prose(number, 1_000) }),
  },
  {
    name: 'distinct words',
    isProse: false,
    file: (number) => ({ path: `d${number}.txt`, content: distinct(number, MEBIBYTE, 8) }),
  },
  {
    name: 'distinct words of four letters',
    isProse: false,
    file: (number) => ({ path: `s${number}.txt`, content: distinct(number, MEBIBYTE, 4) }),
  },
  {
    name: 'every word in two passages',
    isProse: false,
    file(number) {
      const half = distinct(number, MEBIBYTE / 2, 5);
      return { path: `t${number}.txt`, content: `${half}. ${half.split(' ').reverse().join(' ')}` };
    },
  },
  {
    name: 'long headings over little text',
    isProse: false,
    file(number) {
      const heading = (level: number): string =>
        `${'#'.repeat(level)} ${Array.from({ length: 60 }, (_, index) => numbered(index + level * 60, 2)).join(' ')}`;
      const headings = [1, 2, 3, 4, 5].map(heading).join('\n');
      return { path: `h${number}.md`, content: `${headings}\n${'###### a\nb\n'.repeat(MEBIBYTE / 11)}${number}` };
    },
  },
  {
    name: 'sections without text',
    isProse: false,
    file: (number) => ({ path: `e${number}.md`, content: `${'# a\n'.repeat(MEBIBYTE / 4)}${number}` }),
  },
  {
    name: 'many tags over many members',
    isProse: false,
    file(number) {
      const tag = (at: number): string =>
        Array.from({ length: 49 }, (_, index) => numbered(at * 49 + index, 3)).join(' ');
      const tags = Array.from({ length: 128 }, (_, at) => tag(at));
      const members = Array.from({ length: 1_150 }, (_, key) => [`k${key}`, 'x '.repeat(400)]);
      return { path: `g${number}.json`, content: JSON.stringify({ tags, number, ...Object.fromEntries(members) }) };
    },
  },
  {
    name: 'small files of many labels',
    isProse: false,
    file(number) {
      const tags = Array.from({ length: 100 }, (_, index) => numbered(index + number, 3)).join(', ');
      const head = `---\ntitle: ${'a b c d e f g h i j '.repeat(9)}\ntags: [${tags}]\n---\n`;
      return { path: `${'ab cd '.repeat(15).trim()}/m${number}.md`, content: `${head}${'# a\nb\n'.repeat(60)}` };
    },
  },
];
