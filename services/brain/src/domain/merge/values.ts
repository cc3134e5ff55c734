/** Three-way merge of structured values by key. */

/** A number that JavaScript's own would not write back the same way. */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | ExactNumber
  | readonly Value[]
  | ReadonlyMap<string, Value>;

/** Undefined stands for an absent key. */
type Slot = Value | undefined;

export interface ValueMerge {
  readonly value: Slot;
  /** Some place was changed on both sides; ours stands there. */
  readonly clashes: boolean;
}

const IDENTITY_FIELDS = ['id', 'key', 'name'] as const;

export function isMap(value: Slot): value is ReadonlyMap<string, Value> {
  return value instanceof Map;
}

function isList(value: Slot): value is readonly Value[] {
  return Array.isArray(value);
}

/** Equal but for the order of keys. */
export function sameValue(left: Slot, right: Slot): boolean {
  if (isMap(left) && isMap(right)) {
    return (
      left.size === right.size && [...left].every(([key, value]) => right.has(key) && sameValue(value, right.get(key)))
    );
  }
  if (isList(left) && isList(right)) {
    return left.length === right.length && left.every((value, index) => sameValue(value, right[index]));
  }
  if (left instanceof ExactNumber && right instanceof ExactNumber) return left.source === right.source;
  return Object.is(left, right);
}

/** One side changed = that side; both = by key where there are keys; else ours, as a clash. */
export function mergeValues(base: Slot, ours: Slot, theirs: Slot): ValueMerge {
  if (sameValue(ours, theirs) || sameValue(base, theirs)) return { value: ours, clashes: false };
  if (sameValue(base, ours)) return { value: theirs, clashes: false };
  // deleted on one side and changed on the other: the changed one stays
  if (ours === undefined || theirs === undefined) return { value: ours ?? theirs, clashes: true };
  return mergeInside(base, ours, theirs);
}

function mergeInside(base: Slot, ours: Value, theirs: Value): ValueMerge {
  if (isMap(ours) && isMap(theirs)) return mergeMaps(isMap(base) ? base : new Map(), ours, theirs);
  if (isList(ours) && isList(theirs)) return mergeLists(isList(base) ? base : [], ours, theirs);
  return { value: ours, clashes: true };
}

interface MapMerge extends ValueMerge {
  readonly value: ReadonlyMap<string, Value>;
}

/** Our keys in our order, their new ones after. */
function mergeMaps(
  base: ReadonlyMap<string, Value>,
  ours: ReadonlyMap<string, Value>,
  theirs: ReadonlyMap<string, Value>,
): MapMerge {
  const merged = new Map<string, Value>();
  let clashes = false;
  for (const key of new Set([...ours.keys(), ...theirs.keys()])) {
    const slot = mergeValues(base.get(key), ours.get(key), theirs.get(key));
    clashes ||= slot.clashes;
    if (slot.value !== undefined) merged.set(key, slot.value);
  }
  return { value: merged, clashes };
}

function mergeLists(base: readonly Value[], ours: readonly Value[], theirs: readonly Value[]): ValueMerge {
  for (const field of IDENTITY_FIELDS) {
    const keyed = [base, ours, theirs].map((list) => keyBy(list, field));
    const [baseMap, ourMap, theirMap] = keyed;
    if (baseMap && ourMap && theirMap) {
      const { value, clashes } = mergeMaps(baseMap, ourMap, theirMap);
      return { value: [...value.values()], clashes };
    }
  }
  return { value: ours, clashes: true };
}

/** The elements by the text or number each has under `field`; null when one has none or two share one. */
function keyBy(list: readonly Value[], field: string): ReadonlyMap<string, Value> | null {
  const keyed = new Map<string, Value>();
  for (const element of list) {
    const identity = isMap(element) ? element.get(field) : undefined;
    if (typeof identity !== 'string' && typeof identity !== 'number' && typeof identity !== 'bigint') return null;
    keyed.set(`${typeof identity} ${identity}`, element);
  }
  return keyed.size === list.length ? keyed : null;
}
