/** YAML from outside, the only place where it is read: within bounds, in time that is linear in its length. */
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  Lexer,
  type Node,
  type ParseOptions,
  Parser,
  type YAMLMap,
} from 'yaml';

/** Longer texts are not read: a call may read several of this length in one piece, and others wait meanwhile. */
export const MAX_YAML_LENGTH = 32_768;

/** Collections in one another; the library recurses over them. */
const MAX_DEPTH = 64;
/** On the parser's stack there are a document and a scalar besides. */
const MAX_STACK = MAX_DEPTH + 2;
/** In one text; each costs the library a look at every anchor. */
const MAX_ALIASES = 100;

type YamlOptions = Pick<ParseOptions, 'intAsBigInt' | 'keepSourceTokens'>;

/**
 * Null when it is no YAML or more than one document, has a key twice in one mapping, contains itself, has lines that
 * end in a lone carriage return, which the library takes for text, or goes beyond the bounds.
 */
export function readYamlDocument(text: string, options: YamlOptions = {}): Document.Parsed | null {
  if (text.length > MAX_YAML_LENGTH || /\r(?!\n)/.test(text)) return null;
  try {
    const tokens = tokensOf(text);
    if (tokens === null) return null;
    // The library's own look for repeated keys compares each with each; tags make values that are no plain data.
    // What it warns of are words of the text, which are nobody's to read in the log of the service.
    const composer = new Composer({ ...options, uniqueKeys: false, resolveKnownTags: false, logLevel: 'error' });
    const [document, second] = composer.compose(tokens, true, text.length);
    if (document === undefined || second !== undefined || document.errors.length > 0) return null;
    return isSound(document.contents, { aliases: 0, open: new Set() }) ? document : null;
  } catch {
    return null; // there are texts for which the library does not report an error but throws
  }
}

export interface YamlRead {
  readonly data: unknown;
  readonly document: Document.Parsed;
}

/** A text as plain data with the document it came from; that of an empty text is an empty object. Null as above. */
export function readYaml(text: string): YamlRead | null {
  const document = readYamlDocument(text);
  if (document === null) return null;
  try {
    return { data: (document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown) ?? {}, document };
  } catch {
    return null; // an alias of nothing, or of too much
  }
}

/** Null when it is nested too deeply: nothing that recurses ever sees it. */
function tokensOf(text: string): CST.Token[] | null {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > MAX_STACK) return null;
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

interface Inspection {
  aliases: number;
  /** Anchors of the collections around. */
  readonly open: Set<string>;
}

/** As deep as `tokensOf` let pass. */
function isSound(node: Node | null, inspection: Inspection): boolean {
  if (isAlias(node)) {
    inspection.aliases += 1;
    return inspection.aliases <= MAX_ALIASES && !inspection.open.has(node.source);
  }
  if (!isCollection(node)) return true;
  const { anchor } = node;
  const opens = anchor !== undefined && !inspection.open.has(anchor);
  if (opens) inspection.open.add(anchor);
  const parts = isMap(node) ? node.items.flatMap(({ key, value }) => [key, value]) : node.items;
  const sound =
    (!isMap(node) || hasDistinctKeys(node)) && parts.every((part) => isSound(part as Node | null, inspection));
  if (opens) inspection.open.delete(anchor);
  return sound;
}

/** As the library sees it: only scalars of one value are the same key. */
function hasDistinctKeys({ items }: YAMLMap): boolean {
  const keys = items.flatMap(({ key }) => (isScalar(key) ? [key.value] : []));
  return new Set(keys).size === keys.length;
}
