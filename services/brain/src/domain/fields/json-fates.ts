/** What becomes of the members of a JSON object, judged from names and places: what the values hold is not read. */
import { type HidingStep, hidingSteps, MASKED, type Transforms } from '@svc/contract/transform.ts';
import type { JsonMembers } from '../json-text.ts';

/** `inside`: part of its value is hidden. `repeated`: a later one of its name counts. */
type Fate = 'removed' | 'masked' | 'inside' | 'repeated';

/** Of each name the member that counts, where something of it is hidden. */
export interface HiddenMember {
  readonly name: string;
  readonly place: number;
  readonly fate: Fate;
  /** What acts inside its value, where the fate is `inside`. */
  readonly level: HidingLevel | null;
}

/** Lists and not maps: a list may have a hundred thousand objects of one member. */
export interface Fates {
  /** By place; those that are shown as they are have none. */
  readonly hidden: readonly (Fate | undefined)[];
  /** In no particular order. */
  readonly counting: readonly HiddenMember[];
}

/** What acts on the members of one object, in its order: the same as `applyTransforms` does with its value. */
export class HidingLevel {
  readonly steps: readonly HidingStep[];
  /** What becomes of these hangs on each other; every other member is judged by tests alone. */
  readonly named = new Set<string>();
  readonly hasTests: boolean;

  constructor(steps: readonly HidingStep[]) {
    this.steps = steps;
    this.hasTests = steps.some((step) => 'test' in step);
    for (const step of steps) {
      if ('test' in step) continue;
      for (const path of step.paths) this.named.add(path).add(parentOf(path) ?? path);
    }
  }
}

/** Whoever calls has made sure that every transform is known. */
export function levelOf(policies: readonly Transforms[]): HidingLevel {
  return new HidingLevel(
    policies.flatMap((policy) => {
      const steps = hidingSteps(policy);
      if (steps === null) throw new Error('a transform is not known');
      return steps;
    }),
  );
}

function parentOf(path: string): string | null {
  const dot = path.indexOf('.');
  return dot === -1 ? null : path.slice(0, dot);
}

/** A member that a path names. */
interface Named {
  readonly name: string;
  place: number;
  value: unknown;
  fate: 'shown' | 'removed' | 'masked';
  inside: HidingStep[] | null;
  /** Places of the earlier ones of its name. */
  repeated: number[] | null;
}

/** Below it, looking at each is quicker than a map of them. */
const FEW = 8;

class NamedMembers {
  readonly all: Named[] = [];
  #byName: Map<string, Named> | null = null;

  get(name: string): Named | undefined {
    if (this.all.length > FEW) {
      this.#byName ??= new Map(this.all.map((one) => [one.name, one]));
      return this.#byName.get(name);
    }
    for (const one of this.all) if (one.name === name) return one;
    return undefined;
  }

  add(one: Named): void {
    this.all.push(one);
    this.#byName?.set(one.name, one);
  }
}

/** Without gaps: the engine makes a slow map of a list that has them. */
export function putAt<Item>(list: (Item | undefined)[], place: number, item: Item): void {
  while (list.length < place) list.push(undefined);
  list[place] = item;
}

/** Null when all are shown as they are. Makes nothing before that shows. */
export function fatesOf(members: JsonMembers, level: HidingLevel): Fates | null {
  const tested = level.hasTests ? judgeTested(members, level) : null;
  const named = level.named.size > 0 ? namedIn(members, level) : null;
  if (tested === null && named === null) return null;
  const hidden = tested ?? [];
  const counting = tested === null ? [] : countingOf(members, tested);
  if (named !== null) {
    judgeNamed(level.steps, named);
    for (const one of named.all) hide(one, hidden, counting);
    // Paths may name members and hide nothing of them.
    if (tested === null && counting.length === 0 && !hidden.includes('repeated')) return null;
  }
  return { hidden, counting };
}

function hide(
  { name, place, fate, inside, repeated }: Named,
  hidden: (Fate | undefined)[],
  counting: HiddenMember[],
): void {
  if (repeated !== null) for (const earlier of repeated) putAt(hidden, earlier, 'repeated');
  if (fate === 'shown' && inside === null) return;
  const own: Fate = fate === 'shown' ? 'inside' : fate;
  putAt(hidden, place, own);
  counting.push({
    name,
    place,
    fate: own,
    level: inside === null || fate !== 'shown' ? null : new HidingLevel(inside),
  });
}

function countingOf(members: JsonMembers, hidden: readonly (Fate | undefined)[]): HiddenMember[] {
  const counting: HiddenMember[] = [];
  for (const [place, fate] of hidden.entries()) {
    if (fate !== undefined && fate !== 'repeated')
      counting.push({ name: members.name(place), place, fate, level: null });
  }
  return counting;
}

/** Null when there are none. */
function namedIn(members: JsonMembers, { named }: HidingLevel): NamedMembers | null {
  let found: NamedMembers | null = null;
  for (let place = 0; place < members.count; place += 1) {
    const name = members.name(place);
    if (!named.has(name)) continue;
    found ??= new NamedMembers();
    const value = valueHint(members, place);
    const before = found.get(name);
    if (before === undefined) {
      found.add({ name, place, value, fate: 'shown', inside: null, repeated: null });
      continue;
    }
    // Whatever the last one is: an earlier one may hold what is to be hidden.
    (before.repeated ??= []).push(before.place);
    before.place = place;
    before.value = value;
  }
  return found;
}

/** Null when all that no path names are shown. */
function judgeTested(members: JsonMembers, { named, steps }: HidingLevel): (Fate | undefined)[] | null {
  let hidden: (Fate | undefined)[] | null = null;
  for (let place = 0; place < members.count; place += 1) {
    const name = members.name(place);
    if (named.has(name)) continue;
    const fate = testedFate(steps, name, valueHint(members, place));
    if (fate !== 'shown') putAt((hidden ??= []), place, fate);
  }
  if (hidden !== null) markRepeated(members, hidden);
  return hidden;
}

/** Of the names of which one is hidden the last one counts: an earlier one must not be left in its place. */
function markRepeated(members: JsonMembers, hidden: (Fate | undefined)[]): void {
  if (members.count === 1) return;
  const counting = new Map<string, number>();
  for (const [place, fate] of hidden.entries()) if (fate !== undefined) counting.set(members.name(place), -1);
  for (let place = members.count - 1; place >= 0; place -= 1) {
    const name = members.name(place);
    const last = counting.get(name);
    if (last === -1) counting.set(name, place);
    else if (last !== undefined) putAt(hidden, place, 'repeated');
  }
}

const SOME_OBJECT = {};
const SOME_LIST: readonly unknown[] = [];
const NEITHER = 0;

/** As much of a value as tests ask for: a text whole, of others their kind. */
function valueHint(members: JsonMembers, place: number): unknown {
  switch (members.text.charAt(members.valueStart(place))) {
    case '"':
      return members.textAt(members.valueStart(place), members.valueEnd(place));
    case '{':
      return SOME_OBJECT;
    case '[':
      return SOME_LIST;
    default:
      return NEITHER;
  }
}

function testedFate(steps: readonly HidingStep[], name: string, value: unknown): Named['fate'] {
  let fate: Named['fate'] = 'shown';
  for (const step of steps) {
    if (!('test' in step) || !step.test(name, fate === 'masked' ? MASKED : value)) continue;
    if (step.hides === 'removed') return 'removed';
    fate = 'masked';
  }
  return fate;
}

function judgeNamed(steps: readonly HidingStep[], named: NamedMembers): void {
  for (const step of steps) {
    if ('paths' in step) {
      for (const path of step.paths) hidePath(named, path, step.hides);
      continue;
    }
    for (const one of named.all) {
      if (one.fate !== 'removed' && step.test(one.name, one.fate === 'masked' ? MASKED : one.value))
        one.fate = step.hides;
    }
  }
}

function hidePath(named: NamedMembers, path: string, hides: HidingStep['hides']): void {
  const exact = named.get(path);
  if (exact !== undefined && exact.fate !== 'removed') {
    exact.fate = hides;
    return;
  }
  const parent = parentOf(path);
  const around = parent === null ? undefined : named.get(parent);
  if (parent === null || around === undefined || around.fate !== 'shown' || around.value !== SOME_OBJECT) return;
  (around.inside ??= []).push({ hides, paths: [path.slice(parent.length + 1)] });
}
