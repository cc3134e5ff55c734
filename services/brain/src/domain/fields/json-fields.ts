/** Fields of a JSON text by their places in it. */
import { membersOf, parseJson } from '../json-text.ts';
import { type Field, type FieldFormat, type Fields, type FieldText, isFields } from './field-text.ts';

export const jsonFields: FieldFormat = {
  inner: ({ value }, data) => cutObject(value, data),
  write({ head, fields, tail }) {
    const members = fields.map(({ lead, key, value }, index) => separated(lead, index === 0) + key + value);
    return head + members.join('') + tail;
  },
  replaced: (field, value) => ({ ...field, value: JSON.stringify(value) }),
  // Never asked for: each member of an object has a place of its own.
  serialise: () => null,
};

/** Null when the text is no object. */
export function readObject(text: string): FieldText | null {
  const data = parseJson(text);
  return isFields(data) ? cutObject(text, data) : null;
}

/** The text of an object of which the data is known. */
export function cutObject(text: string, data: Fields): FieldText {
  const open = text.indexOf('{') + 1;
  const fields: Field[] = [];
  let from = open;
  for (const { key: name, keyStart, valueStart, valueEnd } of membersOf(text, open - 1)) {
    fields.push({
      name,
      lead: text.slice(from, keyStart),
      key: text.slice(keyStart, valueStart),
      value: text.slice(valueStart, valueEnd),
    });
    from = valueEnd;
  }
  return { data, fields, head: text.slice(0, open), tail: text.slice(from) };
}

/** The first member has no comma before it, every other has one. */
function separated(lead: string, isFirst: boolean): string {
  if (isFirst) return lead.replace(',', '');
  return lead.includes(',') ? lead : `,${lead}`;
}
