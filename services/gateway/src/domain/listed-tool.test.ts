import { expect, test } from 'vitest';
import { briefSchema, listedTool } from './listed-tool.ts';

const annotations = { readOnlyHint: false, idempotentHint: false, destructiveHint: false, openWorldHint: false };
const card = {
  name: 'a',
  service: 's',
  area: 'a',
  description: 'A tool.',
  inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  outputSchema: {},
  access: 'public',
  effect: 'read',
  openToReaders: false,
  refusals: [],
  callErrors: [],
  bare: false,
  deadlineMs: 1,
  secrets: [],
  example: null,
} as const;

test('says of a tool what the protocol does not take for granted', () => {
  const hints = (own: Partial<typeof annotations>) => listedTool({ ...card, annotations: { ...annotations, ...own } });
  expect(hints({ readOnlyHint: true, idempotentHint: true })).toEqual({
    name: 'a',
    description: 'A tool.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true, openWorldHint: false },
  });
  expect(hints({})['annotations']).toEqual({ destructiveHint: false, openWorldHint: false });
  expect(hints({ destructiveHint: true, idempotentHint: true, openWorldHint: true })['annotations']).toEqual({
    idempotentHint: true,
  });
});

test('leaves out of a schema what excludes nothing, and bounds', () => {
  const kept = {
    type: 'object',
    properties: {
      required: { type: 'array', items: { type: 'integer' }, default: [] },
      propertyNames: { type: 'string', const: 'x' },
      additionalProperties: { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] },
    },
    required: ['required'],
  };
  expect(briefSchema(kept)).toEqual(kept);
  const [minimum, maximum] = [0, Number.MAX_SAFE_INTEGER];
  expect(
    briefSchema({
      type: 'object',
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 5 },
        many: { type: 'array', minItems: 1, maxItems: 5 },
        args: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} },
        either: {
          anyOf: [
            { type: 'integer', minimum, maximum },
            { type: 'object', required: [] },
          ],
        },
      },
    }),
  ).toEqual({
    type: 'object',
    properties: {
      name: { type: 'string' },
      many: { type: 'array' },
      args: { type: 'object' },
      either: { anyOf: [{ type: 'integer' }, { type: 'object' }] },
    },
  });
});

test('leaves out the form of names, and the argument with which operators look as somebody else', () => {
  const userCtx = { type: 'object', description: 'As whom.', properties: { team: { type: 'string' } } };
  const properties = { pattern: { type: 'string', pattern: '^a$', description: 'What to find.' }, userCtx };
  expect(listedTool({ ...card, annotations, inputSchema: { type: 'object', properties } })['inputSchema']).toEqual({
    type: 'object',
    properties: {
      pattern: { type: 'string', description: 'What to find.' },
    },
  });
});
