/** What sessions know of a brain that goes away or gets another name. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { freshPointer } from '../domain/stack.ts';

const CONCERNED = `stack @> jsonb_build_array(jsonb_build_object('brain', $1::text)) OR jsonb_exists(branches, $1)`;

/** A session that had nothing else on its stack is on the default brain then. */
export async function forgetBrain(transaction: SqlClient, brain: string, defaultBrain: string): Promise<void> {
  await transaction.$executeRawUnsafe(
    `UPDATE brain.brain_sessions SET branches = branches - $1::text, stack = coalesce((
       SELECT jsonb_agg(entry ORDER BY place) FROM jsonb_array_elements(stack) WITH ORDINALITY AS e(entry, place)
       WHERE entry->>'brain' <> $1), $2::jsonb) WHERE ${CONCERNED}`,
    brain,
    JSON.stringify(freshPointer(defaultBrain).stack),
  );
}

export async function renameBrain(transaction: SqlClient, brain: string, to: string): Promise<void> {
  await transaction.$executeRawUnsafe(
    `UPDATE brain.brain_sessions SET
       branches = (branches - $1::text) || CASE WHEN jsonb_exists(branches, $1)
         THEN jsonb_build_object($2::text, branches->($1::text)) ELSE '{}' END,
       stack = (SELECT jsonb_agg(CASE WHEN entry->>'brain' = $1 THEN entry || jsonb_build_object('brain', $2::text)
         ELSE entry END ORDER BY place) FROM jsonb_array_elements(stack) WITH ORDINALITY AS e(entry, place)
         WHERE entry->>'brain' <> $2) WHERE ${CONCERNED}`,
    brain,
    to,
  );
}
