/** JSON as it is to be written: what comes in, with what is hidden of what is there. */
import { MASKED } from '@svc/contract/transform.ts';
import { JsonMembers, parseJson } from '../json-text.ts';
import { isFields, isMask } from './field-text.ts';
import { type Fates, fatesOf, type HiddenMember, type HidingLevel, putAt } from './json-fates.ts';
import { MASKED_TEXT } from './json-shown.ts';
import { editObjects, type ForeignMember, rewriteObject, visitObjects } from './json-rewrite.ts';

export interface JsonSide {
  readonly text: string;
  /** Undefined when it is no JSON. */
  readonly data: unknown;
}

/** Objects are matched as a whole, objects of lists by their id, key or name, else by their place. Null = it cannot hold that. */
export function mergedObjects(present: JsonSide, given: JsonSide, level: HidingLevel): string | null {
  const hides = (members: JsonMembers): boolean => fatesOf(members, level) !== null;
  if (isFields(present.data)) {
    const old = new JsonMembers(present.text, present.text.indexOf('{'));
    if (isFields(given.data)) return editObjects(given.text, (members) => mergedObject(old, members, level));
    return hides(old) ? null : given.text;
  }
  if (!Array.isArray(present.data)) return given.text;
  const old = openersOf(present.text);
  if (!Array.isArray(given.data)) {
    const isHiding = old.some((opener) => opener !== undefined && hides(new JsonMembers(present.text, opener)));
    return isHiding ? null : given.text;
  }
  return mergedList({ ...present, data: present.data, openers: old }, { ...given, data: given.data }, level);
}

/** Where the items of a list open that are objects, by their place. */
type Openers = readonly (number | undefined)[];

function openersOf(text: string): Openers {
  const openers: (number | undefined)[] = [];
  visitObjects(text, text.indexOf('['), ({ opener }, place) => {
    putAt(openers, place, opener);
  });
  return openers;
}

interface ListSide extends JsonSide {
  readonly data: readonly unknown[];
}

type PresentList = ListSide & { readonly openers: Openers };

function mergedList(present: PresentList, given: ListSide, level: HidingLevel): string {
  const places = placesByIdentity(present, level);
  return editObjects(given.text, (members, place) => {
    const identity = identityOf(given.data[place ?? 0], isShown);
    const opener = present.openers[(identity === null ? place : places.get(identity)) ?? -1];
    return opener === undefined ? null : mergedObject(new JsonMembers(present.text, opener), members, level);
  });
}

function placesByIdentity({ text, data, openers }: PresentList, level: HidingLevel): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const mayHide = level.hasTests || IDENTIFYING.some((name) => level.named.has(name));
  for (let place = 0; place < openers.length; place += 1) {
    const opener = openers[place];
    if (opener === undefined) continue;
    const isHidden = mayHide ? hiddenNames(new JsonMembers(text, opener), level) : isShown;
    const identity = identityOf(data[place], isHidden);
    if (identity !== null && !places.has(identity)) places.set(identity, place);
  }
  return places;
}

const isShown = (): boolean => false;

function hiddenNames(members: JsonMembers, level: HidingLevel): (name: string) => boolean {
  const fates = fatesOf(members, level);
  return (name) => {
    const place = fates === null ? null : members.lastOf(name);
    return place !== null && fates?.hidden[place] !== undefined;
  };
}

const IDENTIFYING = ['id', 'key', 'name'];

/** Null when nothing that is shown tells the item from the others. */
function identityOf(item: unknown, isHidden: (name: string) => boolean): string | null {
  if (!isFields(item)) return null;
  for (const name of IDENTIFYING) {
    const value = Object.hasOwn(item, name) ? item[name] : undefined;
    const isPlain = typeof value === 'string' || typeof value === 'number';
    if (isPlain && value !== MASKED && !isHidden(name)) return `${name} ${typeof value} ${value}`;
  }
  return null;
}

/** Null = as it is given. */
function mergedObject(old: JsonMembers, given: JsonMembers, level: HidingLevel): string | null {
  const fates = fatesOf(old, level);
  if (fates === null) return null;
  const matches = matchesOf(given, fates.counting);
  const behind = missingMembers(old, given, fates);
  if (matches === null && behind === NOTHING) return null;
  return rewriteObject(given, {
    behind,
    edit(place) {
      const source = matches?.[given.count - 1 - place];
      return source == null ? source : mergedValue(old, source, given.valueText(place));
    },
  });
}

/** Below it, looking at each is quicker than a map of them. */
const FEW = 8;

function finderOf(sources: readonly HiddenMember[]): (name: string) => HiddenMember | undefined {
  if (sources.length <= FEW) return (name) => sources.find((one) => one.name === name);
  const byName = new Map(sources.map((one) => [one.name, one]));
  return (name) => byName.get(name);
}

/**
 * What the present text has hidden of a member of the given one, by the member's place from the last one on; null = a later one
 * of its name counts, undefined = nothing. Null when that is so of all.
 */
function matchesOf(
  given: JsonMembers,
  sources: readonly HiddenMember[],
): readonly (HiddenMember | null | undefined)[] | null {
  const find = finderOf(sources);
  let matches: (HiddenMember | null | undefined)[] | null = null;
  const taken = given.count > 1 ? new Set<HiddenMember>() : null;
  for (let place = given.count - 1; place >= 0; place -= 1) {
    const source = find(given.name(place));
    if (source === undefined) continue;
    matches ??= [];
    putAt(matches, given.count - 1 - place, taken?.has(source) === true ? null : source);
    taken?.add(source);
  }
  return matches;
}

/** Undefined = as it is given. */
function mergedValue(old: JsonMembers, { place, level }: HiddenMember, given: string): string | undefined {
  const opener = given.charAt(0);
  if (level === null) {
    const mayBeMask = opener === '"' || opener === '[';
    return mayBeMask && isMaskText(given) ? old.valueText(place) : undefined;
  }
  if (opener !== '{') return isMaskText(given) ? old.valueText(place) : undefined;
  const merged = mergedObject(new JsonMembers(old.text, old.valueStart(place)), new JsonMembers(given, 0), level);
  return merged ?? undefined;
}

function isMaskText(given: string): boolean {
  return given === MASKED_TEXT || isMask(parseJson(given));
}

const NOTHING: ReadonlyMap<number, readonly ForeignMember[]> = new Map();

/** What is left out where it comes in because nobody was shown it, behind the member that it followed. */
function missingMembers(
  old: JsonMembers,
  given: JsonMembers,
  { hidden, counting }: Fates,
): ReadonlyMap<number, readonly ForeignMember[]> {
  if (!counting.some(({ fate }) => fate === 'removed')) return NOTHING;
  const behind = new Map<number, ForeignMember[]>();
  const places = new Map<string, number>();
  for (let place = 0; place < given.count; place += 1) places.set(given.name(place), place);
  let last = -1;
  for (let place = 0; place < old.count; place += 1) {
    const fate = hidden[place];
    const found = fate === 'repeated' ? undefined : places.get(old.name(place));
    if (found !== undefined) last = found;
    else if (fate === 'removed') {
      const lead = old.text.slice(place === 0 ? old.opener + 1 : old.valueEnd(place - 1), old.keyStart(place));
      const member = { lead, text: old.text.slice(old.keyStart(place), old.valueEnd(place)) };
      const members = behind.get(last) ?? [];
      members.push(member);
      behind.set(last, members);
    }
  }
  return behind.size === 0 ? NOTHING : behind;
}
