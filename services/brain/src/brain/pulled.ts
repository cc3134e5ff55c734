/** What came of an integration, and what of it is shown to whom. */
import { z } from 'zod';
import type { IntegrationPlan } from '../git/integration.ts';
import type { RowView } from '../ports.ts';
import type { Applied } from './apply-plan.ts';

export const ShownConflict = z.strictObject({
  id: z.string(),
  file: z.string(),
  kind: z.string(),
  /** Blob ids; null also where hidden fields forbid to tell. */
  ours: z.string().nullable(),
  theirs: z.string().nullable(),
});
export type ShownConflict = Readonly<z.output<typeof ShownConflict>>;

/** How many files. */
export const FileCounts = z.strictObject({ added: z.number(), updated: z.number(), deleted: z.number() });

/** What came of an integration. */
export const Pulled = z.strictObject({
  status: z.string(),
  before: z.string(),
  after: z.string(),
  conflicts: z.array(ShownConflict).readonly(),
  rescue: z.string().nullable(),
  pulled: FileCounts,
});
export type Pulled = Readonly<z.output<typeof Pulled>>;

export function pulledOf(
  { status, before, after }: IntegrationPlan,
  { placed, conflicts, rescue }: Pick<Applied, 'placed' | 'conflicts' | 'rescue'>,
  rows: RowView,
): Pulled {
  const shown = conflicts.filter(({ file }) => rows.mayRead(file)).map((conflict) => shownConflict(conflict, rows));
  const moves = placed.filter(({ path }) => rows.mayRead(path.normalize('NFC')));
  const added = moves.filter(({ from }) => from === null).length;
  const deleted = moves.filter(({ to }) => to === null).length;
  const pulled = { added, deleted, updated: moves.length - added - deleted };
  return { status, before, after, rescue, conflicts: shown, pulled };
}

/** The id of a blob would tell a guesser what its hidden fields hold. */
export function shownConflict({ id, file, kind, ours, theirs }: ShownConflict, { hides }: RowView): ShownConflict {
  return hides(file) ? { id, file, kind, ours: null, theirs: null } : { id, file, kind, ours, theirs };
}
