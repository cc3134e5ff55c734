/** A backup that becomes a brain of a name that is free: staged and checked whole before anything else is changed. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { Retired } from '../brain/retirement.ts';
import type { BrainDeps } from '../deps.ts';
import type { OpContext } from '../writer/context.ts';
import { DamagedArchive } from './archive.ts';
import { backupsFolder, unfinishedPath } from './backup-files.ts';
import { damaged } from './backup-shelf.ts';
import { importRows } from './copied-rows.ts';
import { stageBrain } from './staged-brain.ts';

type NewRefusal = 'E_BACKUP_ABSENT' | 'E_BACKUP_CORRUPT' | 'E_QUOTA' | 'E_STATE_WRITE' | 'E_UNKNOWN_WORKSPACE';

interface RestoreGround {
  readonly host: BrainDeps['host'];
  readonly git: BrainDeps['git'];
  readonly dataDir: string;
  readonly platform: Pick<Platform, 'clock' | 'ids'>;
  /** Throws SERVICE_UNAVAILABLE when the registry does not answer. */
  knowsWorkspace(workspace: string): Promise<boolean>;
}

/** Null = a brain of that name is there by now. */
export type RestoreNew = (brain: string, name: string, context: OpContext) => Promise<Once<Retired, NewRefusal> | null>;

export function createRestoreNew(ground: RestoreGround): RestoreNew {
  const { dataDir, git, host, platform } = ground;
  return async (brain, name, context) => {
    const archive = join(backupsFolder(dataDir), name);
    if (!existsSync(archive)) return { decision: deny('E_BACKUP_ABSENT', { path: name }), replayed: false };
    const folder = unfinishedPath(dataDir, host.process, platform.ids.next('rst'));
    let isPlaced = false;
    try {
      const { manifest, rowsFile } = await stageBrain(git, archive, folder, new Date(platform.clock.now()));
      const { commit, files, rows, workspace, isBounded } = manifest;
      if (!(await isHome(ground, workspace))) return { decision: homeless(workspace), replayed: false };
      const made = await host.createFrom(
        brain,
        { by: context.actor, workspace, family: null },
        {
          context,
          isBounded,
          staged: basename(folder),
          path: name,
          summary: { commit, files, rows },
          insertRows: (transaction, owner) => importRows(transaction, owner, rowsFile, platform.ids),
        },
      );
      isPlaced = made?.decision.ok === true && !made.replayed;
      return made;
    } catch (error) {
      isPlaced ||= error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN';
      if (!(error instanceof DamagedArchive)) throw error;
      return { decision: damaged(name, error), replayed: false };
    } finally {
      // What has been decided takes its parts from there, at once or when the brain is opened.
      if (!isPlaced) await rm(folder, { recursive: true, force: true });
    }
  };
}

async function isHome({ knowsWorkspace }: RestoreGround, workspace: string): Promise<boolean> {
  return workspace === DEFAULT_WORKSPACE || (await knowsWorkspace(workspace));
}

/** Whoever makes a workspace of that name later would have the brain, and until then everybody. */
function homeless(workspace: string) {
  return deny(
    'E_UNKNOWN_WORKSPACE',
    { workspace },
    `The brain is at home in the workspace ${workspace}, which is not here. Make it first: svc_habitat_createWorkspace.`,
  );
}
