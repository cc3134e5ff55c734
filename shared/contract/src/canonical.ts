/** JSON with sorted keys and no white space (RFC 8785): equal values give equal text. Linear, and without recursion. */

type Members = Readonly<Record<string, unknown>>;

/** What of a list or an object is still to be written; an object's keys are in the order in which they are. */
type Open = { readonly length: number; written: number } & (
  | { readonly list: readonly unknown[]; readonly keys: null }
  | { readonly list: null; readonly keys: readonly string[]; readonly members: Members }
);

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
  let text = '';
  const open: Open[] = [];
  const write = (one: unknown): void => {
    if (one === null || typeof one !== 'object') {
      meet(one);
      text += JSON.stringify(one ?? null);
      return;
    }
    text += Array.isArray(one) ? '[' : '{';
    open.push(opened(one));
  };
  write(value);
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const at = innermost.written;
    if (at === innermost.length) {
      text += innermost.list === null ? '}' : ']';
      open.pop();
      continue;
    }
    innermost.written += 1;
    if (at > 0) text += ',';
    if (innermost.list === null) {
      const key = innermost.keys[at] as string;
      meet(key);
      text += `${JSON.stringify(key)}:`;
      write(innermost.members[key]);
    } else write(innermost.list[at]);
  }
  return text;
}

/** Members that are undefined are none. */
function opened(one: object): Open {
  if (Array.isArray(one)) return { list: one, keys: null, length: one.length, written: 0 };
  const members = one as Members;
  // By their UTF-16 code units, as the RFC wants it.
  const keys = Object.keys(members)
    .filter((key) => members[key] !== undefined)
    .sort();
  return { list: null, keys, members, length: keys.length, written: 0 };
}
