/** A text that holds named fields, cut so that whatever is not touched keeps its bytes. */
import { MASKED } from '@svc/contract/transform.ts';

export type Fields = Record<string, unknown>;

export interface Field {
  readonly name: string;
  /** What stands before it and goes with it: comment lines in YAML. */
  readonly lead: string;
  readonly key: string;
  /** Everything between the key and the next field's lead. */
  readonly value: string;
}

export interface FieldText {
  readonly data: Fields;
  /** A name may come more than once: the last one counts. */
  readonly fields: readonly Field[];
  readonly head: string;
  readonly tail: string;
}

/** How one kind of text is read and written. */
export interface FieldFormat {
  write(text: Omit<FieldText, 'data'>): string;
  /** A field with another value, which is nested no deeper than the format reads. */
  replaced(field: Field, value: unknown): Field;
  /** The whole text anew, where single fields cannot be cut out. */
  serialise(data: Fields): string;
}

/** A copy of the data with fields hidden; whatever is not hidden keeps its identity. */
export type Hide = (data: unknown) => unknown;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text with its data as in `after`, which `Hide` made of it. */
export function shownFields(format: FieldFormat, given: FieldText, after: Fields): string {
  if (after === given.data) return format.write(given);
  const text = lastOfEach(given);
  if (!isCutUp(text)) return format.serialise(after);
  const fields: Field[] = [];
  for (const field of text.fields) {
    if (!Object.hasOwn(after, field.name)) continue;
    const [before, shown] = [text.data[field.name], after[field.name]];
    fields.push(before === shown ? field : format.replaced(field, shown));
  }
  return format.write({ ...text, fields });
}

/** The text without its masked fields; its other lines keep their numbers. */
export function withoutMasked(format: FieldFormat, given: FieldText): string {
  if (!Object.values(given.data).includes(MASKED)) return format.write(given);
  const text = lastOfEach(given);
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

/** What of `incoming` must become another value, so that what was hidden of `present` (shown as `after`) stays. */
export function mergedFields(format: FieldFormat, present: FieldText, after: Fields, incoming: FieldText): string {
  if (after === present.data) return format.write(incoming);
  const [old, given] = [lastOfEach(present), lastOfEach(incoming)];
  if (!isCutUp(old) || !isCutUp(given)) return format.serialise(keptData(present.data, after, incoming.data));
  const sources = new Map(old.fields.map((field) => [field.name, field]));
  const kept = given.fields.map((field) => mergedField(format, { old, after, given }, sources.get(field.name), field));
  const isMissing = ({ name }: Field): boolean => !Object.hasOwn(after, name) && !Object.hasOwn(given.data, name);
  return format.write({ ...given, fields: withMissing(kept, old.fields, isMissing) });
}

interface Sides {
  readonly old: FieldText;
  readonly after: Fields;
  readonly given: FieldText;
}

function mergedField(
  format: FieldFormat,
  { old, after, given }: Sides,
  source: Field | undefined,
  field: Field,
): Field {
  const { name } = field;
  const [before, value] = [old.data[name], given.data[name]];
  const shown = Object.hasOwn(after, name) ? after[name] : undefined;
  if (source === undefined || shown === before) return field;
  if (isMask(value)) return { ...field, value: source.value };
  if (!isFields(before) || !isFields(shown) || !isFields(value)) return field;
  return format.replaced(field, keptData(before, shown, value));
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

/** What is shown in place of a hidden value. In YAML, `[masked]` without quotes is a list of one word. */
export function isMask(value: unknown): boolean {
  return value === MASKED || (Array.isArray(value) && value.length === 1 && value[0] === 'masked');
}

/** Fields that only the present text has go behind the field that they followed there. */
function withMissing(kept: readonly Field[], present: readonly Field[], isMissing: (field: Field) => boolean): Field[] {
  const names = new Set(kept.map(({ name }) => name));
  const behind = new Map<string | null, Field[]>([[null, []]]);
  let last: string | null = null;
  for (const field of present) {
    if (names.has(field.name)) last = field.name;
    else if (isMissing(field)) {
      const fields = behind.get(last) ?? [];
      fields.push(field);
      behind.set(last, fields);
    }
  }
  return [...(behind.get(null) ?? []), ...kept.flatMap((field) => [field, ...(behind.get(field.name) ?? [])])];
}

/** Without the fields that a later one of their name stands for: they must not show what that one hides. */
function lastOfEach(text: FieldText): FieldText {
  const last = new Map(text.fields.map((field) => [field.name, field]));
  return last.size === text.fields.length
    ? text
    : { ...text, fields: text.fields.filter((field) => last.get(field.name) === field) };
}

/** Every field of the data has one place in the text. */
function isCutUp({ data, fields }: FieldText): boolean {
  const names = new Set(fields.map(({ name }) => name));
  const isWhole = names.size === fields.length && names.size === Object.keys(data).length;
  return isWhole && fields.every(({ name }) => Object.hasOwn(data, name));
}
