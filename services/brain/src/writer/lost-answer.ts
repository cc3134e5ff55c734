/** What came of a section whose COMMIT nobody has answered: the catalogue, which it wrote too, says it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import type { FileEntry } from '../files/file-entry.ts';
import { readCatalogue } from '../store/catalogue.ts';
import { lockOwner } from '../store/ownership.ts';
import { type BrainContext, NotOwner } from './context.ts';

export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN';
}

const ASK_MS = 2000;
const PAUSE_MS = 100;

/** By path; null = the file is gone. */
export type Recorded = ReadonlyMap<string, FileEntry | null>;

/**
 * Whether the catalogue holds what that section wrote, once it has ended; null when nobody can say it until then.
 * Throws NotOwner.
 */
export async function isRecorded(
  brain: Pick<BrainContext, 'name' | 'owner' | 'platform'>,
  branch: string,
  recorded: Recorded,
  until: number,
): Promise<boolean | null> {
  const { clock, database } = brain.platform;
  for (;;) {
    try {
      return await withPgTransaction(
        database.pool,
        async (transaction) => {
          if (!(await lockOwner(transaction, brain.name, brain.owner))) throw new NotOwner(brain.name);
          return holds(await readCatalogue(transaction, brain.name, branch), recorded);
        },
        { deadlineAt: until, timeoutMs: ASK_MS, clock },
      );
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (clock.now() + PAUSE_MS >= until) return null;
    }
    await sleep(PAUSE_MS);
  }
}

/** No two writes leave the same stamp. */
function holds(catalogue: ReadonlyMap<string, FileEntry>, recorded: Recorded): boolean {
  return [...recorded].every(([path, entry]) => catalogue.get(path)?.stat === entry?.stat);
}
