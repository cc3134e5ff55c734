/** What policies hide inside a file: top-level fields of JSON and of Markdown front matter; of a data island, fields of its `data`. */
import { isDeepStrictEqual } from 'node:util';
import { applyTransforms, hidesNothing, MASKED, type Transforms } from '@svc/contract/transform.ts';
import { findFrontMatter, opensFrontMatter } from '../front-matter.ts';
import { itemsOf, parseJson } from '../json-text.ts';
import { readYaml } from '../yaml-document.ts';
import {
  type Field,
  type Fields,
  type Hide,
  isFields,
  lastOfEach,
  mergedFields,
  shownFields,
  withoutMasked,
} from './field-text.ts';
import { cutObject, jsonFields } from './json-fields.ts';
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
  const kind = kindOf(path);
  if (kind === 'json') return shownJson(path, text, policies);
  return kind === null ? text : shownMarkdown(text, hideBy(onFile(policies)));
}

/** The shown text without masked fields, each of the rest on its line; null when nothing of it may be found. */
export function indexedText(path: string, text: string, policies: readonly HidingPolicy[]): string | null {
  const shown = shownText(path, text, policies);
  if (shown === null) return null;
  const kind = kindOf(path);
  if (kind === 'json') return indexedJson(path, shown);
  return kind === null ? shown : indexedMarkdown(shown);
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
  return kindOf(path) === 'json'
    ? mergedJson(path, present, incoming, policies)
    : mergedMarkdown(present, incoming, hideBy(onFile(policies)));
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

function onFile(policies: readonly HidingPolicy[]): HidingPolicy[] {
  return policies.filter((policy) => !isBoundary(policy));
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

function shownJson(path: string, text: string, policies: readonly HidingPolicy[]): string | null {
  const data = parseJson(text);
  if (data === undefined) return null;
  if (!isDataIsland(path, data)) return shownObjects(text, data, hideBy(policies));
  const shown = shownObjects(text, data, hideBy(onFile(policies)));
  return shown === null ? null : editData(shown, (value, inner) => shownObjects(value, inner, hideBy(policies)));
}

function indexedJson(path: string, shown: string): string | null {
  const data = parseJson(shown);
  const indexed = editObjects(shown, data, (text, fields) => withoutMasked(jsonFields, cutObject(text, fields)));
  if (indexed === null || !isDataIsland(path, data)) return indexed;
  return editData(indexed, (value, inner) =>
    editObjects(value, inner, (text, fields) => withoutMasked(jsonFields, cutObject(text, fields))),
  );
}

function shownObjects(text: string, data: unknown, hide: Hide): string | null {
  const after = hide(data);
  return editObjects(text, data, (object, fields, index) => {
    const shown = index === null ? after : (after as readonly unknown[])[index];
    return isFields(shown) ? shownFields(jsonFields, cutObject(object, fields), shown) : null;
  });
}

/** `index` = of the object in its list, null when it is the whole text. */
type EditObject = (text: string, data: Fields, index: number | null) => string | null;

/** The object that a JSON text is, or each object of the list that it is. */
function editObjects(text: string, data: unknown, edit: EditObject): string | null {
  if (isFields(data)) return edit(text, data, null);
  if (!Array.isArray(data)) return text;
  const items: readonly unknown[] = data;
  return editItems(text, (item, index) => {
    const fields = items[index];
    return isFields(fields) ? edit(item, fields, index) : item;
  });
}

function editItems(text: string, edit: (item: string, index: number) => string | null): string | null {
  const parts: string[] = [];
  let from = 0;
  for (const [index, [start, end]] of itemsOf(text, text.indexOf('[')).entries()) {
    const edited = edit(text.slice(start, end), index);
    if (edited === null) return null;
    parts.push(text.slice(from, start), edited);
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** The member `data` of an island's text, by its text and its value. */
function editData(text: string, edit: (value: string, data: unknown) => string | null): string | null {
  const object = jsonFields.parse(text);
  if (object === null) return null;
  const { data, ...cut } = lastOfEach(object);
  const fields: Field[] = [];
  for (const field of cut.fields) {
    const value = field.name === 'data' ? edit(field.value, data['data']) : field.value;
    if (value === null) return null;
    fields.push({ ...field, value });
  }
  return jsonFields.write({ ...cut, fields });
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

function shownMarkdown(text: string, hide: Hide): string | null {
  const front = splitFrontMatter(text);
  // One that never ends may be somebody's half-written one, with the fields of a whole one.
  if (front === null) return opensFrontMatter(text) ? null : text;
  const fields = yamlFields.parse(front.yaml);
  if (fields !== null) return withFront(front, shownFields(yamlFields, fields, hide(fields.data) as Fields));
  const read = readYaml(front.yaml);
  if (read === null) return null;
  // Fields of a list have no lines of their own that could be cut out.
  return isDeepStrictEqual(hide(read.data), read.data) ? text : null;
}

function indexedMarkdown(shown: string): string | null {
  const front = splitFrontMatter(shown);
  const fields = front === null ? null : yamlFields.parse(front.yaml);
  return front === null || fields === null ? shown : withFront(front, withoutMasked(yamlFields, fields));
}

function withFront({ head, tail }: Cut, yaml: string | null): string | null {
  return yaml === null ? null : head + yaml + tail;
}

function mergedMarkdown(present: string, incoming: string, hide: Hide): string | null {
  const before = splitFrontMatter(present);
  const fields = before === null ? null : yamlFields.parse(before.yaml);
  if (before === null || fields === null) return incoming;
  const shown = hide(fields.data) as Fields;
  const after = splitFrontMatter(incoming);
  if (after === null) {
    const kept = mergedFields(yamlFields, fields, shown, { data: {}, fields: [], head: '', tail: '' });
    if (kept === null) return null;
    return kept === '' ? incoming : `${before.head}${kept}---\n${incoming}`;
  }
  const given = yamlFields.parse(after.yaml);
  return given === null ? null : withFront(after, mergedFields(yamlFields, fields, shown, given));
}

function mergedJson(path: string, present: string, incoming: string, policies: readonly HidingPolicy[]): string | null {
  const before: JsonSide = { text: present, data: parseJson(present) };
  const given: JsonSide = { text: incoming, data: parseJson(incoming) };
  if (!isDataIsland(path, before.data)) return mergedObjects(before, given, hideBy(policies));
  const merged = mergedObjects(before, given, hideBy(onFile(policies)));
  const inner = jsonFields.parse(present)?.fields.findLast(({ name }) => name === 'data')?.value;
  if (merged === null || inner === undefined) return merged;
  const old: JsonSide = { text: inner, data: parseJson(inner) };
  return editData(merged, (text, data) => mergedObjects(old, { text, data }, hideBy(policies)));
}

interface JsonSide {
  readonly text: string;
  readonly data: unknown;
}

/** Objects are matched as a whole, objects of lists by their id, key or name, else by their place. */
function mergedObjects(before: JsonSide, given: JsonSide, hide: Hide): string | null {
  const shown = hide(before.data);
  if (isFields(before.data)) {
    if (isFields(given.data)) return mergedObject(before.text, before.data, shown, given);
    return shown === before.data ? given.text : null;
  }
  if (!Array.isArray(before.data) || !Array.isArray(shown)) return given.text;
  return isSame(before.data, shown) ? given.text : mergedList(before.text, before.data, shown, given);
}

function isSame(items: readonly unknown[], others: readonly unknown[]): boolean {
  return items.every((item, index) => item === others[index]);
}

function mergedObject(text: string, data: Fields, shown: unknown, given: JsonSide): string | null {
  if (!isFields(shown) || !isFields(given.data)) return null;
  return mergedFields(jsonFields, cutObject(text, data), shown, cutObject(given.text, given.data));
}

function mergedList(
  text: string,
  items: readonly unknown[],
  shown: readonly unknown[],
  given: JsonSide,
): string | null {
  if (!Array.isArray(given.data)) return null;
  const incoming: readonly unknown[] = given.data;
  const places = itemsOf(text, text.indexOf('['));
  const known = new Map<string, number>();
  for (const [index, item] of shown.entries()) {
    const identity = identityOf(item);
    if (identity !== null && !known.has(identity)) known.set(identity, index);
  }
  return editItems(given.text, (item, index) => {
    const identity = identityOf(incoming[index]);
    const source = identity === null ? index : (known.get(identity) ?? -1);
    const [old, place] = [items[source], places[source]];
    if (place === undefined || !isFields(old) || !isFields(incoming[index])) return item;
    return mergedObject(text.slice(...place), old, shown[source], { text: item, data: incoming[index] });
  });
}

/** Null when nothing that is shown tells the item from the others. */
function identityOf(item: unknown): string | null {
  if (!isFields(item)) return null;
  for (const name of ['id', 'key', 'name']) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined;
    const isPlain = typeof value === 'string' || typeof value === 'number';
    if (isPlain && value !== MASKED) return JSON.stringify([name, value]);
  }
  return null;
}
