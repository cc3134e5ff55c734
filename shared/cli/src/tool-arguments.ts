/** `key=value` as the arguments of a tool: the tool's schema says what the text of each value means. */
import { nearestNames } from '@svc/contract/nearest.ts';
import { readJson } from './json-text.ts';
import { UsageProblem } from './problems.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The text behind `@path`, or `@-` for stdin. */
type ReadSource = (source: string) => Promise<string>;

type Converted = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

const WORD = /^(?<path>[A-Za-z_$][\w$.-]*?)(?<kind>:=|=)(?<value>[\s\S]*)$/;
const UNSAFE = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * `key=text`, `key=@file`, `key=@-` (stdin), `key=@@text` for a text that begins with @, `key:=json`, `key.inner=text`.
 * A key that comes again adds to a list. Throws UsageProblem that names every argument that is wrong.
 */
export async function toolArguments(
  schema: Schema,
  words: readonly string[],
  readSource: ReadSource,
): Promise<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const word of words) {
    const { path, kind, value } = WORD.exec(word)?.groups ?? {};
    if (path === undefined || kind === undefined || value === undefined) {
      problems.push(`"${word}" is no argument: write key=value`);
      continue;
    }
    const inner = schemaAt(schema, path.split('.'));
    const text = kind === '=' ? await textOf(value, readSource) : value;
    const converted = kind === ':=' ? fromJson(text) : convert(inner, text, schema);
    const problem = converted.ok ? put(result, path, converted.value, isList(inner, schema)) : converted.problem;
    if (problem !== null) problems.push(`${path}: ${problem}${hintFor(schema, path)}`);
  }
  if (problems.length > 0) throw new UsageProblem('The arguments do not fit.', problems);
  return result;
}

/** What follows the key of an argument, so that it is read as this value. */
export function writtenValue(value: unknown): { readonly kind: '=' | ':='; readonly text: string } {
  if (typeof value !== 'string') return { kind: ':=', text: JSON.stringify(value) };
  return { kind: '=', text: value.startsWith('@') ? `@${value}` : value };
}

async function textOf(value: string, readSource: ReadSource): Promise<string> {
  if (value.startsWith('@@')) return value.slice(1);
  return value.startsWith('@') && value.length > 1 ? readSource(value.slice(1)) : value;
}

/** Undefined for what the schema does not name; the service judges that. */
function schemaAt(schema: Schema, path: readonly string[]): Schema | undefined {
  let here: Schema | undefined = schema;
  for (const name of path) here = propertiesOf(resolved(here, schema))[name];
  return here;
}

function propertiesOf(schema: Schema | undefined): Readonly<Record<string, Schema | undefined>> {
  const properties = schema?.['properties'];
  return typeof properties === 'object' && properties !== null ? (properties as Record<string, Schema>) : {};
}

function resolved(schema: Schema | undefined, root: Schema): Schema | undefined {
  const reference = schema?.['$ref'];
  if (typeof reference !== 'string') return schema;
  const name = reference.split('/').at(-1) ?? '';
  return (root['$defs'] as Record<string, Schema> | undefined)?.[name];
}

/** The forms that a value may have: a union has several. */
function formsOf(schema: Schema | undefined, root: Schema): readonly Schema[] {
  const known = resolved(schema, root);
  if (known === undefined) return [];
  const union = known['anyOf'] ?? known['oneOf'];
  if (Array.isArray(union)) return union.flatMap((form: Schema) => formsOf(form, root));
  const { type } = known;
  return Array.isArray(type) ? type.map((one: unknown) => ({ ...known, type: one })) : [known];
}

function isList(schema: Schema | undefined, root: Schema): boolean {
  return formsOf(schema, root).some((form) => form['type'] === 'array');
}

function convert(schema: Schema | undefined, text: string, root: Schema): Converted {
  const forms = formsOf(schema, root);
  if (forms.length === 0 || holdsItself(schema, root)) return { ok: true, value: guess(text) };
  const tried = [...forms].sort((a, b) => rank(a) - rank(b)).map((form) => convertTo(form, text, root));
  const fitting = tried.find(({ ok }) => ok);
  if (fitting !== undefined) return fitting;
  return { ok: false, problem: tried.flatMap((one) => (one.ok ? [] : [one.problem])).join(', or ') };
}

/** Any JSON: a list of it may hold lists of it, so an element alone could be a list of an element without end. */
function holdsItself(schema: Schema | undefined, root: Schema): boolean {
  const known = resolved(schema, root);
  return formsOf(known, root).some(({ type, items }) => type === 'array' && resolved(items as Schema, root) === known);
}

/** A plain text takes everything, so it is tried last. */
function rank(form: Schema): number {
  if (Array.isArray(form['enum']) || 'const' in form) return 0;
  return form['type'] === 'string' ? 2 : 1;
}

function convertTo(form: Schema, text: string, root: Schema): Converted {
  const choices = choicesOf(form);
  if (choices !== null) {
    const choice = choices.find((one) => String(one) === text);
    return choice === undefined ? no(`"${text}" is none of ${choices.join(', ')}`) : { ok: true, value: choice };
  }
  switch (form['type']) {
    case 'string':
      return { ok: true, value: text };
    case 'boolean':
      return toBoolean(text);
    case 'integer':
    case 'number':
      return toNumber(text, form['type'] === 'integer');
    case 'null':
      return text === 'null' ? { ok: true, value: null } : no(`"${text}" is not null`);
    case 'array':
      return toList(form, text, root);
    case 'object':
      return text.startsWith('{') ? fromJson(text) : no('is an object: write its JSON');
    default:
      return { ok: true, value: guess(text) };
  }
}

function no(problem: string): Converted {
  return { ok: false, problem };
}

export function choicesOf(form: Schema): readonly unknown[] | null {
  if ('const' in form) return [form['const']];
  return Array.isArray(form['enum']) ? form['enum'] : null;
}

/** What may stand behind `key=`, where that is known. */
export function valuesOf(schema: Schema, key: string): readonly string[] {
  return formsOf(schemaAt(schema, key.split('.')), schema).flatMap((form) =>
    form['type'] === 'boolean' && choicesOf(form) === null ? ['true', 'false'] : (choicesOf(form) ?? []).map(String),
  );
}

function toBoolean(text: string): Converted {
  if (['true', 'yes', 'on', '1'].includes(text)) return { ok: true, value: true };
  if (['false', 'no', 'off', '0'].includes(text)) return { ok: true, value: false };
  return no(`"${text}" is neither true nor false`);
}

function toNumber(text: string, isInteger: boolean): Converted {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return no(`"${text}" is no number`);
  return isInteger && !Number.isSafeInteger(value) ? no(`"${text}" is no whole number`) : { ok: true, value };
}

/** One element, or all of them as JSON. */
function toList(form: Schema, text: string, root: Schema): Converted {
  if (text.startsWith('[')) return fromJson(text);
  const element = convert(form['items'] as Schema | undefined, text, root);
  return element.ok ? { ok: true, value: [element.value] } : element;
}

function fromJson(text: string): Converted {
  try {
    return { ok: true, value: readJson(text) };
  } catch (error) {
    if (error instanceof RangeError) return no(error.message);
    return no(`is no JSON (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** What nothing is known of: JSON where it looks like it. Digits that a number would not keep are a text. */
function guess(text: string): unknown {
  if (!/^(?:true|false|null|-?\d+(?:\.\d+)?|[[{][\s\S]*)$/.test(text)) return text;
  const parsed = fromJson(text);
  if (!parsed.ok || (Number.isInteger(parsed.value) && !Number.isSafeInteger(parsed.value))) return text;
  return parsed.value;
}

/** Null, or why it cannot stand there. */
function put(result: Record<string, unknown>, path: string, value: unknown, isListed: boolean): string | null {
  const names = path.split('.');
  const last = names.pop() ?? '';
  if ([...names, last].some((name) => UNSAFE.has(name))) return 'cannot be the name of an argument';
  let here = result;
  for (const name of names) {
    const inner = (here[name] ??= {});
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return `${name} has a value already`;
    here = inner as Record<string, unknown>;
  }
  const before = here[last];
  if (before === undefined) here[last] = value;
  else if (isListed && Array.isArray(before) && Array.isArray(value)) here[last] = [...before, ...value];
  else return 'is given twice';
  return null;
}

function hintFor(schema: Schema, path: string): string {
  const first = path.split('.')[0] ?? '';
  const known = Object.keys(propertiesOf(schema));
  if (known.includes(first)) return '';
  const nearest = nearestNames(first, known, 1)[0];
  return nearest === undefined ? '' : ` (nearest argument: ${nearest})`;
}
