/** Writes the backup of one brain: a moment of it, its objects as git bundles them, its rows. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { auditedSubject, writeAudit } from '@svc/runtime/audit.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { z } from 'zod';
import type { OpenBrain } from '../brain/open-brain.ts';
import { readTreeEntries } from '../git/objects.ts';
import type { Repository } from '../git/repository.ts';
import { objectId } from '../git/run.ts';
import { unkeyed } from '../operations/operation.ts';
import type { OpContext } from '../writer/context.ts';
import { type Manifest, type Piece, writeArchive } from './archive.ts';
import {
  backupsFolder,
  markAnew,
  markOfKey,
  nameFor,
  publish,
  sweepUnfinished,
  unfinishedPath,
  unpublish,
} from './backup-files.ts';
import { exportRows } from './copied-rows.ts';
import { captureMoment, type Moment, type MomentWish } from './moment.ts';

export const BackedUp = z.strictObject({
  path: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  commit: z.string(),
  files: z.number(),
  rows: z.number(),
});
export type BackedUp = z.output<typeof BackedUp>;

export const BACKUP_REFUSALS = ['E_FILE_EXISTS', 'E_BRAIN_DIVERTED'] as const;
type BackupRefusal = (typeof BACKUP_REFUSALS)[number];
type Answer = Decision<BackedUp, BackupRefusal>;

const PACKING_MS = 100_000;
/** What large files have in common is looked for only when a repository is packed: it takes ten times as long as all else. */
const NO_SEARCH_IN_LARGE = ['core.bigFileThreshold=1m'];

interface BackupWish extends Pick<MomentWish, 'assertShown'> {
  /** Of the file; null = one that tells brain and time. */
  readonly name: string | null;
  readonly isBounded: boolean;
}

export async function makeBackup(
  brain: OpenBrain,
  context: OpContext,
  { name, isBounded, assertShown }: BackupWish,
): Promise<Once<BackedUp, BackupRefusal>> {
  const { idempotency, platform, name: brainName } = brain.context;
  const client = poolClient(platform.database.pool);
  const stored = await idempotency.find<BackedUp, BackupRefusal>(client, context.idempotency);
  if (stored !== null) return { decision: stored, replayed: true };
  const { dataDir, process } = brain.places;
  await sweepUnfinished({ client, dataDir, log: platform.log });
  const folder = unfinishedPath(dataDir, process, platform.ids.next('bak'));
  await mkdir(folder, { recursive: true });
  try {
    const captured = await captureMoment(brain, { context, assertShown });
    if (!captured.ok) return unkeyed(captured);
    const moment = captured.value;
    const at = platform.clock.now();
    const { refs, work, commit, shallow } = moment;
    const rows = await exportMoment(moment, join(folder, 'rows'));
    const files = await countFiles(brain.context.repository, moment);
    const { workspace } = brain.context.homes.home;
    const manifest: Manifest = { brain: brainName, at, workspace, isBounded, refs, work, commit, shallow, files, rows };
    const bundle = await bundleOf(brain.context.repository, moment, folder);
    const pieces = {
      manifest: [Buffer.from(JSON.stringify(manifest))],
      bundle,
      rows: [{ file: join(folder, 'rows') }],
    };
    const written = await writeArchive(join(folder, 'archive'), pieces);
    const made = { path: name ?? nameFor(brainName, new Date(at)), ...written, commit, files, rows };
    return await settle(brain, context, join(folder, 'archive'), made);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function exportMoment(moment: Moment, path: string): Promise<number> {
  await using rows = moment.rows;
  return await exportRows(rows, path);
}

/** In the working tree of main. */
async function countFiles(repository: Repository, { work, commit }: Moment): Promise<number> {
  const shown = work.find(({ branch }) => branch === 'main')?.commit ?? commit;
  return (await readTreeEntries(repository, shown)).size;
}

/** The file has its name before anybody is told of it, and not when that fails. */
async function settle(
  brain: OpenBrain,
  context: OpContext,
  unfinished: string,
  made: BackedUp,
): Promise<Once<BackedUp, BackupRefusal>> {
  const { audit, idempotency, outbox, platform, name } = brain.context;
  const { dataDir } = brain.places;
  const folder = backupsFolder(dataDir);
  const mark = context.idempotency === null ? null : markOfKey(dataDir, context.idempotency);
  let isOurs = false;
  try {
    const outcome = await withPgTransaction(platform.database.pool, (transaction) =>
      idempotency.once<BackedUp, BackupRefusal>(transaction, context.idempotency, async (): Promise<Answer> => {
        if (mark !== null && !isOurs) await markAnew(unfinished, dataDir, mark);
        isOurs ||= await publish(unfinished, folder, made.path);
        if (!isOurs) return deny('E_FILE_EXISTS', { path: made.path });
        const by = context.actor;
        const { path, bytes, sha256 } = made;
        const payload = { brain: name, path, bytes, sha256, by, resources: [`brain:${name}`] };
        await outbox.write(transaction, [{ name: 'backup:created', payload }]);
        const subject = auditedSubject(context.subject);
        const { workspace } = brain.context.homes.home;
        const data = { by, brain: name, path, sha256 };
        await writeAudit(transaction, 'brain', platform.ids, [{ event: 'backup:created', workspace, subject, data }]);
        return allow(made);
      }),
    );
    outbox.kick();
    audit.kick();
    if (mark !== null) await rm(mark, { force: true });
    return outcome;
  } catch (error) {
    const isOpen = error instanceof CallError && error.code === 'E_OUTCOME_UNKNOWN';
    if (isOurs && !isOpen) await unpublish(unfinished, folder, made.path);
    throw error;
  }
}

/** As `git bundle` writes it, of all references and of what was uncommitted. */
async function bundleOf(repository: Repository, { refs, work }: Moment, folder: string): Promise<Piece[]> {
  const tips = [...refs, ...work.map(({ branch, commit }) => ({ ref: `refs/svc/work/${branch}`, oid: commit }))];
  const header = ['# v2 git bundle', ...tips.map(({ ref, oid }) => `${oid} ${ref}`), '', ''].join('\n');
  const store = await storeBeside(repository, folder);
  const { stdout } = await repository.git.run({
    args: ['pack-objects', '--revs', '--delta-base-offset', '--quiet', join(folder, 'objects')],
    gitDir: repository.gitDir,
    env: { GIT_OBJECT_DIRECTORY: store },
    config: NO_SEARCH_IN_LARGE,
    stdin: tips.map(({ oid }) => `${objectId(oid)}\n`).join(''),
    timeoutMs: PACKING_MS,
  });
  const pack = join(folder, `objects-${objectId(stdout.toString('latin1').trim())}.pack`);
  await writeFile(join(folder, 'header'), header);
  return [{ file: join(folder, 'header') }, { file: pack }];
}

/**
 * The repository's objects, with a place for new ones in the folder: a pack is written among the objects and then moved,
 * which goes no further than a file system does.
 */
async function storeBeside({ gitDir }: Repository, folder: string): Promise<string> {
  const store = join(folder, 'store');
  await mkdir(join(store, 'info'), { recursive: true });
  await mkdir(join(store, 'pack'));
  await writeFile(join(store, 'info', 'alternates'), `${resolve(gitDir, 'objects')}\n`);
  return store;
}
