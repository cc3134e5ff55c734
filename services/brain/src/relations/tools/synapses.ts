/** Synapses as they are told: between brains that the caller may see. */
import { z } from 'zod';
import { scopeOf } from '../../memory/tools/scope.ts';
import { type CallContext, readableBrains } from '../../tools/target.ts';
import { shownNumber } from '../domain/fading.ts';
import type { NamedSynapse } from '../relation-rows.ts';

export const synapseTable = z
  .record(z.string(), z.record(z.string(), z.number()))
  .describe('How much each edge weighed when a session went along it last: 1 more than what was left of it.');

/** The heaviest first. Throws RLS_DENIED to whom says to be of a workspace that there is not. */
export async function shownSynapses(context: CallContext): Promise<NamedSynapse[]> {
  const workspace = (await scopeOf(context, {})) ?? '';
  const seen = new Set((await readableBrains(context)).map(({ name }) => name));
  const synapses = await context.deps.relations.synapses(workspace);
  return synapses.filter(({ from, to }) => seen.has(from) && seen.has(to));
}

export function byFrom(synapses: readonly NamedSynapse[]): Record<string, Record<string, number>> {
  const rows = Map.groupBy(synapses, ({ from }) => from);
  return Object.fromEntries(
    Array.from(rows, ([from, edges]) => [
      from,
      Object.fromEntries(edges.map(({ to, weight }) => [to, shownNumber(weight)])),
    ]),
  );
}
