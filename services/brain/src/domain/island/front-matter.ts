/** The front matter of an island: read, and changed in one member with the rest kept as it is. */
import { isDeepStrictEqual } from 'node:util';
import { isMap, isNode, isScalar, isSeq, stringify, type Document, type Pair, type YAMLMap } from 'yaml';
import { findFrontMatter, opensFrontMatter } from '../front-matter.ts';
import { readYaml } from '../yaml-document.ts';
import { objectOf } from './json-member.ts';

/** The members of a front matter; null when it is no mapping. */
export function parseFrontMatter(yaml: string): Record<string, unknown> | null {
  return objectOf(readYaml(yaml)?.data) ?? null;
}

/**
 * The text with one member of its front matter set; everything else stays byte for byte as far as YAML allows, and says
 * the same in any case. Null when the front matter cannot be read or changed.
 */
export function setFrontMatterMember(text: string, key: string, value: unknown): string | null {
  const found = findFrontMatter(text);
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  // One that never ends would become body, and with it whatever is hidden of its fields.
  if (found === null && opensFrontMatter(text)) return null;
  if (found === null) {
    const bom = text.startsWith('\uFEFF') ? 1 : 0;
    return `${text.slice(0, bom)}---${lineEnd}${key}: ${inline(value)}${lineEnd}---${lineEnd}${text.slice(bom)}`;
  }
  const yaml = text.slice(found.start, found.end);
  const changed = setMember(yaml, key, value, lineEnd);
  return changed === null ? null : text.slice(0, found.start) + changed + text.slice(found.end);
}

function setMember(yaml: string, key: string, value: unknown, lineEnd: string): string | null {
  const read = readYaml(yaml);
  const before = objectOf(read?.data);
  if (read === null || before === undefined) return null;
  const { document } = read;
  const wanted = { ...before, [key]: value };
  const says = (candidate: string | null): candidate is string =>
    candidate !== null &&
    findFrontMatter(`---\n${candidate}---`)?.end === candidate.length + 4 &&
    isDeepStrictEqual(parseFrontMatter(candidate), wanted);
  const spliced = spliceMember(yaml, document, { key, value, lineEnd });
  if (says(spliced)) return spliced;
  const printed = printMember(document, key, value, lineEnd);
  return says(printed) ? printed : null;
}

interface Member {
  readonly key: string;
  readonly value: unknown;
  readonly lineEnd: string;
}

/** A change of the source text alone; null where there is no simple one. */
function spliceMember(yaml: string, { contents }: Document.Parsed, member: Member): string | null {
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    return `${yaml}${member.key}: ${inline(member.value)}${member.lineEnd}`;
  }
  if (!isMap(contents)) return null;
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === member.key);
  return pair === undefined ? insertMember(yaml, contents, member) : replaceValue(yaml, pair, member);
}

function insertMember(yaml: string, map: YAMLMap, { key, value, lineEnd }: Member): string | null {
  const at = map.range?.[0];
  if (at === undefined) return null;
  const entry = `${key}: ${inline(value)}`;
  if (map.flow === true) {
    return `${yaml.slice(0, at + 1)}${entry}${map.items.length === 0 ? '' : ', '}${yaml.slice(at + 1)}`;
  }
  return `${yaml.slice(0, at)}${entry}${lineEnd}${marginAt(yaml, at)}${yaml.slice(at)}`;
}

function replaceValue(yaml: string, pair: Pair, { value, lineEnd }: Member): string | null {
  const node = pair.value;
  if (!isNode(node) || !node.range) return null;
  const [start, valueEnd] = node.range;
  const end = start + yaml.slice(start, valueEnd).trimEnd().length;
  const items = isSeq(node) && node.flow !== true && Array.isArray(value) && value.length > 0 ? value : null;
  const written =
    items === null
      ? inline(value)
      : items.map((item) => `- ${inline(item)}`).join(`${lineEnd}${marginAt(yaml, start)}`);
  const gap = /[:?-]/.test(yaml.charAt(start - 1))
    ? ' '
    : start === lineStart(yaml, start) && items === null
      ? '  '
      : '';
  return yaml.slice(0, start) + gap + written + yaml.slice(end);
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}

function marginAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';
}

/** The whole front matter printed again; its comments stay, its spacing may not. */
function printMember(document: Document, key: string, value: unknown, lineEnd: string): string | null {
  try {
    document.set(key, value);
    return document.toString({ lineWidth: 0 }).replaceAll(/\r?\n/g, lineEnd);
  } catch {
    return null; // an alias would be left without its anchor
  }
}

/** A value on one line. */
export function inline(value: unknown): string {
  return stringify(value, {
    collectionStyle: 'flow',
    flowCollectionPadding: false,
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  }).trimEnd();
}
