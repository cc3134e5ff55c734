/** A service with one tool that answers what it is told to, so that others meet every answer there is. */
import { CALL_ERRORS, CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import { EFFECTS, toolFor } from '@svc/contract/tool.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition } from '@svc/runtime/service.ts';
import { z } from 'zod';

export interface Probe {
  readonly service: ServiceDefinition<Probe, StatelessPlatform>;
  /** Idempotency keys with which it was called, in turn. */
  readonly keys: (string | null)[];
  /** Said in turn before it answers well. */
  readonly failures: CallErrorCode[];
  /** Calls that wait until somebody lets them go. */
  readonly held: (() => void)[];
}

const defineTool = toolFor<Probe>();

const tool = (effect: (typeof EFFECTS)[number]) =>
  defineTool({
    name: `probe_${effect.replace('-', '_')}`,
    area: 'probe',
    description: 'Answers what it is told to.',
    input: z.strictObject({ text: z.string().default(''), size: z.int().default(0), hold: z.boolean().default(false) }),
    output: z.strictObject({ text: z.string() }),
    access: 'public',
    effect,
    refuses: [],
    raises: Object.keys(CALL_ERRORS) as CallErrorCode[],
    example: {},
    async handler({ text, size, hold }, { deps: { keys, failures, held }, idempotency }) {
      keys.push(idempotency?.key ?? null);
      if (hold) await new Promise<void>((resolve) => held.push(resolve));
      const failure = failures.shift();
      if (failure !== undefined) throw new CallError(failure);
      return { text: text + 'x'.repeat(size) };
    },
  });

export function createProbe(): Probe {
  const probe: Probe = {
    keys: [],
    failures: [],
    held: [],
    service: {
      name: 'probe',
      tools: EFFECTS.map(tool),
      start: async () => ({ deps: probe, checks: async () => [], drain: async () => {}, close: async () => {} }),
    },
  };
  return probe;
}
