/** Every operation that a brain serves to other processes. */
import { autoBranch, createBranch, listBranches, listChanged, openBranch, readDirty } from './branches.ts';
import { deleteBranch, renameBranch } from './branch-removal.ts';
import { commit } from './commit.ts';
import { listConflicts, readConflict, resolveConflict } from './conflicts.ts';
import { readDiff } from './diff.ts';
import { changeFile, listFiles, readFile, searchFiles } from './files.ts';
import { readHistoryPage } from './history.ts';
import { amendIsland, createIslands, listIslands, readIsland, removeIsland } from './islands.ts';
import { acquireLease, forceLease, releaseLease, viewLeaseOf } from './lease.ts';
import { mergeBranch } from './merge-branch.ts';
import type { AnyOperation } from './operation.ts';
import { retire } from './retire.ts';
import { settle, summarise } from './summary.ts';
import { sync } from './sync.ts';

export const operations: readonly AnyOperation[] = [
  readFile,
  listFiles,
  searchFiles,
  changeFile,
  commit,
  readHistoryPage,
  readDiff,
  listBranches,
  createBranch,
  openBranch,
  autoBranch,
  readDirty,
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
  sync,
  summarise,
  settle,
  retire,
];
