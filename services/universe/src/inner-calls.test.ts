/** Calls through doors of the version before, which are replaced last. */
import { OPERATION_SUBJECTS } from '@svc/contract/operation.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createInnerCalls } from './inner-calls.ts';

const Asked = z.object({
  question: z.object({
    as: z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('identity'),
        id: z.string(),
        workspace: z.string(),
        limits: z.strictObject({ bound: z.null(), readOnly: z.boolean(), profile: z.null() }),
      }),
      z.strictObject({ kind: z.literal('operator'), agentId: z.null() }),
    ]),
  }),
});

test('a job runs, and what may be secret is not kept', async () => {
  const bus = createLocalBus();
  await bus.respond(OPERATION_SUBJECTS.servedBy('gateway'), async (payload) => {
    Asked.parse(JSON.parse(payload));
    return JSON.stringify({ answer: { result: '{"token":"x"}', bytes: 13, refusal: null } });
  });
  const log = { error: () => expect.unreachable() } as never;
  const calls = createInnerCalls({ bus, clock: systemClock, log });
  const limits = { bound: null, readOnly: false, profile: null };
  const call = { tool: 't', args: {}, session: '0'.repeat(64), requestId: 'r', hops: 1, mostBytes: 100 };
  for (const as of [
    { kind: 'operator', agentId: null },
    { kind: 'identity', id: 'ann', workspace: 'default', limits },
  ] as const) {
    const made = await calls.make({ ...call, as, deadlineAt: Date.now() + 5000 });
    expect(made).toEqual({ ok: true, result: { token: 'x' }, kept: null, bytes: 13 });
  }
  await bus.close();
});
