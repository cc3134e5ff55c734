/** What a context is made of, and what was built of it as long as that stays the same. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type OpenBrain, READ_REFUSALS, type ReadRefusal } from '../brain/open-brain.ts';
import { decision, defineOperation, list, onBranch } from '../operations/operation.ts';
import { type AssembledContext, LAYERS } from './domain/assemble.ts';
import { readBesideFiles } from './rows-beside-files.ts';

/** Of what a workspace learned last, as much as a context tells. */
export const INSIGHTS_TOLD = 10;

const LayerName = z.enum(LAYERS);
const Kept: z.ZodType<AssembledContext> = z.strictObject({
  text: z.string(),
  tokens: z.number(),
  layers: list(
    z.strictObject({
      name: LayerName,
      tokens: z.number(),
      items: z.number(),
      truncated: z.boolean(),
      hash: z.string(),
    }),
  ),
  breakpoints: list(z.strictObject({ after: LayerName, tokens: z.number(), hash: z.string() })),
  citations: list(
    z.strictObject({
      file: z.string(),
      lines: z.tuple([z.number(), z.number()]).readonly(),
      commit: z.string().nullable(),
      hash: z.string(),
      layer: LayerName,
    }),
  ),
});

const Wished = z.strictObject({
  ...onBranch,
  workspace: z.string(),
  /** Who wishes what, under which rules; null = that is not known, and nothing is kept. */
  wisher: z.string().nullable(),
});

/**
 * What was built for the same wisher while neither a file, nor the branch, nor the lease, nor what is attended to or was
 * learned has changed. Its commits are named as they were shown to the wisher.
 */
export const readContext = defineOperation({
  name: 'readContext',
  effect: 'read',
  namesCommits: false,
  question: Wished,
  /** `key`: under which what is built now may be kept. */
  answer: decision(z.strictObject({ key: z.string().nullable(), kept: Kept.nullable() }), READ_REFUSALS),
  async run({ brain }, wished) {
    const key = await keyNow(brain, wished);
    if (!key.ok) return key;
    const kept = key.value === null ? undefined : brain.context.contexts.get(key.value);
    return allow({ key: key.value, kept: kept ?? null });
  },
});

async function keyNow(
  brain: OpenBrain,
  { branch, workspace, wisher }: z.output<typeof Wished>,
): Promise<Decision<string | null, ReadRefusal>> {
  const view = await brain.view(branch, null);
  if (!view.ok) return view;
  if (wisher === null) return allow(null);
  const parts = [wisher, branch, view.value.commit, ...(await stateOf(brain, branch, workspace))];
  return allow(hash('sha256', JSON.stringify(parts)));
}

async function stateOf(brain: OpenBrain, branch: string, workspace: string): Promise<unknown[]> {
  const tree = (await brain.trees.all()).get(branch)?.tree;
  await tree?.look();
  const changes = tree?.table.changes().map(({ file, change }) => [file, change, tree.table.get(file)?.hash]) ?? [];
  const { context } = brain;
  const client = poolClient(context.platform.database.pool);
  const { id } = context.homes.home;
  const asked = { brain: context.name, brainId: id, workspace, insights: INSIGHTS_TOLD };
  return [id, changes, await readBesideFiles(client, asked)];
}

/**
 * Under the key that `readContext` answered before it was built; not when anything has changed since, so that it may say
 * what was there in between.
 */
export const keepContext = defineOperation({
  name: 'keepContext',
  effect: 'write-idempotent',
  namesCommits: false,
  question: z.strictObject({ wished: Wished, key: z.string(), context: Kept }),
  answer: z.null(),
  async run({ brain }, { wished, key, context }) {
    const now = await keyNow(brain, wished);
    if (now.ok && now.value === key) brain.context.contexts.set(key, context);
    return null;
  },
});
