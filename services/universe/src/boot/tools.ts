/** How the deployment stands, layer by layer, and how a session begins and ends its work. */
import { actorName } from '@svc/contract/actor.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { callErrorFor } from '@svc/runtime/failures.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { type DoorDeps, defineDoorTool, onBehalfOf } from '../doors-deps.ts';
import { bootTask, downOf, LAYERS, upOf } from './domain/layer.ts';

const layerNames = z.array(z.enum(LAYERS)).describe('Those that are up.');
const uptime = z.int().describe('Of the process that answers, in ms.');
/** By no clock that anybody sets. */
const uptimeMs = (): number => Math.round(process.uptime() * 1000);
const scopesShown = z.array(z.string()).describe('Held now.');
const noArguments = z.strictObject({});

const status = defineDoorTool({
  name: 'svc_boot_status',
  area: 'boot',
  description: 'Whether this session has begun its work, what it may do, and whether the deployment is ready.',
  input: noArguments,
  output: z.strictObject({
    initialized: z.boolean().describe('This session.'),
    taskId: z.string().nullable(),
    scopes: scopesShown,
    layers: layerNames,
    error: z.string().nullable(),
    ready: z.boolean().describe('No layer that everything needs is down.'),
    uptime,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps, caller }) {
    const all = await deps.layers.read();
    const down = downOf(all);
    const begun = await begunBy(deps, caller.session);
    const problem = down.length > 0 ? `Down: ${down.join(', ')}.` : begun === null ? NOT_KNOWN : null;
    return {
      initialized: (begun?.taskId ?? null) !== null,
      taskId: begun?.taskId ?? null,
      scopes: [...(begun?.scopes ?? [])],
      layers: upOf(all),
      error: problem,
      ready: down.length === 0,
      uptime: uptimeMs(),
    };
  },
});

const NOT_KNOWN = 'It cannot be told now whether this session has begun.';

interface Begun {
  readonly taskId: string | null;
  readonly scopes: readonly string[];
}

const NOT_BEGUN: Begun = { taskId: null, scopes: [] };

/** Null = nobody can tell now: the status is asked for most when something is away. */
async function begunBy({ boots, tasks }: DoorDeps, session: string): Promise<Begun | null> {
  try {
    const taskId = await boots.find(session);
    if (taskId === null) return NOT_BEGUN;
    const { task } = await tasks.task({ taskId: bootTask(session, taskId) });
    return task === null ? NOT_BEGUN : { taskId, scopes: task.scopes };
  } catch (error) {
    if (callErrorFor(error).code !== 'SERVICE_UNAVAILABLE') throw error;
    return null;
  }
}

const layers = defineDoorTool({
  name: 'svc_boot_layers',
  area: 'boot',
  description: 'Each layer of the deployment in the order of its start, as a check of the last second found it.',
  input: noArguments,
  output: z.strictObject({
    layers: z.array(
      z.strictObject({
        name: z.enum(LAYERS),
        order: z.int(),
        state: z.enum(['up', 'degraded', 'down', 'off']).describe('off: not configured, or not switched on.'),
        detail: z.string(),
        checkedAt: TimestampMs,
        latencyMs: z.int(),
      }),
    ),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  handler: async (_given, { deps }) => ({ layers: (await deps.layers.read()).map((layer) => ({ ...layer })) }),
});

const INIT_REFUSES = ['E_LAYER_DOWN', 'E_QUOTA', 'E_RATE_LIMIT', 'E_SUDO_SCOPE', 'E_SUDO_TASK_EXISTS'] as const;

const init = defineDoorTool({
  name: 'svc_boot_init',
  area: 'boot',
  description: 'Begins the work of this session: opens a task and asks for the scopes that it needs.',
  input: z.strictObject({
    taskId: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
      .optional()
      .describe('A name within the session, default `default`.'),
    scopes: z
      .array(z.string().min(1).max(128))
      .max(16)
      .optional()
      .describe("As in svc_sudo_createTask, default ['read']."),
  }),
  output: z.strictObject({
    success: z.literal(true),
    taskId: z.string(),
    scopes: scopesShown,
    pending: z.array(z.strictObject({ scope: z.string(), requestId: z.string() })),
    layers: layerNames,
    uptime,
    alreadyInitialized: z.boolean(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: INIT_REFUSES,
  dress: { success: false },
  example: { scopes: ['read', 'write'] },
  async handler({ taskId = 'default', scopes: wanted = ['read'] }, context) {
    const { deps, caller } = context;
    const all = await deps.layers.read();
    const shown = { taskId, layers: upOf(all) };
    const down = downOf(all);
    if (down.length > 0) throw context.refuse('E_LAYER_DOWN', { ...shown, down });
    const { session } = caller;
    const asked = { taskId: bootTask(session, taskId), scopes: wanted, as: onBehalfOf(caller) };
    const { scopes, pending } = context.take(await deps.tasks.beginTask(asked), shown);
    const wish = { session, taskId, by: actorName(caller), scopes };
    const { isNew, replaced } = settled(context, await deps.boots.begin(context, wish), shown);
    if (replaced !== null) await giveUp(context, replaced);
    return { success: true as const, ...shown, scopes, pending, uptime: uptimeMs(), alreadyInitialized: !isNew };
  },
});

/** May be done again and again. */
async function giveUp({ deps, caller }: Pick<ToolContext<DoorDeps, never, never>, 'deps' | 'caller'>, taskId: string) {
  await deps.tasks.endTask({ taskId: bootTask(caller.session, taskId), as: onBehalfOf(caller) });
}

const reset = defineDoorTool({
  name: 'svc_boot_reset',
  area: 'boot',
  description: 'Ends the work of this session and gives up the scopes of its task; other sessions go on.',
  input: noArguments,
  output: z.strictObject({ reset: z.literal(true), taskId: z.string().nullable() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  example: {},
  async handler(_given, context) {
    const { deps, caller } = context;
    const present = await deps.boots.find(caller.session);
    if (present !== null) await giveUp(context, present);
    const outcome = await deps.boots.forget(context, caller.session, actorName(caller));
    return { reset: true as const, taskId: settled(context, outcome) };
  },
});

export const bootTools = [status, layers, init, reset];
