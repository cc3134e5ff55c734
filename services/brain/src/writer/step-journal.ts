/**
 * The record of several files that change in one step. Whether the step happened is decided by the transaction that
 * wrote the catalogue; the files follow it, at once or, after a kill, when the brain opens again.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { poolClient } from '@svc/runtime/transaction.ts';
import { applyChanges, type FileChange, removeIfEmpty } from '../files/durable-write.ts';
import { obstacleAt } from '../files/obstacle.ts';
import { StagedContents } from '../files/staged-contents.ts';
import { isAbsent } from '../files/fsync.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import type { Worktree } from '../files/worktree.ts';
import { readCatalogue } from '../store/catalogue.ts';
import type { BrainContext } from './context.ts';

/** Contents in base64; null = no file. */
interface StepRecord {
  readonly brain: string;
  readonly branch: string;
  /** Those that the step makes, each before what lies in it; absent in the record of an older process. */
  readonly folders?: readonly string[];
  readonly changes: readonly { readonly path: string; readonly from: string | null; readonly to: string | null }[];
}

type StepBrain = Pick<BrainContext, 'name' | 'platform' | 'journalDir'>;

/** Whether a kill in the midst of it would leave more than a draft: one file is there or not, several are not at once. */
export function needsJournal({ root }: Worktree, changes: readonly FileChange[]): boolean {
  return changes.length > 1 || newFolders(root, changes).length > 0;
}

export async function openStepJournal(
  { name, platform, journalDir }: StepBrain,
  { branch, root }: Worktree,
  changes: readonly FileChange[],
): Promise<Journal> {
  const recorded: StepRecord['changes'][number][] = [];
  for (const { path, content } of changes) {
    recorded.push({ path, from: asText(await readPresent(root, path)), to: asText(content) });
  }
  const record: StepRecord = { brain: name, branch, folders: newFolders(root, changes), changes: recorded };
  return openJournal(journalDir, `${name}.${platform.ids.next('stp')}`, record);
}

/**
 * Finishes or undoes what a killed process left, before anything looks at the files. `rootOf` answers the working tree
 * of a branch, null when there is none any more.
 */
export async function finishSteps(brain: StepBrain, rootOf: (branch: string) => Promise<string | null>): Promise<void> {
  const { name, journalDir } = brain;
  for (const { record: left, journal } of await leftJournals(journalDir, `${name}.stp_`)) {
    const record = left as StepRecord;
    if (record.brain !== name) continue; // a brain whose name goes on where ours ends
    const root = await rootOf(record.branch);
    if (root !== null) await finishStep(brain, root, record);
    await journal.close();
  }
}

async function finishStep({ name, platform }: StepBrain, root: string, record: StepRecord): Promise<void> {
  const catalogue = await readCatalogue(poolClient(platform.database.pool), name, record.branch);
  const changes: FileChange[] = [];
  for (const { path, from, to } of record.changes) {
    if (obstacleAt(root, path) !== null) continue;
    const happened = (catalogue.get(path)?.hash ?? null) === hashOf(to);
    const present = asText(await readPresent(root, path));
    // A file that holds neither was changed by a person since; it stays.
    if (present === (happened ? from : to)) changes.push({ path, content: asBytes(happened ? to : from) });
  }
  await applyChanges(new StagedContents(root, () => platform.ids.next('w')), changes);
  // What is finished has files in them; what is undone, or a person has cleared, leaves nothing behind.
  for (const folder of (record.folders ?? []).toReversed()) await removeIfEmpty(join(root, folder));
}

function newFolders(root: string, changes: readonly FileChange[]): string[] {
  const missing = new Set<string>();
  for (const { path, content } of changes) {
    if (content === null) continue;
    for (let folder = dirname(path); folder !== '.' && !missing.has(folder); folder = dirname(folder)) {
      if (existsSync(join(root, folder))) break;
      missing.add(folder);
    }
  }
  return [...missing].toSorted();
}

async function readPresent(root: string, path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(join(root, path));
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

function asText(content: Uint8Array | null): string | null {
  return content === null ? null : Buffer.from(content).toString('base64');
}

function asBytes(content: string | null): Uint8Array | null {
  return content === null ? null : Buffer.from(content, 'base64');
}

function hashOf(content: string | null): string | null {
  const bytes = asBytes(content);
  return bytes === null ? null : hash('sha256', bytes, 'hex');
}
