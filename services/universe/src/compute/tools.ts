/** Code of callers, run where it can do no harm, and functions that need none. */
import { actorName } from '@svc/contract/actor.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { JsonData } from '@svc/contract/json-data.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { assertPermitted, defineSandboxTool, type SandboxDeps, tenantOf, workspaceOf } from '../sandbox-deps.ts';
import type { Timed } from './compute.ts';
import { LISTED_FUNCTIONS, positional, runListed } from './domain/functions.ts';
import { COMPUTE_LIMITS, type ComputeDenial, type SandboxTask } from './domain/outcome.ts';
import { ENGINE } from './sandbox.ts';

const LANGUAGES = ['javascript'];
const SPELLINGS: readonly string[] = [...LANGUAGES, 'js', 'node'];

const source = (meaning: string) =>
  z
    .string()
    .min(1)
    .refine((text) => Buffer.byteLength(text) <= COMPUTE_LIMITS.codeBytes, 'must be at most 64 KiB')
    .describe(meaning);
const code = source('JavaScript. Its last expression, or what its promise settles to, is the result.');
const fn = source('A function of compute_list, or the source of a function expression of JavaScript.');
const language = z.string().max(64).optional().describe('javascript, also as js or node; the default.');
const timeout = z.int().min(1).max(COMPUTE_LIMITS.maxTimeMs).optional().describe('In ms, default 1000.');
const args = JsonData.optional().describe('A list is one argument after the other; anything else is the one argument.');

const result = z.unknown().describe('Any JSON.');
const durationMs = z.int();
const Evaluated = z.strictObject({ language: z.string(), result, logs: z.array(z.string()), durationMs });
const Invoked = z.strictObject({ fn: z.string(), result, durationMs });
const InvokedFunc = z.strictObject({ func: z.string(), result, durationMs });

const REFUSES = ['E_COMPUTE_ERROR', 'E_COMPUTE_MEMORY', 'E_COMPUTE_OUTPUT', 'E_COMPUTE_TIMEOUT', 'E_DISABLED'] as const;
const EVALUATE_REFUSES = [...REFUSES, 'E_LANGUAGE'] as const;
const INVOKE_REFUSES = [...REFUSES, 'E_FUNCTION'] as const;
const ALL_REFUSES = [...EVALUATE_REFUSES, 'E_FUNCTION'] as const;
const RAISES = ['FORBIDDEN', 'RATE_LIMITED'] as const;

const common = {
  area: 'compute',
  access: 'identified',
  effect: 'external',
  raises: RAISES,
  dress: { ok: false },
} as const;

type Call = ToolContext<SandboxDeps, (typeof ALL_REFUSES)[number], (typeof RAISES)[number]>;

/** Throws the refusal of what is switched off, unproven or in another language. */
async function assertReady({ deps, caller, refuse }: Call, asked: string | undefined): Promise<void> {
  if (!(await deps.registry.setting('compute.enabled', caller.registry))) {
    deps.refusals.note();
    throw refuse('E_DISABLED', { needs: ['compute.enabled'] });
  }
  if (asked !== undefined && !SPELLINGS.includes(asked)) throw refuse('E_LANGUAGE', { languages: LANGUAGES });
  if (!(await deps.compute.probe()).ok) throw refuse('E_DISABLED', { needs: ['sandbox'] });
}

interface Asked {
  readonly language: string | undefined;
  /** Null = code of the caller. */
  readonly listed: string | null;
  make(): Promise<Decision<Timed, ComputeDenial>>;
}

/** Once for a key; tells what was run, whatever came of it. Throws FORBIDDEN, or a refusal. */
async function ran(call: Call, { language: asked, listed, make }: Asked): Promise<Timed> {
  const { caller, deps } = call;
  await assertPermitted(deps.registry, caller, 'exec');
  const outcome = await deps.keyedRuns.once<Decision<Timed, ComputeDenial>, never>(call, async () => {
    await assertReady(call, asked);
    const decision = await make();
    return deps.sandboxStore.change(call, async ({ emit }) => {
      const payload = { by: actorName(caller), function: listed, code: decision.ok ? null : decision.code };
      emit({ name: 'compute:ran', workspace: workspaceOf(caller), payload });
      return allow(decision);
    });
  });
  return call.take(settled(call, outcome));
}

function run(call: Call, asked: string | undefined, task: SandboxTask, timeMs: number = COMPUTE_LIMITS.timeMs) {
  const make = () => call.deps.compute.run(tenantOf(call.caller), task, timeMs);
  return ran(call, { language: asked, listed: null, make });
}

async function evaluate(call: Call, text: string, asked: string | undefined, timeMs: number | undefined) {
  const { result: value, logs, durationMs: took } = await run(call, asked, { kind: 'evaluate', code: text }, timeMs);
  return { language: 'javascript', result: value, logs: [...logs], durationMs: took };
}

async function invoke(call: Call, named: string, values: unknown, asked: string | undefined) {
  const listed = runListed(named, values);
  if (listed === null) {
    return run(call, asked, { kind: 'call', source: named, arguments: JSON.stringify(positional(values)) });
  }
  const timed = listed.ok ? allow({ result: listed.value, logs: [], durationMs: 0 }) : listed;
  return ran(call, { language: asked, listed: named, make: async () => timed });
}

const evaluateTool = defineSandboxTool({
  ...common,
  name: 'compute_eval',
  description: 'Run JavaScript in a sandbox without network, files or clock, and get the value of its last expression.',
  input: z.strictObject({ code, language, timeout }),
  output: Evaluated,
  refuses: EVALUATE_REFUSES,
  aliases: { lang: 'language' },
  example: { code: '[1, 2, 3].map((n) => n * n)' },
  handler: (given, call) => evaluate(call as Call, given.code, given.language, given.timeout),
});

const evaluateToo = defineSandboxTool({
  ...common,
  name: 'svc_compute_eval',
  description: 'The same as compute_eval, with lang for the language.',
  input: z.strictObject({ code, lang: language, timeout }),
  output: Evaluated,
  refuses: EVALUATE_REFUSES,
  aliases: { language: 'lang' },
  example: { code: '1 + 1' },
  handler: (given, call) => evaluate(call as Call, given.code, given.lang, given.timeout),
});

const invokeTool = defineSandboxTool({
  ...common,
  name: 'compute_invoke',
  description: 'Call a listed function, or a function expression of JavaScript, with arguments.',
  input: z.strictObject({ fn, args }),
  output: Invoked,
  refuses: INVOKE_REFUSES,
  aliases: { func: 'fn' },
  example: { fn: 'median', args: [[3, 1, 2]] },
  async handler(given, call) {
    const { result: value, durationMs: took } = await invoke(call as Call, given.fn, given.args, undefined);
    return { fn: given.fn, result: value, durationMs: took };
  },
});

const invokeToo = defineSandboxTool({
  ...common,
  name: 'svc_compute_invoke',
  description: 'The same as compute_invoke, with func for the function.',
  input: z.strictObject({ func: fn, args, lang: language }),
  output: InvokedFunc,
  refuses: ALL_REFUSES,
  aliases: { fn: 'func', language: 'lang' },
  example: { func: '(a, b) => a + b', args: [1, 2] },
  async handler(given, call) {
    const { result: value, durationMs: took } = await invoke(call, given.func, given.args, given.lang);
    return { func: given.func, result: value, durationMs: took };
  },
});

const list = defineSandboxTool({
  name: 'compute_list',
  area: 'compute',
  description: 'The functions and languages that there are, and whether code is run at all.',
  input: z.strictObject({}),
  output: z.strictObject({
    functions: z.array(z.strictObject({ name: z.string(), args: z.array(z.string()), description: z.string() })),
    languages: z.array(z.string()),
    enabled: z.boolean(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps, caller }) {
    const functions = LISTED_FUNCTIONS.map((one) => ({ ...one, args: [...one.args] }));
    return {
      functions,
      languages: LANGUAGES,
      enabled: await deps.registry.setting('compute.enabled', caller.registry),
    };
  },
});

const ProbeShown = z.strictObject({
  at: TimestampMs,
  ok: z.boolean(),
  checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean() })),
});

const status = (name: string, description: string) =>
  defineSandboxTool({
    name,
    area: 'compute',
    description,
    input: z.strictObject({}),
    output: z.strictObject({
      enabled: z.boolean(),
      ready: z.boolean().describe('Switched on, and the probe found no way out.'),
      engine: z.string(),
      engineVersion: z.string(),
      languages: z.array(z.string()),
      limits: z.record(z.string(), z.int()),
      probe: ProbeShown.nullable().describe('Null while it is off: nothing is started then.'),
      running: z.int(),
    }),
    access: 'public',
    effect: 'read',
    refuses: [],
    example: {},
    async handler(_given, { deps, caller }) {
      const enabled = await deps.registry.setting('compute.enabled', caller.registry);
      const probe = enabled ? await deps.compute.probe() : null;
      return {
        enabled,
        ready: probe?.ok ?? false,
        engine: ENGINE.name,
        engineVersion: ENGINE.version,
        languages: LANGUAGES,
        limits: { ...COMPUTE_LIMITS },
        probe: probe === null ? null : { ...probe, checks: [...probe.checks] },
        running: deps.compute.running(),
      };
    },
  });

export const computeTools = [
  evaluateTool,
  invokeTool,
  list,
  status('compute_status', 'What runs code here, its limits, and what the probe of its sandbox found.'),
  evaluateToo,
  invokeToo,
  status('svc_compute_status', 'The same as compute_status.'),
];
