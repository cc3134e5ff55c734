// The declarations below are judged by the type checker; the file runs to prove that the good ones also register.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { allow, deny, type Decision } from './decision.ts';
import { toolFor } from './tool.ts';

const defineTool = toolFor<{ store: string }>();
const base = {
  area: 'core',
  description: 'A sample.',
  access: 'public',
  effect: 'read',
  input: z.strictObject({ name: z.string() }),
  output: z.strictObject({ found: z.boolean(), note: z.string().optional() }),
} as const;

describe('tool declarations', () => {
  it('compile when they keep their promises', () => {
    const judged = (): Decision<number, 'E_FILE_ABSENT'> => (base.area === 'core' ? allow(1) : deny('E_FILE_ABSENT'));
    const tool = defineTool({
      ...base,
      name: 'sample',
      refuses: ['E_FILE_ABSENT', 'E_LOCKED'],
      raises: ['BRAIN_LOAD_FAIL'],
      async handler({ name }, { take, refuse, fail }) {
        if (name === 'locked') throw refuse('E_LOCKED');
        if (name === 'gone') throw fail('BRAIN_LOAD_FAIL');
        take(judged());
        return name === 'a' ? { found: true, note: name } : { found: false };
      },
    });
    expect(tool.bare).toBe(false);
  });

  it('are bare exactly when the declared result has a top-level content', () => {
    const content = defineTool({
      ...base,
      name: 'bare',
      refuses: [],
      output: z.strictObject({ content: z.string() }),
      handler: async () => ({ content: '' }),
    });
    expect(content.bare).toBe(true);
  });

  it('do not compile with an undeclared refusal, a wrong or an extra field', () => {
    const rejected = [
      defineTool({
        ...base,
        name: 'undeclared',
        refuses: ['E_LOCKED'],
        async handler(_input, { refuse }) {
          // @ts-expect-error the code is not in `refuses`
          throw refuse('E_FENCED');
        },
      }),
      defineTool({
        ...base,
        name: 'undeclared-decision',
        refuses: ['E_LOCKED'],
        async handler(_input, { take }) {
          // @ts-expect-error the decision can deny with a code that is not in `refuses`
          take(deny('E_FENCED') as Decision<number, 'E_FENCED'>);
          return { found: true };
        },
      }),
      defineTool({
        ...base,
        name: 'wrong',
        refuses: [],
        // @ts-expect-error `found` is a boolean
        handler: async () => ({ found: 'yes' }),
      }),
      defineTool({
        ...base,
        name: 'extra',
        refuses: [],
        // @ts-expect-error `hidden` is no field of the result
        handler: async () => ({ found: true, hidden: 1 }),
      }),
    ];
    expect(rejected).toHaveLength(4);
  });
});
