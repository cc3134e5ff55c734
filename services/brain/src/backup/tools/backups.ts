/** svc_brain_backup, svc_brain_backups, svc_brain_restore: one file for one brain, in the folder of backups. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { neverDenied } from '@svc/contract/decision.ts';
import { BrainName } from '@svc/contract/names.ts';
import { CommitId, leaseGuard, page, PathText, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { DELETED } from '../../brain/brain-moves.ts';
import type { Retired } from '../../brain/retirement.ts';
import { defineTool } from '../../deps.ts';
import { cursorAfter, nextCursor } from '../../tools/results.ts';
import {
  type CallContext,
  CHANGE_RAISES,
  opContext,
  PATH_RAISES,
  requireWriter,
  resolveTarget,
  resolveWrite,
  settled,
} from '../../tools/target.ts';
import { backupName } from '../backup-files.ts';
import { backup as backUp, restore as restoreBrain } from '../operations.ts';

const BackupPath = PathText.describe('One file name in the folder `backups` of the data directory; ends in .svcb.');

const backup = defineTool({
  name: 'svc_brain_backup',
  area: 'brain-dropbox',
  description:
    'Writes a backup of a brain into one file: every reference, uncommitted files, and what was noted about it.',
  input: z.strictObject({
    path: BackupPath.optional().describe('File name; default: one that tells brain and time.'),
    brain: BrainName.optional().describe("Brain; default: the top of the session's stack."),
  }),
  output: z.strictObject({
    status: z.literal('backed_up'),
    path: z.string(),
    bytes: z.int(),
    sha256: Sha256Hex.describe('Of the file.'),
    brain: z.string(),
    commit: CommitId.describe('Head of main.'),
    files: z.int().describe('In the working tree of main.'),
    rows: z.int().describe('Of what was noted about the brain.'),
  }),
  access: 'operator',
  effect: 'write',
  refuses: ['E_FILE_EXISTS', 'E_BRAIN_DIVERTED', 'E_STATE_WRITE'],
  raises: [...PATH_RAISES, 'FORBIDDEN'],
  deadlineMs: 120_000,
  example: { path: 'before-the-move' },
  async handler({ path, brain: named }, context) {
    const name = path === undefined ? null : backupName(path);
    const { ask, brain } = await resolveTarget(context, { brain: named });
    const made = context.take(settled(context, await ask(backUp, { name })));
    return { status: 'backed_up' as const, brain, ...made };
  },
});

const backups = defineTool({
  name: 'svc_brain_backups',
  area: 'brain-dropbox',
  description: 'Lists the backups that there are, by name.',
  input: z.strictObject(page),
  output: z.strictObject({
    backups: z.array(
      z.strictObject({
        path: z.string(),
        bytes: z.int(),
        brain: z.string().nullable().describe('Null when the file is no backup, or damaged where it says what it is.'),
        commit: CommitId.nullable(),
        createdAt: TimestampMs.nullable(),
        sha256: Sha256Hex.describe('Of the file as it is now.'),
      }),
    ),
    ...nextCursor,
  }),
  access: 'operator',
  effect: 'read',
  refuses: [],
  deadlineMs: 120_000,
  async handler({ limit, cursor }, { deps }) {
    const { limit: count, after } = positionOf(limit, cursor);
    const rest = (await deps.backups.names()).filter((name) => after === null || name > after);
    const some = rest.slice(0, count);
    const shown = [];
    for (const name of some) shown.push(await deps.backups.describe(name));
    return {
      backups: shown.filter((one) => one !== null),
      ...cursorAfter(rest.length > count ? (some.at(-1) ?? null) : null),
    };
  },
});

const restore = defineTool({
  name: 'svc_brain_restore',
  area: 'brain-dropbox',
  description:
    'Puts a backup in the place of a brain, which is kept, or makes the brain from it where it was at home before.',
  input: z.strictObject({
    path: BackupPath,
    brain: BrainName.optional().describe('Which brain it becomes; default: the one that it was made of.'),
    ...leaseGuard,
  }),
  output: z.strictObject({
    status: z.literal('restored'),
    path: z.string(),
    brain: z.string(),
    commit: CommitId,
    rescue: z
      .string()
      .nullable()
      .describe('Where main was before: at rescue/<this>/ours; null when it was there too, or there was none.'),
    kept: z
      .string()
      .nullable()
      .describe('Directory that holds the brain as it was, below the data directory; null when there was none.'),
    files: z.int(),
    rows: z.int(),
  }),
  access: 'operator',
  effect: 'write',
  destructive: true,
  refuses: [
    'E_LOCKED',
    'E_FENCED',
    'E_READ_ONLY',
    'E_BUSY',
    'E_STATE_WRITE',
    'E_QUOTA',
    'E_BACKUP_ABSENT',
    'E_BACKUP_CORRUPT',
    'E_UNKNOWN_WORKSPACE',
  ],
  raises: [...CHANGE_RAISES, 'VAF_PATH_BLOCKED'],
  deadlineMs: 120_000,
  async handler({ path, brain: named, ...guard }, context) {
    const name = backupName(path);
    const stored = await context.deps.host.retired(context.idempotency);
    if (stored !== null) {
      context.markReplayed();
      return shownRestored(name, context.take(neverDenied(stored, 'E_DUPLICATE')));
    }
    const { brain } = context.take(await context.deps.backups.check(name));
    const wish = { brain: named ?? brain, ...guard };
    if (!(await isThere(context, wish.brain))) {
      const made = await context.deps.restoreNew(wish.brain, name, opContext(context, guard));
      if (made !== null) return shownRestored(name, context.take(settled(context, made)));
    }
    const { ask } = await resolveWrite(context, wish);
    const outcome = settled(context, await ask(restoreBrain, { name }));
    return shownRestored(name, context.take(outcome));
  },
});

function shownRestored(path: string, { folder, restored }: Retired) {
  if (restored === null) throw new Error('a restore that restored nothing');
  return { status: 'restored' as const, path, kept: folder === null ? null : `${DELETED}/${folder}`, ...restored };
}

/** Whether there is a brain to take the place of; throws unless the caller may make one, or see the one that is there. */
async function isThere({ deps, caller }: CallContext, name: string): Promise<boolean> {
  const rows = await deps.rules.view(caller.subject, name, caller.registry);
  if (!rows.mayOpen) throw new CallError('BRAIN_LOAD_FAIL');
  if (await deps.host.exists(name)) return true;
  requireWriter(caller);
  if (!rows.mayChange || !rows.scopes().every((path) => rows.mayWrite(path))) throw new CallError('RLS_DENIED');
  return false;
}

export const backupTools = [backup, backups, restore];
