/** What policies hide inside a file: top-level fields of JSON and of Markdown front matter; of a data island, fields of its `data`. */
import { applyTransforms, hidesNothing, type Transforms } from '@svc/contract/transform.ts';
import { parseJson } from '../json-text.ts';
import { type Hide, isFields } from './field-text.ts';
import { levelOf } from './json-fates.ts';
import { type JsonSide, mergedObjects } from './json-merged.ts';
import { editMember, memberText, shownObjects, withoutMasked } from './json-shown.ts';
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

/**
 * The text to be written for `incoming`, with the hidden values of `present`; null when it cannot hold them. `shown`: what
 * `shownText` makes of the present one, where that is known.
 */
export function mergedText(
  path: string,
  present: string | null,
  incoming: string,
  policies: readonly HidingPolicy[],
  shown: string | null = null,
): string | null {
  const kind = kindOf(path);
  if (kind === null) return incoming;
  // Each text is read once, whatever is made of it: what reads YAML takes the longest by far.
  if (kind === 'markdown') {
    const hide = hideBy(onFile(policies));
    const old = present === null ? null : readMarkdown(present);
    return mergedTexts(old, readMarkdown(incoming), {
      canBeShown: (text) => shownMarkdown(text, hide) !== null,
      shown: (text) => shown ?? shownMarkdown(text, hide),
      merged: (before, given) => mergedMarkdown(before, given, hide),
    });
  }
  return mergedTexts(present === null ? null : readJson(present), readJson(incoming), {
    canBeShown: ({ data }) => data !== undefined,
    shown: (side) => shown ?? shownJson(path, side, policies),
    merged: (before, given) => mergedJson(path, before, given, policies),
  });
}

interface Merging<Text extends { readonly text: string }> {
  canBeShown(text: Text): boolean;
  shown(text: Text): string | null;
  merged(present: Text, incoming: Text): string | null;
}

function mergedTexts<Text extends { readonly text: string }>(
  present: Text | null,
  incoming: Text,
  merging: Merging<Text>,
): string | null {
  if (!merging.canBeShown(incoming)) return null;
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

function isIslandPath(path: string): boolean {
  return /^islands\/[^/]+\.json$/i.test(path);
}

function isDataIsland(path: string, data: unknown): boolean {
  return isIslandPath(path) && isFields(data) && Object.hasOwn(data, 'island');
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
  if (!isDataIsland(path, data)) return shownObjects(text, levelOf(policies));
  const shown = shownObjects(text, levelOf(onFile(policies)));
  return editMember(shown, 'data', (value) => shownObjects(value, levelOf(policies)));
}

function indexedJson(path: string, shown: string): string {
  const indexed = withoutMasked(shown);
  return isIslandPath(path) && isDataIsland(path, parseJson(shown))
    ? editMember(indexed, 'data', withoutMasked)
    : indexed;
}

function mergedJson(path: string, before: JsonSide, given: JsonSide, policies: readonly HidingPolicy[]): string | null {
  if (!isFields(before.data) || !isDataIsland(path, before.data)) {
    return mergedObjects(before, given, levelOf(policies));
  }
  const merged = mergedObjects(before, given, levelOf(onFile(policies)));
  if (merged === null || !Object.hasOwn(before.data, 'data')) return merged;
  const old = { text: memberText(before.text, 'data'), data: before.data['data'] };
  const level = levelOf(policies);
  let isRefused = false;
  const edited = editMember(merged, 'data', (text) => {
    const value = mergedObjects(old, readJson(text), level);
    isRefused ||= value === null;
    return value ?? text;
  });
  return isRefused ? null : edited;
}

function readJson(text: string): JsonSide {
  return { text, data: parseJson(text) };
}
