/** JSON Schema -> the text of a TypeScript type; a keyword that it does not know fails, so that no type is wider than its schema. */
import type { JsonSchema } from './schema-text.ts';

/** What is sent may leave fields out by `undefined` and hold its lists; what is received is the receiver's own. */
export type Direction = 'sent' | 'received';

/** Keywords that limit a value without changing its type. */
const LIMITS = [
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'minItems',
  'maxItems',
  'default',
  'propertyNames',
];
const SHAPES = [
  '$defs',
  '$ref',
  'additionalProperties',
  'anyOf',
  'const',
  'description',
  'enum',
  'items',
  'oneOf',
  'prefixItems',
  'properties',
  'required',
  'type',
];
const KNOWN = new Set([...LIMITS, ...SHAPES]);
/** The name under which the hand-written part of the client keeps the type of any JSON value. */
const ANY_JSON = 'Json';

export function schemaType(schema: JsonSchema, direction: Direction): string {
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length > 0) throw new Error(`a schema has ${unknown.join(', ')}, of which schemaType knows nothing`);
  if (schema.$ref !== undefined) return ANY_JSON;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms) return union(forms.map((form) => schemaType(form, direction)));
  const { type } = schema;
  if (Array.isArray(type)) return union(type.map((one: string) => schemaType({ ...schema, type: one }, direction)));
  if (type === 'array') return arrayType(schema, direction);
  if (type === 'object') return objectType(schema, direction);
  if (type === undefined) return 'unknown';
  return SCALARS[type as string] ?? fail(type);
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

function fail(type: unknown): never {
  throw new Error(`schemaType knows no type ${JSON.stringify(type)}`);
}

function arrayType({ items, prefixItems }: JsonSchema, direction: Direction): string {
  const readonly = direction === 'sent' ? 'readonly ' : '';
  if (prefixItems) return `${readonly}[${prefixItems.map((item) => schemaType(item, direction)).join(', ')}]`;
  const item = items === undefined ? 'unknown' : schemaType(items, direction);
  return `${readonly}${/[ |]/.test(item) ? `(${item})` : item}[]`;
}

function objectType(schema: JsonSchema, direction: Direction): string {
  const { properties = {}, required = [], additionalProperties } = schema;
  const fields = Object.entries(properties).map(([name, field]) => {
    const isRequired = required.includes(name);
    const optional = direction === 'sent' ? ' | undefined' : '';
    const type = schemaType(field, direction);
    return `${propertyName(name)}${isRequired ? '' : '?'}: ${type}${isRequired || type === 'unknown' ? '' : optional}`;
  });
  // A schema that says nothing of further fields comes from a loose object too when it is received.
  if (additionalProperties === false || (additionalProperties === undefined && fields.length > 0))
    return fields.length === 0 ? 'Record<string, never>' : `{ ${fields.join('; ')} }`;
  const rest = typeof additionalProperties === 'object' ? schemaType(additionalProperties, direction) : 'unknown';
  if (fields.length === 0) return `Record<string, ${rest}>`;
  return `{ ${fields.join('; ')} } & Record<string, unknown>`;
}

export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}
