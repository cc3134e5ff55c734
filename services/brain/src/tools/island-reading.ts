/** Islands of the brains that a call looks at: the topmost brain that has a name wins it. */
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { Sha256Hex } from '@svc/contract/params.ts';
import type { IslandRow, LoadedIsland } from '../brain/islands.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { listIslands, readIsland } from '../operations/islands.ts';
import { viewRules } from './island-boundary.ts';
import { type CallContext, resolveReads, type Target, type TargetWish } from './target.ts';

export const definition = z.strictObject({
  name: z.string(),
  type: z.string(),
  kind: z.enum(['text', 'data']),
  triggers: z.array(z.string()),
  enabled: z.boolean(),
  description: z.string(),
  source: z.array(z.string()).describe('Paths whose readable files are appended on load.'),
  gated: z.boolean().describe('Whether a policy is attached.'),
  invalid: z.literal(true).optional().describe('The file does not parse.'),
  brain: z.string(),
  branch: z.string(),
  hash: Sha256Hex,
});

interface PlacedIsland {
  readonly island: IslandRow;
  readonly brain: string;
  readonly branch: string;
  readonly gated: boolean;
}

export type FoundIsland = LoadedIsland & Pick<PlacedIsland, 'brain' | 'branch'>;

export function shownDefinition({ island, brain, branch, gated }: PlacedIsland): z.input<typeof definition> {
  const { name, type, kind, triggers, enabled, description, source, invalid, hash } = island;
  return {
    name,
    type,
    kind,
    triggers: [...triggers],
    enabled,
    description,
    source: [...source],
    gated,
    ...(invalid ? { invalid: true as const } : {}),
    brain,
    branch,
    hash,
  };
}

/** Readable islands with names after `after`, in order of their names. */
export async function islandsOfStack(
  context: CallContext,
  wish: TargetWish,
  after: string | null,
): Promise<Decision<(PlacedIsland & { readonly target: Target })[], ReadRefusal>> {
  const found = new Map<string, PlacedIsland & { readonly target: Target }>();
  for (const target of await resolveReads(context, wish)) {
    const { ask, brain, branch } = target;
    const rows = await viewRules(context, brain);
    for (let from = after, more = true; more; ) {
      const answer = await ask(listIslands, { branch, after: from });
      if (!answer.ok) return answer;
      const { islands, next } = answer.value;
      for (const island of islands) {
        if (found.has(island.name)) continue;
        found.set(island.name, { island, brain, branch, gated: rows.gate(island.name) !== null, target });
      }
      from = next;
      more = next !== null;
    }
  }
  return allow([...found.values()].sort((a, b) => (a.island.name < b.island.name ? -1 : 1)));
}

/** The island in the first of the brains that has it; null when none has. */
export async function findIsland(
  targets: readonly Target[],
  name: string,
  append: boolean,
): Promise<Decision<FoundIsland | null, ReadRefusal>> {
  for (const { ask, brain, branch } of targets) {
    const answer = await ask(readIsland, { branch, name, append });
    if (!answer.ok) return answer;
    if (answer.value !== null) return allow({ ...answer.value, brain, branch });
  }
  return allow(null);
}
