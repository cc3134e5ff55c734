/** Names that people give to files, in every script, and names that somebody makes up to break something. */
import type { Random } from './random.ts';

const SCRIPTS = [
  'Latin',
  'Greek',
  'Cyrillic',
  'Armenian',
  'Hebrew',
  'Arabic',
  'Syriac',
  'Thaana',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Thai',
  'Lao',
  'Tibetan',
  'Myanmar',
  'Georgian',
  'Hangul',
  'Ethiopic',
  'Cherokee',
  'Khmer',
  'Mongolian',
  'Hiragana',
  'Katakana',
  'Bopomofo',
  'Han',
  'Yi',
  'Tifinagh',
  'Nko',
  'Adlam',
  'Gothic',
  'Deseret',
  'Osage',
] as const;

const HIGHEST = 0x3134f;
const lettersOf = new Map<string, readonly string[]>();

function letters(script: string): readonly string[] {
  const known = lettersOf.get(script);
  if (known !== undefined) return known;
  const form = new RegExp(`^[[\\p{Script=${script}}&&[\\p{L}\\p{Nd}]]--\\p{Default_Ignorable_Code_Point}]$`, 'v');
  const found: string[] = [];
  for (let point = 0x30; point <= HIGHEST; point += 1) {
    const character = String.fromCodePoint(point);
    if (form.test(character) && character.normalize('NFKC') === character) found.push(character);
  }
  lettersOf.set(script, found);
  return found;
}

function some(random: Random, count: number, make: () => string): string {
  return Array.from({ length: count }, make)
    .join('')
    .slice(0, 4 * count + random.int(0, 1));
}

const EMOJI = ['📝', '❤️', '👩‍🚀', '👨‍👩‍👧', '🏳️‍🌈', '🇩🇪', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '✅', '1️⃣'];
const ORDINARY_MARKS = [
  '-',
  '_',
  '.',
  ' ',
  ' (copy)',
  "'s",
  '&',
  '+',
  '#',
  '@',
  '!',
  '%20',
  ',',
  ';',
  '=',
  '[x]',
  '{y}',
  '~',
  '^',
  '$',
  '`',
  '\u202f',
  '…',
  '–',
  '«»',
  '。',
  '：',
];

/** One that any person may give to a file: it has to work. */
export function ordinaryName(random: Random): string {
  const script = random.pick(SCRIPTS);
  const word = (): string => some(random, random.int(1, 8), () => random.pick(letters(script)));
  let name = word();
  for (let left = random.int(0, 3); left > 0; left -= 1) {
    name += random.pick([random.pick(ORDINARY_MARKS), random.pick(EMOJI), ' ']) + word();
  }
  const extension = random.pick(['', '', '.md', '.txt', '.json', '.v2']);
  return name.normalize(random.pick(['NFC', 'NFC', 'NFD'])) + extension;
}

const FORBIDDEN = [
  '/',
  '\\',
  ':',
  '*',
  '?',
  '"',
  '<',
  '>',
  '|',
  '\0',
  '\n',
  '\r',
  '\t',
  '\x1b',
  '\x7f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\ufffd',
  '\uffff',
  '\ufdd0',
  '\ud800',
  '\udc00',
  '\u202e',
  '\u200e',
  '\u2066',
  '\u200b',
  '\u00ad',
  '\ufeff',
  '\u{e0041}',
  '\uf05c',
  '\uf03a',
];
const EDGES = ['.', '..', '-', '--', ' ', '\u00a0', '\u3000', '\t', '~', '\u200d', '. ', ' .'];
const DEVICES = [
  'CON',
  'con',
  'PRN',
  'aux',
  'NUL',
  'COM1',
  'com9',
  'COM¹',
  'LPT³',
  'ＣＯＮ',
  'CONIN$',
  'conout$',
  'clock$',
];
const OF_GIT = [
  '.git',
  '.GIT',
  '.gIt',
  'git~1',
  'GIT~2',
  'gitmod~1',
  'gi7eba~1',
  '.gitmodules',
  '.gitattributes',
  '．git',
  '.ｇit',
  'git',
  '.g\u200cit',
  '\u200d.git',
  '\ufeff.git',
  '.git\u200f',
  '.git.',
  '.git ',
  '.git::$INDEX_ALLOCATION',
  '.git:x',
  '.git...',
];
const COMMANDS = [
  '$(touch canary)',
  '`touch canary`',
  ';touch canary',
  '--upload-pack=touch canary',
  '-rf',
  ':(glob)**',
  ':/',
  '@{-1}',
  'HEAD~1',
  'a..b',
  '..',
  '../../canary',
  '%2e%2e',
  '~/x',
  '!canary',
  '*',
  '#x',
];

/** One that may be anything: it has to work, or to be refused. */
export function hostileName(random: Random): string {
  const anything = (): string =>
    String.fromCodePoint(random.int(0, random.pick([0x80, 0x800, 0x3000, 0x10000, 0x110000])));
  const word = (): string => random.pick(['x', 'note', 'Ä', '日本', 'a\u0301', 'ß', 'İ']);
  return random.pick([
    () => word() + random.pick(FORBIDDEN) + word(),
    () => random.pick(EDGES) + word(),
    () => word() + random.pick(EDGES),
    () => random.pick(DEVICES) + random.pick(['', '.md', ' .txt', '.', 'x']),
    () => random.pick(OF_GIT) + random.pick(['', '.md', '/config', 'x']),
    () => random.pick(COMMANDS),
    () => some(random, random.int(1, 12), anything),
    () => 'x'.repeat(random.int(95, 103)) + random.pick(['', '.md']),
    () => '日'.repeat(random.int(63, 69)),
    () => `x${some(random, random.int(1, 40), () => random.pick(['\u0301', '\u0323', '\u0345', '\u3099']))}`,
    () => random.pick(['\u3164', '\u115f', '\u180e', '\u034f', '\ufe0f', '\u{e0100}']) + random.pick(['', 'x']),
    () => Array.from({ length: random.int(6, 11) }, () => 'd').join('/'),
  ])();
}
