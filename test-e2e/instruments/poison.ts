/**
 * Files that are hard on whoever has to tell apart what they hide. Each hides its mark, and nothing else of it is
 * secret: as the field `salary`, or somewhere in a text of which nobody can say where its fields are.
 */

interface Poison {
  /** With its extension. */
  readonly name: string;
  readonly bytes: Buffer;
  /** Only an editor or git brings it: it is not text. */
  readonly isText: boolean;
}

const deep = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels);
const many = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('');

type Texts = Readonly<Record<string, (mark: string) => string>>;

const JSON_TEXTS: Texts = {
  'deep behind a key that comes twice': (m) => `{"salary": "${m}", "a": 1, "a": ${deep('[', ']', 60_000)}}`,
  'deep objects': (m) => `{"salary": "${m}", "a": ${deep('{"a":', '}', 30_000).replace('}', '1}')}}`,
  'deep list of objects': (m) => `[{"salary": "${m}", "a": 1, "a": ${deep('[', ']', 60_000)}}]`,
  'deep beside a field within': (m) => `{"pay": {"salary": "${m}", "x": ${deep('[', ']', 60_000)}}}`,
  'deep identity': (m) => `[{"id": ${deep('[', ']', 60_000)}, "salary": "${m}"}]`,
  wide: (m) => `{${many(9_000, (index) => `"k${index}": ${index},`)}"salary": "${m}"}`,
  'wide list': (m) => `[${many(4_000, (index) => `{"id": ${index}, "salary": "${m}"},`)}0]`,
  'the field twice': (m) => `{"salary": "${m}", "a": 1, "salary": "${m}"}`,
  'the parent twice': (m) => `{"pay": {"salary": "${m}"}, "pay": {"salary": "${m}", "x": 1, "salary": "${m}"}}`,
  'a name in escapes': (m) => String.raw`{"s\u0061lary": "${m}", "a": 1}`,
  'names of prototypes': (m) =>
    `{"__proto__": {"a": 1}, "constructor": {"prototype": 1}, "toString": 1, "salary": "${m}"}`,
  'a prototype of a field': (m) => `{"pay": {"__proto__": {"a": 1}, "salary": "${m}"}}`,
  numbers: (m) => `{"a": 1e400, "b": -0, "c": 12345678901234567890.10, "salary": "${m}"}`,
  'lone surrogates': (m) => String.raw`{"\ud800": "\udfff", "salary": "${m}"}`,
  'a byte order mark': (m) => `\uFEFF{"salary": "${m}"}`,
  'mixed line ends': (m) => `{\r\n"a": 1,\n\r\n"salary": "${m}",\r\n"b": 2}\r\n`,
  'a huge line': (m) => `{"salary": "${m}", "a": "${'x '.repeat(200_000)}"}`,
  'cut off': (m) => `{"salary": "${m}", "a": `,
  'two values': (m) => `{"salary": "${m}"}\n{"salary": "${m}"}`,
  'no JSON': (m) => `{salary: '${m}', // mine\n}`,
  'brackets alone': (m) => `${'['.repeat(90_000)}"${m}"`,
};

const front = (yaml: string, fence = '---\n'): string => `${fence}${yaml}${fence}# harbour\n\nlighthouse kelp.\n`;

const MARKDOWN_TEXTS: Texts = {
  'deep brackets': (m) => front(`salary: ${m}\na: ${deep('[', ']', 20_000)}\n`),
  'deep flow': (m) => front(`{salary: ${m}, a: ${deep('[', ']', 1_500)}}\n`),
  'flow that is not too deep': (m) => front(`{salary: ${m}, a: ${deep('[', ']', 50)}}\n`),
  'deep keys': (m) => front(`salary: ${m}\n${'? '.repeat(5_000)}a\n`),
  'deep lists': (m) => front(`salary: ${m}\na:\n  ${'- '.repeat(5_000)}a\n`),
  'deep block': (m) => front(`salary: ${m}\n${many(300, (index) => `${' '.repeat(index)}a:\n`)}`),
  wide: (m) => front(`${many(1_000, (index) => `k${index}: ${index}\n`)}salary: ${m}\n`),
  'more than is read': (m) => front(`salary: ${m}\na: ${'x'.repeat(70_000)}\n`),
  'the field twice': (m) => front(`salary: ${m}\na: 1\nsalary: ${m}\n`),
  'names of prototypes': (m) => front(`__proto__: {a: 1}\nconstructor: 1\nsalary: ${m}\n`),
  anchors: (m) => front(`salary: &s ${m}\ntitle: *s\n`),
  'anchors in flow': (m) => front(`{salary: &s ${m}, title: *s}\n`),
  'what contains itself': (m) => front(`&a {salary: ${m}, b: *a}\n`),
  'a field that contains itself': (m) => front(`salary: &a [${m}, *a]\n`),
  'many anchors': (m) => front(`salary: &a ${m}\nb: [${'*a, '.repeat(3_000)}]\n`),
  'anchors of anchors': (m) =>
    front(
      `salary: ${m}\na: &a [1, 1]\n${many(60, (index) => `k${index}: &k${index} [${`*${index === 0 ? 'a' : `k${index - 1}`}, `.repeat(4)}]\n`)}`,
    ),
  'merge keys': (m) => front(`base: &b {x: 1}\n<<: *b\nsalary: ${m}\n`),
  tags: (m) => front(`a: !!binary aGk=\nb: !!set {x}\nc: !!js/function 'x'\nsalary: !!str ${m}\n`),
  'an explicit key': (m) => front(`? salary\n: ${m}\n`),
  'a quoted key': (m) => front(`"s\\x61lary": ${m}\n`),
  'a block of lines': (m) => front(`salary: |\n  ${m}\n\n  ${m}\ntitle: >\n  a\n  b\n`),
  'lines of plain text': (m) => front(`salary: a\n  ${m}\n  ${m}\n`),
  'a fence in quotes': (m) => front(`salary: "a\n---\n${m}"\n`),
  'a comment above': (m) => front(`title: a\n# was ${m}\nsalary: ${m} # now ${m}\n`),
  'a no-break space behind the fences': (m) => front(`salary: ${m}\n`, '---\u00A0\n'),
  'other blanks behind the fences': (m) => front(`salary: ${m}\n`, '---\u3000\u2028\v\n'),
  'a byte order mark': (m) => `\uFEFF${front(`salary: ${m}\n`)}`,
  'mixed line ends': (m) => `---\r\ntitle: a\nsalary: ${m}\r\nb: |\r\n  x\n  y\n---\r\n# harbour\r\n`,
  'a carriage return too many': (m) => front(`salary: ${m}\r\r\n`, '---\r\r\n'),
  'carriage returns alone': (m) => front(`title: a\rsalary: ${m}\r`, '---\r'),
  'no end': (m) => `---\ntitle: a\nsalary: ${m}\n# harbour\n`,
  'another end': (m) => `---\nsalary: ${m}\n...\n# harbour\n`,
  'a list': (m) => front(`- salary: ${m}\n- b\n`),
  'two documents': (m) => front(`salary: ${m}\n--- # second\nsalary: ${m}\n`),
  directives: (m) => front(`%YAML 1.1\nsalary: ${m}\n`),
  tabs: (m) => front(`\tsalary: ${m}\n`),
  'a broken quote': (m) => front(`title: "a\nsalary: ${m}\n`),
  'deep quotes': (m) =>
    front(`salary: ${m}\n`) + `${'> '.repeat(3_000)}kelp\n${'#'.repeat(3_000)} a\n${'- '.repeat(3_000)}b\n`,
  'unclosed marks': (m) => front(`salary: ${m}\n`) + '[('.repeat(20_000) + '`'.repeat(5_001) + '\n',
};

/** Bytes that are no UTF-8, and what only looks like text. */
const BYTES: Readonly<Record<string, (mark: string) => Buffer>> = {
  'broken UTF-8.json': (m) =>
    Buffer.concat([Buffer.from(`{"salary": "${m}", "a": "`), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}')]),
  'broken UTF-8.md': (m) =>
    Buffer.concat([Buffer.from(front(`salary: ${m}\n`)), Buffer.from([0xed, 0xa0, 0x80, 0xf8])]),
  'zero bytes.md': (m) => Buffer.from(front(`salary: ${m}\u0000\n`)),
  'UTF-16.json': (m) => Buffer.from(`\uFEFF{"salary": "${m}"}`, 'utf16le'),
  'too long.json': (m) => Buffer.from(`{"salary": "${m}", "a": "${'x'.repeat(1024 * 1024)}"}`),
};

/** `markOf(n)`: what the nth file hides. */
export function poisonCorpus(markOf: (index: number) => string): Poison[] {
  const texts = [
    ...Object.entries(JSON_TEXTS).map(([name, text]) => [`${name}.json`, text] as const),
    ...Object.entries(MARKDOWN_TEXTS).map(([name, text]) => [`${name}.md`, text] as const),
  ];
  const corpus = texts.map(([name, text], index) => ({ name, bytes: Buffer.from(text(markOf(index))), isText: true }));
  const rest = Object.entries(BYTES).map(([name, bytes], index) => ({
    name,
    bytes: bytes(markOf(texts.length + index)),
    isText: false,
  }));
  return [...corpus, ...rest];
}

/** The same as data islands and text islands: what hides is their data, or the fields of their front matter. */
export function poisonIslands(markOf: (index: number) => string): Poison[] {
  const data = Object.entries(JSON_TEXTS).map(([, text], index) => ({
    name: `data-${index}.json`,
    bytes: Buffer.from(`{"island": {"type": "crm", "triggers": ["kelp"]}, "data": ${text(markOf(index))}}`),
    isText: true,
  }));
  const texts = Object.entries(MARKDOWN_TEXTS).map(([, text], index) => ({
    name: `text-${index}.md`,
    bytes: Buffer.from(text(markOf(data.length + index))),
    isText: true,
  }));
  return [...data, ...texts];
}
