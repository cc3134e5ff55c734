/** Which cards of a service may be loaded: a tool without schema, access, effect, refusals or limits is none. */
import type { ToolCard } from '@svc/contract/tool.ts';
import { MAX_DEADLINE_MS } from '@svc/contract/tool.ts';
import { z } from 'zod';

const ObjectSchema = z.looseObject({ type: z.literal('object') });

const Card = z.object({
  name: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/),
  service: z.string(),
  area: z.string().min(1),
  description: z.string().min(1),
  inputSchema: ObjectSchema,
  outputSchema: ObjectSchema,
  annotations: z.object({
    readOnlyHint: z.boolean(),
    idempotentHint: z.boolean(),
    destructiveHint: z.boolean(),
    openWorldHint: z.boolean(),
  }),
  access: z.enum(['public', 'identified', 'operator', 'workspace:admin', 'workspace:editor', 'workspace:viewer']),
  effect: z.enum(['read', 'write-idempotent', 'write', 'external']),
  openToReaders: z.boolean().default(false),
  refusals: z.array(z.string()),
  callErrors: z.array(z.string()),
  bare: z.boolean(),
  deadlineMs: z.number().min(1).max(MAX_DEADLINE_MS),
  secrets: z.array(z.string()).default([]),
  example: z.record(z.string(), z.unknown()).nullable(),
});

export function usableCards(service: string, reply: unknown): { cards: ToolCard[]; problems: string[] } {
  const cards: ToolCard[] = [];
  const problems: string[] = [];
  for (const offered of z.array(z.unknown()).parse(reply)) {
    const parsed = Card.safeParse(offered);
    if (parsed.success && parsed.data.service === service) cards.push(parsed.data);
    else
      problems.push(
        parsed.success ? `${parsed.data.name}: belongs to another service` : problemOf(offered, parsed.error),
      );
  }
  return { cards, problems };
}

function problemOf(offered: unknown, error: z.ZodError): string {
  const name = z.object({ name: z.string() }).safeParse(offered).data?.name ?? 'unnamed';
  return `${name}: ${error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}`;
}
