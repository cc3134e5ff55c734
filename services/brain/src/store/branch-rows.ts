/** What the database knows under the name of a branch. */
import type { SqlClient } from '@svc/runtime/database.ts';

/** The branch is gone: nothing of it comes back with another one of its name. */
export async function forgetBranch(transaction: SqlClient, brain: string, branch: string): Promise<void> {
  await transaction.$executeRawUnsafe('DELETE FROM brain.brain_files WHERE brain = $1 AND branch = $2', brain, branch);
  await transaction.$executeRawUnsafe('DELETE FROM brain.brain_sync WHERE brain = $1 AND branch = $2', brain, branch);
  await transaction.$executeRawUnsafe(
    'UPDATE brain.brain_conflicts SET resolved_at = now() WHERE brain = $1 AND branch = $2 AND resolved_at IS NULL',
    brain,
    branch,
  );
}

/** Its conflicts stay open; its files are looked at afresh. */
export async function renameBranchRows(transaction: SqlClient, brain: string, from: string, to: string): Promise<void> {
  await transaction.$executeRawUnsafe(
    'UPDATE brain.brain_conflicts SET branch = $3 WHERE brain = $1 AND branch = $2',
    brain,
    from,
    to,
  );
  const tables = ['brain_files', 'brain_sync'];
  for (const table of tables) {
    await transaction.$executeRawUnsafe(`DELETE FROM brain.${table} WHERE brain = $1 AND branch = $2`, brain, to);
    await transaction.$executeRawUnsafe(
      `UPDATE brain.${table} SET branch = $3 WHERE brain = $1 AND branch = $2`,
      brain,
      from,
      to,
    );
  }
}
