import type { VerifiedToken } from '@svc/contract/registry.ts';
import { type ToolCard, toolCard, toolFor } from '@svc/contract/tool.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { assertTokenAllows } from './access.ts';

const defineTool = toolFor<null>();
const card = (openToReaders: boolean): ToolCard =>
  toolCard(
    'habitat',
    defineTool({
      name: 'end_itself',
      area: 'a',
      description: 'Ends what is shown to it.',
      input: z.strictObject({}),
      output: z.strictObject({}),
      access: 'public',
      effect: 'write-idempotent',
      openToReaders,
      refuses: [],
      handler: async () => ({}),
    }),
  );

test('a token that only reads calls no tool that changes something but one that is open to it, inside its profile', () => {
  const token = (profile: string | null): VerifiedToken => ({
    limits: { tokenId: 'tok_1', bound: null, readOnly: true, profile, expiresAt: 1 },
    subject: { agentId: 'a1' },
    quarantined: false,
    roles: {},
    accounts: [],
    org: null,
    plan: null,
  });
  const asked = (isOpen: boolean, profile: string | null) => () =>
    assertTokenAllows(token(profile), card(isOpen), new Map());
  expect(asked(false, null)).toThrow('only read');
  expect(asked(true, null)).not.toThrow();
  expect(asked(true, 'habitat')).not.toThrow();
  expect(asked(true, 'brain')).toThrow('profile');
});
