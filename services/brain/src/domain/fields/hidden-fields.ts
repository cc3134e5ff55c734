/** What policies hide inside a file: top-level fields of JSON and of Markdown front matter; of a data island, fields of its `data`. */
import { isDeepStrictEqual } from 'node:util';
import { applyTransforms, hidesNothing, MASKED, type Transforms } from '@svc/contract/transform.ts';
import { findFrontMatter, opensFrontMatter } from '../front-matter.ts';
import { readYaml } from '../yaml-document.ts';
import {
  type FieldFormat,
  type Fields,
  type FieldText,
  type Hide,
  isFields,
  mergedFields,
  shownFields,
  withoutMasked,
} from './field-text.ts';
import { itemPlaces, jsonFields, parseJson } from './json-fields.ts';
import { yamlFields } from './yaml-fields.ts';

/** A policy that hides fields, and what it is attached to. */
export interface HidingPolicy extends Transforms {
  readonly resource: string;
}

type TextKind = 'json' | 'markdown';

/** Whether any of the policies can hide a part of that file, going by its name. */
export function hidesFieldsOf(path: string, policies: readonly HidingPolicy[]): boolean {
  const kind = kindOf(path);
  if (kind === null) return false;
  return policies.some((policy) => !hidesNothing(policy) && (kind === 'json' || !isBoundary(policy)));
}

/** Whether a policy could hide a part of that file, whichever policies there are. */
export function hidesFieldsByName(path: string): boolean {
  return kindOf(path) !== null;
}

/** The text as it is shown to everybody; null when hidden fields cannot be told apart in it. */
export function shownText(path: string, text: string, policies: readonly HidingPolicy[]): string | null {
  const { outer, inner } = hidesFor(path, text, policies);
  return editText(path, text, {
    outer: (format, object) => shownFields(format, object, outer),
    inner: (format, object) => shownFields(format, object, inner),
    other: outer,
  });
}

/** The shown text without masked fields, each of the rest on its line; null when nothing of it may be found. */
export function indexedText(path: string, text: string, policies: readonly HidingPolicy[]): string | null {
  const shown = shownText(path, text, policies);
  if (shown === null) return null;
  return editText(path, shown, { outer: withoutMasked, inner: withoutMasked, other: (data) => data });
}

/** The text to be written for `incoming`, with the hidden values of `present`; null when it cannot hold them. */
export function mergedText(
  path: string,
  present: string | null,
  incoming: string,
  policies: readonly HidingPolicy[],
): string | null {
  if (shownText(path, incoming, policies) === null) return null;
  const shown = present === null ? null : shownText(path, present, policies);
  if (present === null || shown === null) return incoming;
  if (shown === incoming) return present;
  const hides = hidesFor(path, present, policies);
  return kindOf(path) === 'json'
    ? mergedJson(path, present, incoming, hides)
    : mergedMarkdown(present, incoming, hides.outer);
}

function kindOf(path: string): TextKind | null {
  const name = path.toLowerCase();
  if (name.endsWith('.json')) return 'json';
  return name.endsWith('.md') || name.endsWith('.markdown') ? 'markdown' : null;
}

/** An island's boundary guards its content; it says nothing about the file around it. */
function isBoundary({ resource }: HidingPolicy): boolean {
  return resource.startsWith('_island:');
}

function isDataIsland(path: string, data: unknown): boolean {
  return /^islands\/[^/]+\.json$/i.test(path) && isFields(data) && Object.hasOwn(data, 'island');
}

interface Hides {
  /** For the fields of the whole text. */
  readonly outer: Hide;
  /** For the fields of an island's `data`. */
  readonly inner: Hide;
}

function hidesFor(path: string, text: string, policies: readonly HidingPolicy[]): Hides {
  const onFile = policies.filter((policy) => !isBoundary(policy));
  const hasInner = kindOf(path) === 'markdown' || isDataIsland(path, parseJson(text));
  return { outer: hideBy(hasInner ? onFile : policies), inner: hideBy(policies) };
}

/** Whoever calls has made sure that every transform is known. */
function hideBy(policies: readonly HidingPolicy[]): Hide {
  return (data) =>
    policies.reduce((shown: unknown, policy) => {
      if (hidesNothing(policy)) return shown;
      const applied = applyTransforms(policy, shown);
      if (applied === null) throw new Error('a transform is not known');
      return applied.data;
    }, data);
}

type Edit = (format: FieldFormat, object: FieldText) => string;

interface Edits {
  readonly outer: Edit;
  readonly inner: Edit;
  /** For a front matter that is no mapping. */
  readonly other: Hide;
}

function editText(path: string, text: string, { outer, inner, other }: Edits): string | null {
  const kind = kindOf(path);
  if (kind === null) return text;
  if (kind === 'markdown') return editMarkdown(text, outer, other);
  const data = parseJson(text);
  if (data === undefined) return null;
  const edited = editObjects(text, outer);
  return isDataIsland(path, data) ? editMember(edited, 'data', (value) => editObjects(value, inner)) : edited;
}

/** The object that a JSON text is, or each object of the list that it is. */
function editObjects(text: string, edit: Edit): string {
  const data = parseJson(text);
  if (isFields(data)) return edit(jsonFields, jsonFields.parse(text) ?? emptyObject(data));
  if (!Array.isArray(data)) return text;
  return editItems(text, (item) => (isFields(parseJson(item)) ? editObjects(item, edit) : item));
}

function emptyObject(data: Fields): FieldText {
  return { data, fields: [], head: '', tail: '' };
}

function editItems(text: string, edit: (item: string, index: number) => string): string {
  let edited = '';
  let from = 0;
  for (const [index, [start, end]] of itemPlaces(text).entries()) {
    edited += text.slice(from, start) + edit(text.slice(start, end), index);
    from = end;
  }
  return edited + text.slice(from);
}

function editMember(text: string, name: string, edit: (value: string) => string): string {
  const object = jsonFields.parse(text);
  const places = object?.fields.filter((field) => field.name === name) ?? [];
  if (object === null || places.length === 0) return text;
  // Of members with one name the last counts; the others must not show what it hides.
  if (places.length > 1) return editMember(jsonFields.serialise(object.data), name, edit);
  const fields = object.fields.map((field) => (field.name === name ? { ...field, value: edit(field.value) } : field));
  return jsonFields.write({ ...object, fields });
}

interface Cut {
  readonly head: string;
  readonly yaml: string;
  readonly tail: string;
}

function splitFrontMatter(text: string): Cut | null {
  const found = findFrontMatter(text);
  if (found === null) return null;
  const { start, end } = found;
  return { head: text.slice(0, start), yaml: text.slice(start, end), tail: text.slice(end) };
}

function editMarkdown(text: string, edit: Edit, other: Hide): string | null {
  const front = splitFrontMatter(text);
  // One that never ends may be somebody's half-written one, with the fields of a whole one.
  if (front === null) return opensFrontMatter(text) ? null : text;
  const fields = yamlFields.parse(front.yaml);
  if (fields !== null) return front.head + edit(yamlFields, fields) + front.tail;
  const read = readYaml(front.yaml);
  if (read === null) return null;
  // Fields of a list have no lines of their own that could be cut out.
  return isDeepStrictEqual(other(read.data), read.data) ? text : null;
}

function mergedMarkdown(present: string, incoming: string, hide: Hide): string | null {
  const before = splitFrontMatter(present);
  const beforeFields = before === null ? null : yamlFields.parse(before.yaml);
  if (before === null || beforeFields === null) return incoming;
  const after = splitFrontMatter(incoming);
  if (after === null) {
    const kept = mergedFields(yamlFields, beforeFields, { data: {}, fields: [], head: '', tail: '' }, hide);
    return kept === '' ? incoming : `${before.head}${kept}---\n${incoming}`;
  }
  const afterFields = yamlFields.parse(after.yaml);
  return afterFields === null
    ? null
    : after.head + mergedFields(yamlFields, beforeFields, afterFields, hide) + after.tail;
}

function mergedJson(path: string, present: string, incoming: string, { outer, inner }: Hides): string | null {
  const merged = mergedValue(present, incoming, outer);
  const before = parseJson(present);
  if (merged === null || !isDataIsland(path, before)) return merged;
  const data = jsonFields.parse(present)?.fields.findLast(({ name }) => name === 'data')?.value;
  if (data === undefined) return merged;
  let fits = true;
  const edited = editMember(merged, 'data', (value) => {
    const kept = mergedValue(data, value, inner);
    fits &&= kept !== null;
    return kept ?? value;
  });
  return fits ? edited : null;
}

/** Objects are matched as a whole, objects of lists by their id, key or name, else by their place. */
function mergedValue(present: string, incoming: string, hide: Hide): string | null {
  const before = jsonFields.parse(present);
  const after = jsonFields.parse(incoming);
  if (before !== null && after !== null) return mergedFields(jsonFields, before, after, hide);
  const items = parseJson(present);
  const hidden = hide(items);
  if (before !== null) return hidden === items ? incoming : null;
  if (!Array.isArray(items) || !Array.isArray(hidden)) return incoming;
  if (items.every((item, index) => item === hidden[index])) return incoming;
  if (!Array.isArray(parseJson(incoming))) return null;
  const places = itemPlaces(present).map(([start, end], index) => ({
    text: present.slice(start, end),
    identity: identityOf(hidden[index]),
  }));
  return editItems(incoming, (item, index) => {
    const identity = identityOf(parseJson(item));
    const counterpart = identity === null ? places[index] : places.find((place) => place.identity === identity);
    return counterpart === undefined ? item : (mergedValue(counterpart.text, item, hide) ?? item);
  });
}

/** Null when nothing that is shown tells the item from the others. */
function identityOf(item: unknown): string | null {
  if (!isFields(item)) return null;
  const name = ['id', 'key', 'name'].find((candidate) => Object.hasOwn(item, candidate) && item[candidate] !== MASKED);
  return name === undefined ? null : JSON.stringify([name, item[name]]);
}
