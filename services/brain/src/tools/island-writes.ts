/** Changing islands: created, removed, switched on and off, given other triggers. */
import { z } from 'zod';
import { deny, type Decision, neverDenied } from '@svc/contract/decision.ts';
import {
  brainAndBranch,
  FileContent,
  ifMatch,
  leaseGuard,
  MAX_CONTENT_BYTES,
  Sha256Hex,
} from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../deps.ts';
import {
  type Amendment,
  DEFAULT_TYPE,
  Description,
  IslandName,
  IslandType,
  renderIsland,
  Sources,
  Triggers,
} from '../domain/island/island.ts';
import { normalTriggers } from '../domain/island/trigger.ts';
import { amendIsland, createIslands, type NewIsland, removeIsland } from '../operations/islands.ts';
import type { AnswerOf } from '../operations/operation.ts';
import { assertBoundary, viewRules } from './island-boundary.ts';
import {
  type CallContext,
  COMMIT_REFUSES,
  type Guard,
  resolveWrite,
  settled,
  type Target,
  type TargetWish,
  WRITE_RAISES,
  WRITE_REFUSES,
} from './target.ts';

const name = { name: IslandName };
const where = { ...brainAndBranch, ...leaseGuard, userCtx: UserCtx.optional() };

const newIsland = {
  ...name,
  type: IslandType.optional(),
  triggers: Triggers.optional(),
  content: z
    .union([FileContent, z.record(z.string(), z.unknown())])
    .optional()
    .describe('Text, or an object for a data island; default: an empty text.'),
  description: Description.optional(),
  source: Sources.optional(),
  enabled: z.boolean().optional().describe('Default true.'),
};

type IslandInput = z.output<z.ZodObject<typeof newIsland>>;

/** Throws VAF_INPUT_INVALID when the file would be larger than a file may be. */
function describe(input: IslandInput, path: string): NewIsland {
  const { content = '', type = DEFAULT_TYPE, triggers = [], enabled = true, description = '', source = [] } = input;
  const island: NewIsland = {
    name: input.name,
    definition: { type, triggers: normalTriggers(triggers), enabled, description, source },
    content: typeof content === 'string' ? { kind: 'text', text: content } : { kind: 'data', data: content },
  };
  if (Buffer.byteLength(renderIsland(island.definition, island.content)) > MAX_CONTENT_BYTES) {
    throw invalidArguments([{ path, message: 'makes a file of more than 1 MiB' }]);
  }
  return island;
}

/** The brain to be written, once the boundaries of the islands admit the caller. */
async function resolveIslands(
  context: CallContext,
  wish: TargetWish & Guard,
  names: readonly string[],
): Promise<Target> {
  const target = await resolveWrite(context, wish);
  await assertBoundary(context, await viewRules(context, target.brain), names, 'save');
  return target;
}

const create = defineTool({
  name: 'svc_create_island',
  area: 'islands',
  description: 'Creates an island: a Markdown file with triggers, or a data island from an object.',
  input: z.strictObject({ ...newIsland, ...where }),
  output: z.strictObject({
    created: z.literal(true),
    name: z.string(),
    type: z.string(),
    kind: z.enum(['text', 'data']),
    triggers: z.array(z.string()).describe('As stored.'),
    enabled: z.boolean(),
    file: z.string(),
    hash: Sha256Hex,
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...WRITE_REFUSES, 'E_ISLAND_EXISTS', 'E_CONFLICT'],
  raises: WRITE_RAISES,
  dress: { created: false },
  example: { name: 'ops', triggers: ['deploy'], content: 'How we deploy.' },
  async handler(input, context) {
    const island = describe(input, 'content');
    const { ask, brain, branch } = await resolveIslands(context, input, [input.name]);
    const answer = await ask(createIslands, { branch, islands: [island] });
    const [made] = context.take(withoutResults(settled(context, answer)), { name: input.name });
    if (made === undefined) throw new Error('an island was created without an answer');
    const { type, triggers, enabled } = island.definition;
    return {
      created: true as const,
      name: made.name,
      type,
      kind: island.content.kind,
      triggers: [...triggers],
      enabled,
      file: made.file,
      hash: made.hash,
      brain,
      branch,
    };
  },
});

/** Which of several islands is in the way says nothing when there is one. */
function withoutResults<Value, Code extends string>(decision: Decision<Value, Code>): Decision<Value, Code> {
  if (decision.ok || decision.details === undefined) return decision;
  const { results: _results, ...details } = decision.details;
  return { ...decision, details };
}

const bulkCreate = defineTool({
  name: 'svc_bulk_create_islands',
  area: 'islands',
  description: 'Creates several islands, all or none; a refusal names those that are in the way.',
  input: z.strictObject({ islands: z.array(z.strictObject(newIsland)).min(1).max(200), ...where }),
  output: z.strictObject({
    created: z.int(),
    results: z.array(z.strictObject({ name: z.string(), created: z.literal(true), hash: Sha256Hex })),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...WRITE_REFUSES, 'E_ISLAND_EXISTS', 'E_CONFLICT'],
  raises: WRITE_RAISES,
  dress: { created: 0 },
  example: {
    islands: [
      { name: 'ops', triggers: ['deploy'] },
      { name: 'limits', content: { perMinute: 60 } },
    ],
  },
  async handler({ islands: inputs, ...wish }, context) {
    const islands = inputs.map((input, index) => describe(input, `islands.${index}.content`));
    const names = islands.map((island) => island.name);
    const { ask, branch } = await resolveIslands(context, wish, names);
    const made = context.take(settled(context, await ask(createIslands, { branch, islands })));
    const results = made.map((island) => ({ name: island.name, created: true as const, hash: island.hash }));
    return { created: made.length, results };
  },
});

const remove = defineTool({
  name: 'svc_delete_island',
  area: 'islands',
  description: 'Removes an island; its past versions stay in the history, and its boundary in the registry.',
  input: z.strictObject({ ...name, ...where }),
  output: z.strictObject({ deleted: z.literal(true), name: z.string() }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [...COMMIT_REFUSES, 'E_ISLAND_ABSENT', 'E_CONFLICT'],
  raises: WRITE_RAISES,
  dress: { deleted: false },
  example: { name: 'ops' },
  async handler({ name: island, ...wish }, context) {
    const { ask, branch } = await resolveIslands(context, wish, [island]);
    context.take(settled(context, await ask(removeIsland, { branch, name: island })));
    return { deleted: true as const, name: island };
  },
});

const AMEND_REFUSES = [...WRITE_REFUSES, 'E_ISLAND_ABSENT', 'E_ISLAND_INVALID'] as const;

interface AmendWish extends TargetWish, Guard {
  readonly name: string;
  readonly ifMatch?: string | undefined;
}

async function amend(
  context: CallContext,
  wish: AmendWish,
  amendment: Amendment,
): Promise<AnswerOf<typeof amendIsland>['decision']> {
  const { ask, branch } = await resolveIslands(context, wish, [wish.name]);
  const { name: island, ifMatch: expected = null } = wish;
  return settled(context, await ask(amendIsland, { branch, name: island, amendment, ifMatch: expected }));
}

/** Nothing was expected of the file, so what is in conflict is that it is no text any more. */
function asInvalid<Value, Code extends string>(
  answer: Decision<Value, Code | 'E_CONFLICT'>,
  name: string,
): Decision<Value, Code | 'E_ISLAND_INVALID'> {
  const isConflict = !answer.ok && answer.code === 'E_CONFLICT';
  return isConflict ? deny('E_ISLAND_INVALID', { name }) : neverDenied(answer, 'E_CONFLICT');
}

function switchTool(enabled: boolean, tool: string, description: string) {
  return defineTool({
    name: tool,
    area: 'islands',
    description,
    input: z.strictObject({ ...name, ...where }),
    output: z.strictObject({ name: z.string(), enabled: z.boolean(), changed: z.boolean() }),
    access: 'identified',
    effect: 'write-idempotent',
    refuses: AMEND_REFUSES,
    raises: WRITE_RAISES,
    example: { name: 'ops' },
    async handler(wish, context) {
      const amended = await amend(context, wish, { member: 'enabled', value: enabled });
      const { island, changed } = context.take(asInvalid(amended, wish.name));
      return { name: island.name, enabled: island.enabled, changed };
    },
  });
}

const enable = switchTool(true, 'svc_enable_island', 'Switches an island on: it loads and is found by its triggers.');
const disable = switchTool(
  false,
  'svc_disable_island',
  'Switches an island off: it stays listed, and neither loads nor is found by its triggers.',
);

const updateTriggers = defineTool({
  name: 'svc_update_island_triggers',
  area: 'islands',
  description: 'Gives an island other triggers; the rest of its file stays as it is.',
  input: z.strictObject({ ...name, triggers: Triggers, ...where, ...ifMatch }),
  output: z.strictObject({
    name: z.string(),
    triggers: z.array(z.string()).describe('As stored.'),
    hash: Sha256Hex,
    changed: z.boolean(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...AMEND_REFUSES, 'E_CONFLICT'],
  raises: WRITE_RAISES,
  example: { name: 'ops', triggers: ['deploy', 'release'] },
  async handler({ triggers, ...wish }, context) {
    const amended = await amend(context, wish, { member: 'triggers', value: triggers });
    const { island, changed } = context.take(amended);
    return { name: island.name, triggers: [...island.triggers], hash: island.hash, changed };
  },
});

export const islandWriteTools = [create, bulkCreate, remove, enable, disable, updateTriggers];
