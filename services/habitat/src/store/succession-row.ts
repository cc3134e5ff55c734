/** The one row that tells what a successor takes over, and from whom. */
import type { SqlClient } from '@svc/runtime/database.ts';

export const TRUST_LEVELS = ['high', 'medium', 'low', 'none'] as const;

interface Succession {
  readonly trustLevel: (typeof TRUST_LEVELS)[number];
  readonly previousBrain: string | null;
}

export async function readSuccession(client: SqlClient): Promise<Succession> {
  const [row] = await client.$queryRawUnsafe<Succession[]>(
    'SELECT trust_level AS "trustLevel", previous_brain AS "previousBrain" FROM habitat.succession',
  );
  if (row === undefined) throw new Error('the row of the succession is missing');
  return row;
}

/** Told again, or told late of an older import, it changes nothing. `at` in ms since the epoch. */
export async function recordSuccession(
  client: SqlClient,
  { previousBrain, at }: { readonly previousBrain: string; readonly at: number },
): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE habitat.succession SET previous_brain = $1, changed_at = to_timestamp($2::float8 / 1000)
     WHERE previous_brain IS NULL OR (previous_brain <> $1 AND changed_at < to_timestamp($2::float8 / 1000))`,
    previousBrain,
    at,
  );
}
