/** JSON Schema -> the short type names of the generated documentation. */

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly $ref?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

export function fieldsOf(schema: JsonSchema): Field[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, member]) => ({
    name,
    type: typeText(member),
    required: required.has(name),
    description: [member.description ?? '', limitsText(member)].filter((part) => part !== '').join(' '),
  }));
}

/** The forms an object may have: one, or the members of a union. */
export function formsOf(schema: JsonSchema): readonly JsonSchema[] {
  return schema.anyOf ?? schema.oneOf ?? [schema];
}

export function typeText(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return unique(schema.enum.map((value) => JSON.stringify(value)));
  const union = schema.anyOf ?? schema.oneOf;
  if (union) return unique(union.map(typeText));
  if (schema.$ref !== undefined)
    return schema.$ref === '#' ? 'the same again' : (schema.$ref.split('/').at(-1) ?? 'any');
  if (typeof schema.type === 'object') return unique(schema.type.map((type) => typeText({ ...schema, type })));
  if (schema.type === 'array') return arrayText(schema);
  if (schema.type === 'object') return objectText(schema);
  return schema.type ?? 'any';
}

function arrayText({ items, prefixItems }: JsonSchema): string {
  if (prefixItems) return `[${prefixItems.map(typeText).join(', ')}]`;
  const item = items === undefined ? 'any' : typeText(items);
  return item.includes(' or ') ? `(${item})[]` : `${item}[]`;
}

function objectText({ properties = {}, required = [], additionalProperties }: JsonSchema): string {
  const names = Object.keys(properties);
  if (names.length > 0) return `{${names.map((name) => (required.includes(name) ? name : `${name}?`)).join(', ')}}`;
  return typeof additionalProperties === 'object' ? `object of ${typeText(additionalProperties)}` : 'object';
}

function unique(texts: readonly string[]): string {
  return [...new Set(texts)].join(' or ');
}

/** Limits in words; a pattern is left to the tool's own message. zod bounds every integer, which says nothing. */
function limitsText(schema: JsonSchema): string {
  const unbounded = Number.MAX_SAFE_INTEGER;
  const limits = [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minItems, schema.maxItems, 'items'),
    range(
      schema.minimum === -unbounded ? undefined : schema.minimum,
      schema.maximum === unbounded ? undefined : schema.maximum,
      '',
    ),
  ].filter((limit) => limit !== '');
  return limits.length === 0 ? '' : `(${limits.join('; ')})`;
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const figures =
    least !== undefined && most !== undefined
      ? least === most
        ? `${least}`
        : `${least}-${most}`
      : least !== undefined
        ? `at least ${least}`
        : most !== undefined
          ? `at most ${most}`
          : '';
  return figures === '' ? '' : `${figures} ${unit}`.trim();
}
