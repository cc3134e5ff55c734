/** What the owner of a brain does for its backups. Both need a caller to whom nothing of the brain is hidden. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { deny, neverDenied } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { REPLACE_REFUSALS, Retired } from '../brain/retirement.ts';
import { spellings } from '../brain/island-past.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import { isInAnyCommit } from '../git/history.ts';
import type { RowView } from '../ports.ts';
import { defineOperation, noteDenial, once, type Served } from '../operations/operation.ts';
import { DamagedArchive } from './archive.ts';
import { backupsFolder, unfinishedPath } from './backup-files.ts';
import { damaged } from './backup-shelf.ts';
import { importRows } from './copied-rows.ts';
import { BACKUP_REFUSALS, BackedUp, makeBackup } from './make-backup.ts';
import { rescueHeads, stageBrain } from './staged-brain.ts';

/** Throws FORBIDDEN to whom something is hidden: it would be in the backup. */
async function requireWhole({ brain, context, rows }: Served): Promise<void> {
  if (rows.isWhole || (rows.isWholeButIslands && !(await holdsHiddenIslands(brain, rows)))) return;
  noteDenial({ brain, context, rows }, '', 'read');
  throw new CallError('FORBIDDEN', 'Something of this brain is hidden from you, so no backup of it is yours to make.');
}

/** Boundaries of islands are those of all brains: this one may have none of them, in no commit and in no tree. */
async function holdsHiddenIslands(brain: OpenBrain, rows: RowView): Promise<boolean> {
  const hidden = rows.unreadable();
  const trees = await brain.trees.all();
  if ([...trees.values()].some(({ tree }) => hidden.some((path) => tree.table.get(path) !== undefined))) return true;
  return isInAnyCommit(brain.context.repository, hidden.flatMap(spellings));
}

export const backup = defineOperation({
  name: 'backup',
  effect: 'write',
  /** `name` of the file; null = one that tells brain and time. */
  question: z.strictObject({ name: z.string().nullable() }),
  answer: once(BackedUp, BACKUP_REFUSALS),
  async run(served, { name }) {
    const { brain, context, rows } = served;
    const isBounded = rows.bounded().length > 0 || rows.verdict('', 'read').container !== null;
    return makeBackup(brain, context, { name, isBounded, assertShown: () => requireWhole(served) });
  },
});

const RESTORE_REFUSALS = [...REPLACE_REFUSALS, 'E_BACKUP_ABSENT', 'E_BACKUP_CORRUPT'] as const;
type RestoreRefusal = (typeof RESTORE_REFUSALS)[number];

export const restore = defineOperation({
  name: 'restore',
  effect: 'write',
  needs: 'change',
  question: z.strictObject({ name: z.string() }),
  answer: once(Retired, RESTORE_REFUSALS),
  async run(served, { name }) {
    const { brain, context, rows } = served;
    const { idempotency, platform } = brain.context;
    const client = poolClient(platform.database.pool);
    const stored = await idempotency.find<Retired, RestoreRefusal>(client, context.idempotency);
    if (stored !== null) return { decision: stored, replayed: true };
    if (!rows.scopes().every((path) => rows.mayWrite(path))) throw new CallError('RLS_DENIED');
    return restoreBrain(served, name);
  },
});

async function restoreBrain(served: Served, name: string): Promise<Once<Retired, RestoreRefusal>> {
  const { brain, context, retire } = served;
  const { platform, repository } = brain.context;
  const { dataDir, process } = brain.places;
  const archive = join(backupsFolder(dataDir), name);
  if (!existsSync(archive)) return { decision: deny('E_BACKUP_ABSENT', { path: name }), replayed: false };
  const folder = unfinishedPath(dataDir, process, platform.ids.next('rst'));
  const at = new Date(platform.clock.now());
  const suffix = (): string => platform.random.bytes(4).toString('hex');
  let isPlaced = false;
  try {
    const staged = await stageBrain(repository.git, archive, folder, at);
    const { manifest, rowsFile } = staged;
    const retired = await retire({
      context,
      to: null,
      replacement: {
        staged: basename(folder),
        path: name,
        summary: { commit: manifest.commit, files: manifest.files, rows: manifest.rows },
        rescue: () => rescueHeads(repository.git, staged, repository.dir, { at, suffix }),
        insertRows: (transaction, owner) => importRows(transaction, owner, rowsFile, platform.ids),
      },
    });
    isPlaced = retired.decision.ok && !retired.replayed;
    return { ...retired, decision: neverDenied(retired.decision, 'E_DUPLICATE') };
  } catch (error) {
    isPlaced ||= error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN';
    if (!(error instanceof DamagedArchive)) throw error;
    return { decision: damaged(name, error), replayed: false };
  } finally {
    // What has been decided takes its parts from there, at once or when the brain is opened again.
    if (!isPlaced) await rm(folder, { recursive: true, force: true });
  }
}
