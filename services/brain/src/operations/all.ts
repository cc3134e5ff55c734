/** Every operation that a brain serves to other processes. */
import { remember } from '../addresses/operations.ts';
import { readConfigFile, setBrainKey } from '../config/operations.ts';
import { clearLearned, learn } from '../memory/operations.ts';
import { keepContext, readContext } from '../context/operations.ts';
import { autoBranch } from './auto-branch.ts';
import { createBranch, findBranch, listBranches, listChanged, openBranch, readDirty } from './branches.ts';
import { deleteBranch, renameBranch } from './branch-removal.ts';
import { commit } from './commit.ts';
import { listConflicts, readConflict, resolveConflict } from './conflicts.ts';
import { readDiff } from './diff.ts';
import { changeFile, listFiles, readFile } from './files.ts';
import { readHistoryPage } from './history.ts';
import { amendIsland, createIslands, listIslands, readIsland, removeIsland } from './islands.ts';
import { writeBatch } from '../for-services/write-batch.ts';
import { acquireLease, forceLease, releaseLease, viewLeaseOf } from './lease.ts';
import { mergeBranch } from './merge-branch.ts';
import type { AnyOperation } from './operation.ts';
import {
  findCitation,
  identifyCommit,
  identifySubject,
  listCitations,
  listResolutions,
} from '../records/operations.ts';
import { countLinks, identifyNames, listAttention, listConnections } from '../relations/operations.ts';
import { listEvolutions, listLastInsights, tellEvolution } from '../evolution/operations.ts';
import { backup, restore } from '../backup/operations.ts';
import { retire } from './retire.ts';
import { identify, identifyToChange } from './standing.ts';
import { expandQuery, searchFiles } from './search.ts';
import { findStored, listStored, readStored } from './storage.ts';
import { makeStored, writeStored } from './storage-changes.ts';
import { copyStored, removeStored } from './storage-trees.ts';
import { giveBackLease, holdLease } from './service-lease.ts';
import { settle, summarise } from './summary.ts';
import { rebase } from '../sync/rebase.ts';
import { listRemotes, listUnpushed, readSyncState } from '../sync/state.ts';
import { sync } from './sync.ts';

export const operations: readonly AnyOperation[] = [
  readFile,
  listFiles,
  searchFiles,
  expandQuery,
  changeFile,
  writeBatch,
  readStored,
  findStored,
  listStored,
  writeStored,
  copyStored,
  removeStored,
  makeStored,
  commit,
  readHistoryPage,
  readDiff,
  listBranches,
  createBranch,
  findBranch,
  openBranch,
  autoBranch,
  readDirty,
  readConfigFile,
  setBrainKey,
  listChanged,
  mergeBranch,
  deleteBranch,
  renameBranch,
  listConflicts,
  readConflict,
  resolveConflict,
  listIslands,
  readIsland,
  createIslands,
  amendIsland,
  removeIsland,
  viewLeaseOf,
  acquireLease,
  releaseLease,
  forceLease,
  holdLease,
  giveBackLease,
  sync,
  rebase,
  listRemotes,
  listUnpushed,
  readSyncState,
  summarise,
  settle,
  learn,
  remember,
  clearLearned,
  identify,
  identifyToChange,
  identifyCommit,
  identifySubject,
  listCitations,
  findCitation,
  listResolutions,
  identifyNames,
  countLinks,
  listConnections,
  listAttention,
  tellEvolution,
  listEvolutions,
  listLastInsights,
  backup,
  restore,
  retire,
  readContext,
  keepContext,
];
