/** recursion_batch, recursion_retry, recursion_register: one thing done to many, done again, and given a name. */
import { createHash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { familyOf } from '@svc/contract/subject.ts';
import { type Caller, MAX_DEADLINE_MS } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool, type UniverseDeps } from '../../deps.ts';
import { hopsAfter } from '../../inner-calls.ts';
import { homeOf, standingOf, withoutRole } from '../../standing.ts';
import { applyToAll, callForAll } from '../batch.ts';
import { allowanceUntil, MAX_ITEMS, MAX_TIME_MS } from '../domain/limits.ts';
import { LOOKUPS } from '../domain/lookup.ts';
import { BATCH_OPERATIONS, isBatchOperation } from '../domain/pipeline.ts';
import { TRAVERSALS } from '../domain/traverse.ts';
import { resolveOperation } from '../operations.ts';
import type { OperationSpec } from '../operation-store.ts';
import { retry } from '../retry.ts';

const CHOSEN = 'Somebody else chose what it changes; register it, or call its tool.';
const MAX_ARGUMENT_BYTES = 16 * 1024;
const workspace = WorkspaceName.optional().describe('Workspace of a registered operation; default: the current one.');
const Operation = z.string().min(1).max(100);
const Arguments = z
  .record(z.string(), z.unknown())
  .refine((args) => Buffer.byteLength(JSON.stringify(args)) <= MAX_ARGUMENT_BYTES, {
    message: 'must be at most 16 KiB as JSON',
  });

const batch = defineTool({
  name: 'recursion_batch',
  area: 'recursion',
  description: 'Does one thing to each item: a built-in operation, a registered one, or a tool that only reads.',
  input: z.strictObject({
    operation: Operation.describe(
      `One of ${BATCH_OPERATIONS.join(', ')}, a registered operation, or a tool that reads.`,
    ),
    items: z.array(z.unknown()).max(MAX_ITEMS).describe('At most 1000; of a tool, its arguments, and the first 50.'),
    workspace,
  }),
  output: z.strictObject({
    results: z.array(z.unknown()).describe('In the order of the items; null where one has an error.'),
    errors: z.array(z.strictObject({ index: z.int(), code: z.string(), error: z.string() })),
    count: z.int().describe('How many items were done.'),
    truncated: z.boolean().describe('Some were not: too many, no time left, or too long a result.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_RECURSION_OPERATION', 'E_LIMIT'],
  example: { operation: 'upper', items: ['a', 'b'] },
  async handler({ operation, items, workspace: named }, { deps, caller, refuse, now }) {
    const resolved = await resolveOperation(deps, caller, { operation, workspace: named });
    const deadlineAt = Math.min(caller.deadlineAt, now + MAX_TIME_MS);
    const allowance = allowanceUntil(Date.now, deadlineAt);
    if (resolved?.type === 'pipeline') return applyToAll(resolved.steps, items, allowance);
    if (resolved?.effect !== 'read') throw refuse('E_RECURSION_OPERATION', { operations: BATCH_OPERATIONS });
    const hops = hopsAfter(caller);
    if (hops === null) throw refuse('E_LIMIT');
    const { tool, args } = resolved;
    return callForAll({ calls: deps.calls, caller, tool, args, hops, deadlineAt }, items, allowance);
  },
});

const retryTool = defineTool({
  name: 'recursion_retry',
  area: 'recursion',
  description: 'Calls a tool, and again when the trouble may be over in a moment; all its attempts take effect once.',
  input: z.strictObject({
    operation: Operation.describe(
      'A tool, or a registered operation that is one; none that acts on the world outside, and of others only what reads.',
    ),
    arguments: Arguments.default({}),
    maxRetries: z.int().min(0).max(5).default(3),
    backoffMs: z.int().min(0).max(2000).default(100).describe('Before the first repetition; twice as long each time.'),
    workspace,
  }),
  output: z.strictObject({
    success: z.literal(true),
    result: z.unknown().describe('What the tool said; a secret is shown once, and null when the call is repeated.'),
    attempts: z.int(),
    delaysMs: z.array(z.int()),
    truncated: z.literal(true).optional().describe('It took effect; what it said is larger than 1 MiB.'),
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  deadlineMs: MAX_DEADLINE_MS,
  // The result is that of any tool.
  secrets: ['result'],
  dress: { success: false },
  refuses: ['E_RECURSION_OPERATION', 'E_RETRY_EXHAUSTED', 'E_RETRY_FAILED', 'E_LIMIT'],
  example: { operation: 'svc_memory_state', arguments: { key: 'k', value: 'v' } },
  async handler({ operation, arguments: given, maxRetries, backoffMs, workspace: named }, call) {
    const { deps, caller, refuse, idempotency } = call;
    const makeCall = async () => {
      const resolved = await resolveOperation(deps, caller, { operation, workspace: named });
      if (resolved?.type !== 'tool' || resolved.effect === 'external') {
        throw refuse('E_RECURSION_OPERATION', { attempts: 0 });
      }
      const { chosenBy } = resolved;
      if (chosenBy !== null && resolved.effect !== 'read') {
        throw refuse('E_RECURSION_OPERATION', { attempts: 0, owner: chosenBy }, CHOSEN);
      }
      const hops = hopsAfter(caller);
      if (hops === null) throw refuse('E_LIMIT', { attempts: 0 });
      const wish = { tool: resolved.tool, args: { ...resolved.args, ...given }, maxRetries, backoffMs, hops };
      return retry(deps, caller, { ...wish, key: keyFor(deps, caller, idempotency?.key) });
    };
    // What took effect under a key did so, whatever its operation is now.
    const tried = settled(call, await deps.operations.once(call, idempotency, makeCall));
    const { outcome, isExhausted, ...counts } = tried;
    if (outcome.ok) {
      const { result, isCut } = outcome;
      return { success: true as const, result, ...counts, ...(isCut ? { truncated: true as const } : {}) };
    }
    const { code: last, error: reason } = outcome;
    throw refuse(isExhausted ? 'E_RETRY_EXHAUSTED' : 'E_RETRY_FAILED', { ...counts, last, reason });
  },
});

/** All attempts of a call have one; those of a keyed call, whoever makes them. */
function keyFor({ random }: UniverseDeps, { principal }: Caller, given: string | undefined): string {
  const source = given === undefined ? random.bytes(16) : JSON.stringify([principal, given]);
  return `retry:${createHash('sha256').update(source).digest('hex')}`;
}

const register = defineTool({
  name: 'recursion_register',
  area: 'recursion',
  description:
    'Gives a name to a tool with some of its arguments, or to several built-in operations one after the other; one that changes something runs for whoever registered it, and for all when an operator did.',
  input: z
    .strictObject({
      name: z
        .string()
        .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be 1-64 small letters, digits, _ or - and start with a letter'),
      type: z.enum(['tool', 'pipeline']),
      tool: z.string().min(1).max(100).optional().describe('Of type tool.'),
      arguments: Arguments.optional().describe('Of type tool: those that every call has.'),
      steps: z.array(z.enum(BATCH_OPERATIONS)).min(1).max(20).optional().describe('Of type pipeline.'),
      workspace,
    })
    .superRefine(({ type, tool, arguments: args, steps }, context) => {
      const wrong = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
      if (type === 'tool' && tool === undefined) wrong('tool', 'is required');
      if (type === 'pipeline' && steps === undefined) wrong('steps', 'is required');
      if (type === 'tool' && steps !== undefined) wrong('steps', 'belongs to a pipeline');
      if (type === 'pipeline' && tool !== undefined) wrong('tool', 'belongs to the type tool');
      if (type === 'pipeline' && args !== undefined) wrong('arguments', 'belongs to the type tool');
    }),
  output: z.strictObject({
    registered: z.literal(true),
    name: z.string(),
    type: z.enum(['tool', 'pipeline']),
    replaced: z.boolean(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_RECURSION_TAKEN', 'E_QUOTA'],
  example: { name: 'shout', type: 'pipeline', steps: ['upper'] },
  async handler({ name, type, tool, arguments: args = {}, steps = [], workspace: named }, call) {
    const { deps, caller, refuse } = call;
    const standing = await standingOf(deps, caller);
    const home = homeOf(caller, named);
    if (!standing.holds(home, 'viewer'))
      throw new CallError('FORBIDDEN', `This takes a role in the workspace ${home}.`);
    if (isBuiltIn(name) || (await deps.calls.effectOf(name)) !== null) throw refuse('E_RECURSION_TAKEN');
    const spec: OperationSpec =
      type === 'tool' && tool !== undefined ? { type: 'tool', tool, args } : { type: 'pipeline', steps };
    if (spec.type === 'tool') await assertCallable(deps, spec.tool);
    const owner = standing.name;
    const family = familyOf(caller.subject) ?? owner;
    const owners = standing.operator ? [] : await deps.operations.ownersWithoutRoom(home, family);
    const gone = await withoutRole(call, home, owners);
    const wish = { workspace: home, name, spec, owner, family, gone };
    const replaced = settled(
      call,
      await deps.operations.put(call, { ...wish, mayReplace: standing.holds(home, 'admin') }),
    );
    return { registered: true as const, name, type, replaced };
  },
});

function isBuiltIn(name: string): boolean {
  return isBatchOperation(name) || [...TRAVERSALS, ...LOOKUPS].some((one) => one === name);
}

/** Throws VAF_INPUT_INVALID. */
async function assertCallable({ calls }: UniverseDeps, tool: string): Promise<void> {
  const effect = await calls.effectOf(tool);
  if (effect === null) throw invalidArguments([{ path: 'tool', message: 'there is no such tool' }]);
  if (effect === 'external') throw invalidArguments([{ path: 'tool', message: 'acts on the world outside' }]);
}

export const callingTools = [batch, retryTool, register];
