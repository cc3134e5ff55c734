/** An island is a file under `islands/`: Markdown with front matter, or JSON with the members `island` and `data`. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { filePathProblem, isFilePath, normalPath } from '@svc/contract/names.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { findFrontMatter, opensFrontMatter } from '../front-matter.ts';
import { isDeeper } from '../json-text.ts';
import { inline, parseFrontMatter, setFrontMatterMember } from './front-matter.ts';
import { objectOf, parseJsonObject, setJsonMember } from './json-member.ts';
import { normalTriggers } from './trigger.ts';

const ISLAND_FOLDER = 'islands';
export const DEFAULT_TYPE = 'static';

const MAX_NAME_LENGTH = 64;

export const IslandName = z
  .string()
  .min(1)
  .overwrite(normalPath)
  .superRefine((name, context) => {
    const message = nameProblem(name);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .describe(`Island name: a file name of at most ${MAX_NAME_LENGTH} characters, without extension.`);

function nameProblem(name: string): string | null {
  if (name.includes('/')) return 'has "/" (U+002F), which no name of an island may have';
  if (Array.from(name.slice(0, 2 * MAX_NAME_LENGTH + 1)).length > MAX_NAME_LENGTH)
    return `is longer than ${MAX_NAME_LENGTH} characters`;
  return filePathProblem(name) ?? filePathProblem(`${name}.json`);
}

export const IslandType = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, 'must be 1-32 letters, digits, underscores or dashes, starting with a letter')
  .describe(`Label of the island, default "${DEFAULT_TYPE}".`);

const MAX_TRIGGERS = 64;
/** Of its normal form. */
const MAX_TRIGGER_LENGTH = 64;

export const Triggers = z
  .array(
    z
      .string()
      .max(4 * MAX_TRIGGER_LENGTH)
      .refine((trigger) => !/\p{Cc}/u.test(trigger.trim()), { message: 'must not hold control characters' })
      .refine(isShort, { message: `must be at most ${MAX_TRIGGER_LENGTH} characters` }),
  )
  .max(MAX_TRIGGERS)
  .describe('Words and phrases that call the island up; kept trimmed, in lower case and each once.');

function isShort(trigger: string): boolean {
  // Of what is far too long the first check tells; composing a long run of marks takes the square of its length.
  if (trigger.length > 4 * MAX_TRIGGER_LENGTH) return true;
  return normalTriggers([trigger]).every((normal) => Array.from(normal).length <= MAX_TRIGGER_LENGTH);
}

export const Description = z.string().max(2000).describe('What the island is for.');

export const Sources = z
  .array(z.string().overwrite(normalPath).refine(isSource, { message: 'must be the path of a file or directory' }))
  .max(32)
  .describe('Path prefixes; the readable files below them are appended to the text when the island is loaded.');

function isSource(prefix: string): boolean {
  return isFilePath(prefix.replace(/\/$/, ''));
}

const Definition = z.looseObject({
  type: IslandType.default(DEFAULT_TYPE),
  triggers: Triggers.default([]),
  enabled: z.boolean().default(true),
  description: Description.default(''),
  source: Sources.default([]),
  always: z.boolean().default(false),
});

export const IslandDefinition = z.strictObject({
  type: z.string(),
  /** Normal ones. */
  triggers: z.array(z.string()).readonly(),
  enabled: z.boolean(),
  description: z.string(),
  source: z.array(z.string()).readonly(),
});
export type IslandDefinition = Readonly<z.output<typeof IslandDefinition>>;

const IslandKind = z.enum(['text', 'data']);
type IslandKind = z.output<typeof IslandKind>;

export const Island = IslandDefinition.extend({
  name: z.string(),
  kind: IslandKind,
  /** The file does not parse as an island. */
  invalid: z.boolean(),
  /** It holds something besides its definition. */
  populated: z.boolean(),
  /** It belongs into every context, called up or not. */
  always: z.boolean(),
});
export type Island = Readonly<z.output<typeof Island>>;

export const IslandContent = z.union([
  z.strictObject({ kind: z.literal('text'), text: z.string() }),
  z.strictObject({ kind: z.literal('data'), data: z.unknown() }),
]);
export type IslandContent = Readonly<z.output<typeof IslandContent>>;

const ISLAND_FILE = /^islands\/([^/]+)\.(md|json)$/;
type SaidOfIsland = IslandDefinition & Pick<Island, 'always'>;

const NO_DEFINITION: SaidOfIsland = {
  type: DEFAULT_TYPE,
  triggers: [],
  enabled: false,
  description: '',
  source: [],
  always: false,
};

/** Null for a file that is no island by its name. */
export function namedIn(file: string): { readonly name: string; readonly kind: IslandKind } | null {
  const [, name, extension] = ISLAND_FILE.exec(file) ?? [];
  return name === undefined || nameProblem(name) !== null
    ? null
    : { name, kind: extension === 'json' ? 'data' : 'text' };
}

/** Where an island may lie, in order of look-up; people can make both files, and the first one is the island then. */
export function islandFiles(name: string): readonly string[] {
  return [fileOf(name, 'text'), fileOf(name, 'data')];
}

export function fileOf(name: string, kind: IslandKind): string {
  return `${ISLAND_FOLDER}/${name}.${kind === 'data' ? 'json' : 'md'}`;
}

/** Null for a file that is no island by its name. */
export function readIsland(file: string, text: string): Island | null {
  const named = namedIn(file);
  if (named === null) return null;
  const definition = definitionOf(named.kind, text);
  const populated = isPopulated(contentOf(named.kind, text)) || (definition?.source ?? []).length > 0;
  return { ...named, ...(definition ?? NO_DEFINITION), invalid: definition === null, populated };
}

function definitionOf(kind: IslandKind, text: string): SaidOfIsland | null {
  const members = kind === 'data' ? objectOf(dataIslandOf(text)?.['island']) : frontMatterOf(text);
  if (members === null || members === undefined) return null;
  const said = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
  const parsed = Definition.safeParse(said);
  if (!parsed.success) return null;
  const { triggers, type, enabled, description, source, always } = parsed.data;
  return { type, triggers: normalTriggers(triggers), enabled, description, source, always };
}

/** As deep as a body may be nested, within an answer: deeper data could be neither sent nor taken back. */
const MAX_DATA_DEPTH = 60;

function dataIslandOf(text: string): Record<string, unknown> | undefined {
  const data = parseJsonObject(text);
  return data === undefined || isDeeper(text, MAX_DATA_DEPTH) ? undefined : data;
}

function frontMatterOf(text: string): Record<string, unknown> | null {
  const found = findFrontMatter(text);
  if (found === null) return opensFrontMatter(text) ? null : {};
  return parseFrontMatter(text.slice(found.start, found.end));
}

/** What the island holds besides its definition. */
export function contentOf(kind: IslandKind, text: string): IslandContent {
  if (kind === 'data') return { kind, data: dataIslandOf(text)?.['data'] ?? {} };
  return { kind, text: text.slice(findFrontMatter(text)?.body ?? 0) };
}

function isPopulated(content: IslandContent): boolean {
  if (content.kind === 'text') return content.text.trim() !== '';
  return typeof content.data !== 'object' || content.data === null || Object.keys(content.data).length > 0;
}

/** The file of a new island. */
export function renderIsland(definition: IslandDefinition, content: IslandContent): string {
  const { type, triggers, enabled, description, source } = definition;
  const optional = { ...(description === '' ? {} : { description }), ...(source.length === 0 ? {} : { source }) };
  if (content.kind === 'data') {
    return `${JSON.stringify({ island: { type, triggers, enabled, ...optional }, data: content.data }, null, 2)}\n`;
  }
  const lines = Object.entries({ type, triggers, enabled, ...optional }).map(
    ([key, value]) => `${key}: ${inline(value)}`,
  );
  return `---\n${lines.join('\n')}\n---\n${content.text}`;
}

export const Amendment = z.union([
  z.strictObject({ member: z.literal('enabled'), value: z.boolean() }),
  z.strictObject({ member: z.literal('triggers'), value: z.array(z.string()).readonly() }),
]);
export type Amendment = Readonly<z.output<typeof Amendment>>;

/** The text of the island's file after the amendment; the same text when it says so already. */
export function amendIsland(
  { kind }: Pick<Island, 'kind'>,
  text: string,
  amendment: Amendment,
): Decision<string, 'E_ISLAND_INVALID'> {
  const definition = definitionOf(kind, text);
  if (definition === null) return deny('E_ISLAND_INVALID');
  const { member } = amendment;
  const value = amendment.member === 'triggers' ? normalTriggers(amendment.value) : amendment.value;
  if (isDeepStrictEqual(definition[member], value)) return allow(text);
  const amended =
    kind === 'data' ? setJsonMember(text, 'island', member, value) : setFrontMatterMember(text, member, value);
  return amended === null ? deny('E_ISLAND_INVALID') : allow(amended);
}

/** Whether a file lies under one of an island's sources. */
export function isSourced(sources: readonly string[], file: string): boolean {
  return sources.some((source) => {
    const prefix = source.replace(/\/$/, '');
    return file === prefix || file === `${prefix}.md` || file.startsWith(`${prefix}/`);
  });
}

/** Text that is appended to an island on load, in bytes of UTF-8. */
export const MAX_APPENDED_BYTES = 65_536;

/** The longest start of `text` that is at most `maxBytes` of UTF-8 and ends between characters. */
export function truncated(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.byteLength <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
