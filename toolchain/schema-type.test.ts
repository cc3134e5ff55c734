import { describe, expect, it } from 'vitest';
import type { JsonSchema } from './schema-text.ts';
import { schemaType } from './schema-type.ts';

const text: JsonSchema = { type: 'string' };
const words: JsonSchema = { type: 'string', enum: ['a', 'b'] };
const strict = { type: 'object', additionalProperties: false } as const;
const loose = { type: 'object', additionalProperties: {} } as const;

describe('the type of a schema', () => {
  it.each<[JsonSchema, string]>([
    [{ ...text, minLength: 1, pattern: '^a' }, 'string'],
    [{ type: 'integer', minimum: 0 }, 'number'],
    [{ ...text, const: 'x' }, '"x"'],
    [{ type: 'null', const: null }, 'null'],
    [words, '"a" | "b"'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ anyOf: [text, { type: 'null' }] }, 'string | null'],
    [{ type: 'array', items: words }, '("a" | "b")[]'],
    [{ type: 'array', prefixItems: [text, { type: 'number' }] }, '[string, number]'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [loose, 'Record<string, unknown>'],
    [strict, 'Record<string, never>'],
    [{ ...strict, properties: { a: text, b: { type: 'number' } }, required: ['a'] }, '{ a: string; b?: number }'],
    [{ ...loose, properties: { 'a-b': text } }, '{ "a-b"?: string } & Record<string, unknown>'],
    [{ ...strict, properties: { any: { $ref: '#/$defs/__schema0' } } }, '{ any?: Json }'],
    [{}, 'unknown'],
  ])('%#', (schema, type) => expect(schemaType(schema, 'received')).toBe(type));

  it('lets a sender leave out by `undefined` and keep its lists', () => {
    const fields = { ...strict, properties: { a: { type: 'array', items: text }, b: {} } };
    expect(schemaType(fields, 'sent')).toBe('{ a?: readonly string[] | undefined; b?: unknown }');
  });

  it('fails for what it does not know, rather than to say less', () => {
    const both = { allOf: [text] } as JsonSchema;
    expect(() => schemaType(both, 'sent')).toThrow('allOf');
    expect(() => schemaType({ type: 'date' }, 'sent')).toThrow('date');
  });
});
