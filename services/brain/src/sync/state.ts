/** What is known of the remotes of a brain without asking them. */
import { z } from 'zod';
import { poolClient } from '@svc/runtime/transaction.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import { unreadableEver } from '../brain/island-past.ts';
import { readCached } from '../git/object-cache.ts';
import { countDivergence, readHeads, readRef } from '../git/refs.ts';
import { type Remote, trackingRef } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { dirtyState } from '../operations/branches.ts';
import { defineOperation, list, onBranch } from '../operations/operation.ts';
import type { RowView } from '../ports.ts';
import { readConflicts } from '../store/conflict-store.ts';
import { readSyncs } from '../store/sync-store.ts';

/** Branches of one remote that are told of; those that are synced or in use come first. */
const SHOWN_BRANCHES = 100;
const SHOWN_CONFLICTS = 1000;

export const listRemotes = defineOperation({
  name: 'remotes',
  effect: 'read',
  question: z.strictObject({}),
  answer: z.strictObject({ remotes: list(z.string()) }),
  run: async ({ brain }) => ({ remotes: [...(await brain.sync.namesFor(brain.context.name))] }),
});

const RemoteRow = z.strictObject({
  name: z.string(),
  url: z.string(),
  branch: z.string(),
  /** Commits that one side has alone, as last fetched; null = not known, or not to be told. */
  ahead: z.number().nullable(),
  behind: z.number().nullable(),
  /** Milliseconds since the epoch; null = never. */
  lastAt: z.number().nullable(),
  lastStatus: z.string().nullable(),
  breaker: z.enum(['open', 'closed']),
});
type RemoteRow = z.output<typeof RemoteRow>;

const OpenConflict = z.strictObject({
  id: z.string(),
  branch: z.string(),
  file: z.string(),
  kind: z.string(),
  rescue: z.string().nullable(),
  at: z.number(),
});

export const readSyncState = defineOperation({
  name: 'syncState',
  effect: 'read',
  question: z.strictObject(onBranch),
  answer: z.strictObject({
    remotes: list(RemoteRow),
    conflicts: list(OpenConflict),
    /** Branches with something that a remote lacks. */
    pendingPush: z.number(),
  }),
  async run({ brain, rows }, { branch }) {
    const { remotes, branches } = await unpushed(brain, rows);
    // Commits of which some files are hidden are not told of.
    const isTelling = (await unreadableEver(brain.context.islands, rows)).length === 0;
    const told = { current: branch, isTelling };
    return {
      remotes: (await Promise.all(remotes.map((name) => remoteRows(brain, name, told)))).flat(),
      conflicts: await openConflicts(brain, rows),
      pendingPush: branches.filter(({ dirty }) => dirty || isTelling).length,
    };
  },
});

async function remoteRows(
  brain: OpenBrain,
  name: string,
  { current, isTelling }: { readonly current: string; readonly isTelling: boolean },
): Promise<RemoteRow[]> {
  const { platform, repository } = brain.context;
  const remote = await brain.sync.remoteFor(brain.context.name, name);
  if (remote === null) return [];
  const syncs = await readSyncs(poolClient(platform.database.pool), brain.context.name);
  const last = new Map(syncs.filter((sync) => sync.remote === name).map((sync) => [sync.branch, sync]));
  const heads = await readHeads(repository);
  const branches = new Set([current, ...last.keys()].filter((branch) => heads.has(branch)));
  const shown: RemoteRow[] = [];
  const breaker = brain.sync.breakerFor(name).state;
  for (const branch of [...branches].slice(0, SHOWN_BRANCHES)) {
    const theirs = await readRef(repository, trackingRef(remote, branch));
    const known =
      isTelling && theirs !== null ? await countDivergence(repository, heads.get(branch) ?? '', theirs) : null;
    const { ahead = null, behind = null } = known ?? {};
    const { lastAt = null, lastStatus = null } = last.get(branch) ?? {};
    shown.push({ name, url: remote.address.url, branch, ahead, behind, lastAt, lastStatus, breaker });
  }
  return shown;
}

async function openConflicts(brain: OpenBrain, rows: RowView): Promise<z.output<typeof OpenConflict>[]> {
  const { name, platform } = brain.context;
  const query = { brain: name, branch: null, file: null, resolved: false, after: null, limit: SHOWN_CONFLICTS };
  const stored = await readConflicts(poolClient(platform.database.pool), query);
  return stored
    .filter(({ file }) => rows.mayRead(file))
    .map(({ id, branch, file, kind, rescue, at }) => ({ id, branch, file, kind, rescue, at }));
}

const Unpushed = z.strictObject({
  /** All that there are. */
  remotes: list(z.string()),
  branches: list(
    z.strictObject({
      branch: z.string(),
      dirty: z.boolean(),
      /** Those that lack commits of it, as last fetched; of a branch with uncommitted files, all. */
      remotes: list(z.string()),
    }),
  ),
});
type Unpushed = z.output<typeof Unpushed>;

/** Branches with changes that a remote lacks. */
export const listUnpushed = defineOperation({
  name: 'unpushed',
  effect: 'read',
  question: z.strictObject({}),
  answer: Unpushed,
  run: ({ brain, rows }) => unpushed(brain, rows),
});

async function unpushed(brain: OpenBrain, rows: RowView): Promise<Unpushed> {
  const { name, repository } = brain.context;
  const listed = await brain.sync.namesFor(name);
  const remotes = (await Promise.all(listed.map((each) => brain.sync.remoteFor(name, each)))).flatMap(
    (one) => one ?? [],
  );
  const names = remotes.map((remote) => remote.name);
  const trees = await brain.trees.all();
  const branches: Unpushed['branches'][number][] = [];
  for (const [branch, head] of await readHeads(repository)) {
    const state = trees.has(branch) ? await dirtyState(brain, branch, rows) : null;
    const dirty = state !== null && state.ok && state.value.count > 0;
    const lacking = dirty ? names : await remotesWithout(repository, remotes, branch, head);
    if (lacking.length > 0) branches.push({ branch, dirty, remotes: lacking });
  }
  return { remotes: names, branches };
}

async function remotesWithout(
  repository: Repository,
  remotes: readonly Remote[],
  branch: string,
  head: string,
): Promise<string[]> {
  const lacking: string[] = [];
  for (const remote of remotes) {
    const theirs = await readRef(repository, trackingRef(remote, branch));
    if (theirs === head) continue;
    const isNew = theirs === null ? await hasHistory(repository, head) : await isAhead(repository, head, theirs);
    if (isNew) lacking.push(remote.name);
  }
  return lacking;
}

async function isAhead(repository: Repository, head: string, theirs: string): Promise<boolean> {
  return (await countDivergence(repository, head, theirs)).ahead > 0;
}

/** A branch that has only the commit that every brain begins with holds nothing to push. */
async function hasHistory(repository: Repository, head: string): Promise<boolean> {
  const body = await readCached(repository, head);
  return body === null || /^tree [0-9a-f]{40}\nparent /.test(body.toString('latin1', 0, 60));
}
