/** A small service whose tools show what reached them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RegistryStamp, TokenLimits } from '@svc/contract/registry.ts';
import { Subject, UserCtx } from '@svc/contract/subject.ts';
import { toolFor } from '@svc/contract/tool.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { type RunningService, startService } from '@svc/runtime/service.ts';
import { z } from 'zod';

export interface ProbeDeps {
  /** Names of the tools that ran, in order. */
  readonly ran: string[];
  /** What `probe_long` waits for, beside its time. */
  mayEnd: Promise<void>;
}

const define = toolFor<ProbeDeps>();
const Caller = z.object({
  subject: Subject,
  operator: z.boolean(),
  token: TokenLimits.nullable(),
  registry: RegistryStamp.nullable(),
  principal: z.string(),
  session: z.string(),
  requestId: z.string(),
  deadlineAt: z.number(),
});

const echo = define({
  name: 'probe_echo',
  area: 'probe',
  description: 'Returns its text and who called.',
  input: z.strictObject({
    text: z.string().optional(),
    userCtx: UserCtx.optional(),
    options: z.strictObject({ userCtx: UserCtx.optional() }).optional(),
  }),
  output: z.object({ text: z.string(), caller: Caller, key: z.string().nullable() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ text = '' }, { deps, caller, idempotency }) {
    deps.ran.push('probe_echo');
    return { text, caller, key: idempotency?.key ?? null };
  },
});

const read = define({
  name: 'probe_read',
  area: 'probe',
  description: 'A bare tool: its content is the result itself.',
  input: z.strictObject({ missing: z.boolean().optional() }),
  output: z.object({ content: z.string() }),
  access: 'public',
  effect: 'read',
  refuses: ['E_FILE_ABSENT'],
  async handler({ missing }, { refuse }) {
    if (missing === true) throw refuse('E_FILE_ABSENT');
    return { content: '{"error":"x"}' };
  },
});

const write = define({
  name: 'probe_write',
  area: 'probe',
  description: 'Writes nothing, and tells under which key.',
  input: z.strictObject({ amount: z.number() }),
  output: z.object({ key: z.string().nullable() }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  async handler(_input, { deps, idempotency, markReplayed }) {
    deps.ran.push('probe_write');
    if (idempotency?.key === 'seen-before') markReplayed();
    return { key: idempotency?.key ?? null };
  },
});

const admin = define({
  name: 'probe_admin',
  area: 'probe',
  description: 'For operators.',
  input: z.strictObject({}),
  output: z.object({ ok: z.literal(true) }),
  access: 'operator',
  effect: 'write',
  refuses: [],
  handler: async () => ({ ok: true as const }),
});

const slowRead = define({ ...slow(), name: 'probe_slow_read', effect: 'read' });
const slowWrite = define({ ...slow(), name: 'probe_slow_write', effect: 'write' });

function slow() {
  return {
    area: 'probe',
    description: 'Answers late.',
    input: z.strictObject({ forMs: z.int() }),
    output: z.object({ done: z.literal(true) }),
    access: 'public' as const,
    refuses: [],
    async handler({ forMs }: { forMs: number }) {
      await sleep(forMs);
      return { done: true as const };
    },
  };
}

const long = define({
  name: 'probe_long',
  area: 'probe',
  description: 'May take a minute; tells under which key it ran.',
  input: z.strictObject({ forMs: z.int(), missing: z.boolean().optional(), isBug: z.boolean().optional() }),
  output: z.object({ key: z.string().nullable() }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_FILE_ABSENT'],
  deadlineMs: 60_000,
  async handler({ forMs, missing, isBug }, { deps, idempotency, refuse }) {
    await sleep(forMs);
    await deps.mayEnd;
    deps.ran.push('probe_long');
    if (missing === true) throw refuse('E_FILE_ABSENT');
    if (isBug === true) throw new Error('secret path /var/lib');
    return { key: idempotency?.key ?? null };
  },
});

const bug = define({
  name: 'probe_bug',
  area: 'probe',
  description: 'Fails as programs do.',
  input: z.strictObject({}),
  output: z.object({}),
  access: 'public',
  effect: 'read',
  refuses: [],
  handler: () => Promise.reject(new Error('secret path /var/lib')),
});

/** A service that comes later and brings a tool. */
export function startLateService(platform: StatelessPlatform): Promise<RunningService<object>> {
  const handle = { deps: {}, checks: async () => [], drain: async () => {}, close: async () => {} };
  const late = toolFor<object>()({ ...slow(), name: 'late_tool', effect: 'read' });
  return startService(platform, { name: 'late', tools: [late], start: async () => handle });
}

export async function startProbe(platform: StatelessPlatform): Promise<RunningService<ProbeDeps>> {
  const deps: ProbeDeps = { ran: [], mayEnd: Promise.resolve() };
  const handle = { deps, checks: async () => [], drain: async () => {}, close: async () => {} };
  const tools = [echo, read, write, admin, slowRead, slowWrite, long, bug];
  return startService(platform, { name: 'probe', tools, start: async () => handle });
}
