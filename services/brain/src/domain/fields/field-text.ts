/** A text that holds named fields, cut so that whatever is not touched keeps its bytes. */
import { isDeepStrictEqual } from 'node:util';
import { MASKED } from '@svc/contract/transform.ts';

export type Fields = Record<string, unknown>;

export interface Field {
  readonly name: string;
  /** What stands before it and goes with it: blanks and a comma in JSON, comment lines in YAML. */
  readonly lead: string;
  readonly key: string;
  /** Everything between the key and the next field's lead. */
  readonly value: string;
}

export interface FieldText {
  readonly data: Fields;
  readonly fields: readonly Field[];
  readonly head: string;
  readonly tail: string;
}

/** How one kind of text is read and written. */
export interface FieldFormat {
  /** Null when the text holds no fields that could be told apart. */
  parse(text: string): FieldText | null;
  write(text: Omit<FieldText, 'data'>): string;
  /** A field with another value. */
  replaced(field: Field, value: unknown): Field;
  /** The whole text anew, where single fields cannot be cut out. */
  serialise(data: Fields): string;
}

/** A copy of the data with fields hidden; whatever is not hidden keeps its identity. */
export type Hide = (data: unknown) => unknown;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text as it is shown. */
export function shownFields(format: FieldFormat, text: FieldText, hide: Hide): string {
  const after = hide(text.data) as Fields;
  if (after === text.data) return format.write(text);
  if (!isCutUp(text)) return format.serialise(after);
  const fields = text.fields.flatMap((field) => {
    if (!Object.hasOwn(after, field.name)) return [];
    const value = after[field.name];
    return [value === text.data[field.name] ? field : format.replaced(field, value)];
  });
  return format.write({ ...text, fields });
}

/** The text without its masked fields; its other lines keep their numbers. */
export function withoutMasked(format: FieldFormat, text: FieldText): string {
  if (!Object.values(text.data).includes(MASKED)) return format.write(text);
  if (!isCutUp(text)) {
    return format.serialise(Object.fromEntries(Object.entries(text.data).filter(([, value]) => value !== MASKED)));
  }
  const fields: Field[] = [];
  let lines = '';
  for (const field of text.fields) {
    if (text.data[field.name] === MASKED) lines += (field.lead + field.key + field.value).replaceAll(/[^\n]+/g, '');
    else {
      fields.push({ ...field, lead: lines + field.lead });
      lines = '';
    }
  }
  return format.write({ ...text, fields, tail: lines + text.tail });
}

/** What of `incoming` must become another value, so that what `hide` hid of `present` stays. */
export function mergedFields(format: FieldFormat, present: FieldText, incoming: FieldText, hide: Hide): string {
  const after = hide(present.data) as Fields;
  if (after === present.data) return format.write(incoming);
  const data = keptData(present.data, after, incoming.data);
  if (!isCutUp(present) || !isCutUp(incoming)) return format.serialise(data);
  const kept = incoming.fields.map((field) => {
    const value = data[field.name];
    if (value === incoming.data[field.name]) return field;
    const source = present.fields.find(({ name }) => name === field.name);
    return source !== undefined && value === present.data[field.name]
      ? { ...field, value: source.value }
      : format.replaced(field, value);
  });
  return format.write({ ...incoming, fields: withMissing(kept, present.fields, data) });
}

/** Hidden values of `before` (shown as `after`) put where `incoming` leaves them out or shows them masked. */
function keptData(before: Fields, after: Fields, incoming: Fields): Fields {
  const kept = new Map(Object.entries(incoming));
  for (const [name, value] of Object.entries(before)) {
    const shown = Object.hasOwn(after, name) ? after[name] : undefined;
    if (shown === value) continue;
    const given = kept.get(name);
    if (isMask(given) || (given === undefined && !Object.hasOwn(after, name))) kept.set(name, value);
    else if (isFields(value) && isFields(shown) && isFields(given)) kept.set(name, keptData(value, shown, given));
  }
  return Object.fromEntries(kept);
}

/** In YAML, `[masked]` without quotes is a list of one word. */
function isMask(value: unknown): boolean {
  return value === MASKED || isDeepStrictEqual(value, ['masked']);
}

/** Fields that only the present text has go behind the field that they followed there. */
function withMissing(kept: readonly Field[], present: readonly Field[], data: Fields): Field[] {
  const fields = [...kept];
  for (const [index, field] of present.entries()) {
    if (!Object.hasOwn(data, field.name) || fields.some(({ name }) => name === field.name)) continue;
    const before = present.slice(0, index).findLast(({ name }) => fields.some((candidate) => candidate.name === name));
    const at = before === undefined ? 0 : fields.findIndex(({ name }) => name === before.name) + 1;
    fields.splice(at, 0, field);
  }
  return fields;
}

/** Every field of the data has one place in the text. */
function isCutUp({ data, fields }: FieldText): boolean {
  const names = new Set(fields.map(({ name }) => name));
  const isWhole = names.size === fields.length && names.size === Object.keys(data).length;
  return isWhole && fields.every(({ name }) => Object.hasOwn(data, name));
}
