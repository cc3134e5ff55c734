/** A tool as a list shows it that is read into the context of a model: without what goes without saying. */
import type { ToolAnnotations, ToolCard } from '@svc/contract/tool.ts';
import { isObject } from './call-form.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Without the schema of results, the form of names and what only operators say, all of which `tool_describe` tells. */
export function listedTool({ name, description, inputSchema, annotations }: ToolCard): Schema {
  const schema = briefSchema(inputSchema);
  return { name, description, inputSchema: withoutSubject(schema), annotations: briefAnnotations(annotations) };
}

/** To look as somebody else is for operators alone, and stands in many tools. */
function withoutSubject(schema: Schema): Schema {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const { userCtx: _userCtx, ...others } = properties;
  return { ...schema, properties: others };
}

/** What is left out is what the protocol says of a tool that does not say it. Of a tool that only reads, nothing else counts. */
function briefAnnotations({ readOnlyHint, idempotentHint, destructiveHint, openWorldHint }: ToolAnnotations): Schema {
  const world = openWorldHint ? {} : { openWorldHint: false };
  if (readOnlyHint) return { readOnlyHint: true, ...world };
  return {
    ...(idempotentHint ? { idempotentHint: true } : {}),
    ...(destructiveHint ? {} : { destructiveHint: false }),
    ...world,
  };
}

/** Without the words of JSON Schema that allow everything, and without patterns and bounds: a call that does not fit is told why. */
export function briefSchema(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(([word, value]) => !isLeftOut(word, value));
  return Object.fromEntries(kept.map(([word, value]) => [word, briefValue(word, value)]));
}

/** What a value that does not fit is told of. */
const BOUNDS: ReadonlySet<string> = new Set([
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
]);

function isLeftOut(word: string, value: unknown): boolean {
  if (BOUNDS.has(word)) return true;
  switch (word) {
    case 'required':
      return Array.isArray(value) && value.length === 0;
    case 'additionalProperties':
      return value === false || (isObject(value) && Object.keys(value).length === 0);
    case 'propertyNames':
      // The name of a member is a text anyway.
      return isObject(value) && Object.keys(value).length === 1 && value['type'] === 'string';
    default:
      return false;
  }
}

function briefValue(word: string, value: unknown): unknown {
  // Below it stand names of arguments, and no words of the schema.
  if (word === 'properties' && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, isObject(part) ? briefSchema(part) : part]),
    );
  }
  if (word === 'default' || word === 'const' || word === 'enum') return value;
  if (Array.isArray(value)) return value.map((part: unknown) => (isObject(part) ? briefSchema(part) : part));
  return isObject(value) ? briefSchema(value) : value;
}
