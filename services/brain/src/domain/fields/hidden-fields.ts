/** What policies hide inside a file: top-level fields of JSON and of Markdown front matter; of a data island, fields of its `data`. */
import { applyTransforms, hidesNothing, MASKED, type Transforms } from '@svc/contract/transform.ts';
import { itemsOf, parseJson } from '../json-text.ts';
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
import { cutObject, jsonFields, readObject } from './json-fields.ts';
import { indexedMarkdown, mergedMarkdown, readMarkdown, shownMarkdown } from './markdown-fields.ts';

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
  if (kind === 'json') return shownJson(path, readJson(text), policies);
  return kind === null ? text : shownMarkdown(readMarkdown(text), hideBy(onFile(policies)));
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
  const kind = kindOf(path);
  if (kind === null) return incoming;
  // Each text is read once, whatever is made of it: what reads YAML takes the longest by far.
  if (kind === 'markdown') {
    const hide = hideBy(onFile(policies));
    const old = present === null ? null : readMarkdown(present);
    return mergedTexts(old, readMarkdown(incoming), {
      shown: (text) => shownMarkdown(text, hide),
      merged: (before, given) => mergedMarkdown(before, given, hide),
    });
  }
  return mergedTexts(present === null ? null : readJson(present), readJson(incoming), {
    shown: (side) => shownJson(path, side, policies),
    merged: (before, given) => mergedJson(path, before, given, policies),
  });
}

interface Merging<Text extends { readonly text: string }> {
  shown(text: Text): string | null;
  merged(present: Text, incoming: Text): string | null;
}

function mergedTexts<Text extends { readonly text: string }>(
  present: Text | null,
  incoming: Text,
  merging: Merging<Text>,
): string | null {
  if (merging.shown(incoming) === null) return null;
  const shown = present === null ? null : merging.shown(present);
  if (present === null || shown === null) return incoming.text;
  return shown === incoming.text ? present.text : merging.merged(present, incoming);
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

function shownJson(path: string, { text, data }: JsonSide, policies: readonly HidingPolicy[]): string | null {
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
  const object = readObject(text);
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

function mergedJson(path: string, before: JsonSide, given: JsonSide, policies: readonly HidingPolicy[]): string | null {
  if (!isDataIsland(path, before.data)) return mergedObjects(before, given, hideBy(policies));
  const merged = mergedObjects(before, given, hideBy(onFile(policies)));
  const inner = readObject(before.text)?.fields.findLast(({ name }) => name === 'data')?.value;
  if (merged === null || inner === undefined) return merged;
  const old = readJson(inner);
  return editData(merged, (text, data) => mergedObjects(old, { text, data }, hideBy(policies)));
}

interface JsonSide {
  readonly text: string;
  /** Undefined when it is no JSON. */
  readonly data: unknown;
}

function readJson(text: string): JsonSide {
  return { text, data: parseJson(text) };
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
