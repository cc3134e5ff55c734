/** JSON with sorted keys and no white space (RFC 8785): equal values give equal text. Linear, and without recursion. */

/** What of a list or object is still to be written. */
interface Open {
  readonly closer: string;
  /** Null in a list. */
  readonly keys: readonly string[] | null;
  readonly values: readonly unknown[];
  written: number;
}

/** Thrown for what no two programs need write alike. */
export class NoCanonicalForm extends Error {
  constructor() {
    super('numbers without a value and lone surrogates have no canonical form');
  }
}

/** The bytes that everybody computes alike. Throws NoCanonicalForm. */
export function canonicalJson(value: unknown): string {
  const text = canonicalOf(value);
  if (text === null) throw new NoCanonicalForm();
  return text;
}

/** Null = it has no canonical form. */
export function canonicalOf(value: unknown): string | null {
  let has = true;
  const text = sorted(value, (one) => {
    has &&= typeof one === 'string' ? one.isWellFormed() : typeof one !== 'number' || Number.isFinite(one);
  });
  return has ? text : null;
}

/** For what is compared and kept in one place: what has no canonical form is written as `JSON.stringify` writes it. */
export function sortedJson(value: unknown): string {
  return sorted(value, () => undefined);
}

/** `meet` sees each value that holds nothing, and each key. */
function sorted(value: unknown, meet: (one: unknown) => void): string {
  const parts: string[] = [];
  const open: Open[] = [];
  const write = (one: unknown): void => {
    const inside = openedOf(one);
    if (inside === null) meet(one);
    parts.push(inside === null ? JSON.stringify(one ?? null) : inside.keys === null ? '[' : '{');
    if (inside !== null) open.push(inside);
  };
  write(value);
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const { keys, values, written, closer } = innermost;
    if (written === values.length) {
      parts.push(closer);
      open.pop();
      continue;
    }
    if (written > 0) parts.push(',');
    if (keys !== null) {
      meet(keys[written]);
      parts.push(JSON.stringify(keys[written]), ':');
    }
    innermost.written += 1;
    write(values[written]);
  }
  return parts.join('');
}

/** Null of what holds nothing. Members that are undefined are none. */
function openedOf(value: unknown): Open | null {
  if (Array.isArray(value)) return { closer: ']', keys: null, values: value, written: 0 };
  if (value === null || typeof value !== 'object') return null;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    closer: '}',
    keys: members.map(([key]) => key),
    values: members.map(([, member]) => member as unknown),
    written: 0,
  };
}
