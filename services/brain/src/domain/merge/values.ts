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

interface ValueMerge {
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

/**
 * Tells equal values, but for the order of keys, by numbers: a merge asks at each level for all that is below it, and
 * so looks at everything once and not once for each level.
 */
class Likeness {
  readonly #numbers = new Map<string, number>();
  readonly #known = new Map<Value, number>();

  isSame(left: Slot, right: Slot): boolean {
    if (isCollection(left) && isCollection(right)) return this.#numberOf(left) === this.#numberOf(right);
    return sameValue(left, right);
  }

  #numberOf(collection: Collection): number {
    const known = this.#known.get(collection);
    if (known !== undefined) return known;
    const number = this.#numberOfText(this.#textOf(collection));
    this.#known.set(collection, number);
    return number;
  }

  #textOf(collection: Collection): string {
    if (isList(collection)) return `[${collection.map((value) => this.#nameOf(value)).join(',')}]`;
    const members = Array.from(collection, ([key, value]) => `${JSON.stringify(key)}:${this.#nameOf(value)}`);
    return `{${members.sort().join(',')}}`;
  }

  #nameOf(value: Value): string {
    if (isCollection(value)) return `#${this.#numberOf(value)}`;
    if (typeof value === 'string') return JSON.stringify(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (value instanceof ExactNumber) return `=${value.source}`;
    return Object.is(value, -0) ? '-0' : String(value);
  }

  #numberOfText(text: string): number {
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }
}

/** One side changed = that side; both = by key where there are keys; else ours, as a clash. */
export function mergeValues(base: Slot, ours: Slot, theirs: Slot): ValueMerge {
  return new Merge().values(base, ours, theirs);
}

type Collection = readonly Value[] | ReadonlyMap<string, Value>;

function isCollection(value: Slot): value is Collection {
  return isMap(value) || isList(value);
}

interface MapMerge extends ValueMerge {
  readonly value: ReadonlyMap<string, Value>;
}

class Merge {
  readonly #likeness = new Likeness();

  values(base: Slot, ours: Slot, theirs: Slot): ValueMerge {
    const isSame = (left: Slot, right: Slot): boolean => this.#likeness.isSame(left, right);
    if (isSame(ours, theirs) || isSame(base, theirs)) return { value: ours, clashes: false };
    if (isSame(base, ours)) return { value: theirs, clashes: false };
    // deleted on one side and changed on the other: the changed one stays
    if (ours === undefined || theirs === undefined) return { value: ours ?? theirs, clashes: true };
    return this.#inside(base, ours, theirs);
  }

  #inside(base: Slot, ours: Value, theirs: Value): ValueMerge {
    if (isMap(ours) && isMap(theirs)) return this.#maps(isMap(base) ? base : new Map(), ours, theirs);
    if (isList(ours) && isList(theirs)) return this.#lists(isList(base) ? base : [], ours, theirs);
    return { value: ours, clashes: true };
  }

  /** Our keys in our order, their new ones after. */
  #maps(
    base: ReadonlyMap<string, Value>,
    ours: ReadonlyMap<string, Value>,
    theirs: ReadonlyMap<string, Value>,
  ): MapMerge {
    const merged = new Map<string, Value>();
    let clashes = false;
    for (const key of new Set([...ours.keys(), ...theirs.keys()])) {
      const slot = this.values(base.get(key), ours.get(key), theirs.get(key));
      clashes ||= slot.clashes;
      if (slot.value !== undefined) merged.set(key, slot.value);
    }
    return { value: merged, clashes };
  }

  #lists(base: readonly Value[], ours: readonly Value[], theirs: readonly Value[]): ValueMerge {
    for (const field of IDENTITY_FIELDS) {
      const [baseMap, ourMap, theirMap] = [base, ours, theirs].map((list) => keyBy(list, field));
      if (baseMap && ourMap && theirMap) {
        const { value, clashes } = this.#maps(baseMap, ourMap, theirMap);
        return { value: [...value.values()], clashes };
      }
    }
    return { value: ours, clashes: true };
  }
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
