import { CallError } from '@svc/contract/codes.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { argumentParser } from './arguments.ts';

const parse = argumentParser({
  input: z.strictObject({
    category: z.string(),
    filename: z.string(),
    content: z.string(),
    brains: z.union([z.string(), z.array(z.string().min(3))]).optional(),
    docs: z.array(z.union([z.string(), z.strictObject({ text: z.string() })])).optional(),
    mode: z.enum(['read', 'write']).optional(),
  }),
  aliases: {
    file: { into: ['category', 'filename'], expand: () => ({ category: '', filename: 'x' }) },
    text: 'content',
  },
});

function problems(args: Record<string, unknown>): Record<string, string> {
  try {
    parse(args);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const found = error.details['problems'] as { path: string; message: string }[];
    for (const { path, message } of found) expect(error.message).toContain(`${path}: ${message}`);
    return Object.fromEntries(found.map(({ path, message }) => [path, message]));
  }
  return {};
}

const whole = { category: '', filename: 'x', content: '' };

test('what is missing is said to be required, with the other names for it', () => {
  expect(problems({})).toEqual({
    category: 'is required (or file)',
    filename: 'is required (or file)',
    content: 'is required (or text)',
  });
  expect(problems({ ...whole, docs: [{}] })).toEqual({ 'docs.0.text': 'is required' });
  expect(problems({ file: 'x', text: '' })).toEqual({});
});

test('what has the wrong form is told which ones it may have', () => {
  expect(problems({ ...whole, brains: 4 })).toEqual({ brains: 'must be one of these: string, array' });
  expect(problems({ ...whole, docs: [{ text: 1 }, 2] })).toEqual({
    'docs.0.text': 'Invalid input: expected string, received number',
    'docs.1': 'must be one of these: string, object',
  });
  expect(problems({ ...whole, brains: ['a'] })['brains.0']).toContain('>=3');
  expect(problems({ ...whole, docs: [{ text: 'a', more: 1 }] })).toEqual({ 'docs.0.more': 'is not known' });
  expect(problems({ ...whole, mode: 'delete' })['mode']).toContain('"read"|"write"');
  expect(problems({ ...whole, content: 4 })['content']).toContain('expected string, received number');
});
