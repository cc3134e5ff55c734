/** Pull and push of one branch: the network outside the queue, what changes the branch inside it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { REFUSALS } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { readRef } from '../git/refs.ts';
import { countNew } from '../git/history.ts';
import { readRemoteHeads, trackingRef } from '../git/remote.ts';
import { RemoteError } from '../git/remote-error.ts';
import { noteSync } from '../store/sync-store.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { integrate } from '../brain/integrate.ts';
import type { Pulled } from '../brain/pulled.ts';
import { eventRulesOf, toldCount } from '../brain/brain-events.ts';
import { hiddenSpellings } from '../brain/island-past.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import { DEFAULT_REMOTE, noRemote } from '../brain/remotes.ts';
import { fetchInTime, type NetworkStage, pushInTime } from '../brain/sync-network.ts';
import { SyncTelling } from '../brain/sync-events.ts';
import { dirtyState } from './branches.ts';
import { commitBranch } from './commit.ts';
import { defineOperation, onBranch, once, type Served, unkeyed } from './operation.ts';
import { bothWays, NOTHING_PULLED, SYNC_REFUSALS, SyncOutcome, type SyncRefusal } from './sync-outcome.ts';

const SyncQuestion = z.strictObject({
  ...onBranch,
  direction: z.enum(['push', 'pull', 'both']),
  remote: z.string().nullable(),
});
type SyncQuestion = z.output<typeof SyncQuestion>;

export const sync = defineOperation({
  name: 'sync',
  effect: 'write',
  needs: 'change',
  question: SyncQuestion,
  answer: once(SyncOutcome, SYNC_REFUSALS),
  run: ({ brain, context, rows }, question) => syncBranch(brain, { ...question, context, rows }, attempt),
});

interface SyncOp extends Pick<Served, 'context' | 'rows'> {
  readonly branch: string;
  readonly direction: SyncOutcome['direction'];
  readonly remote: string | null;
}

export type SyncAnswer<Value = SyncOutcome> = Decision<Value, SyncRefusal>;
type Answer = SyncAnswer;

/** One sync of one branch. */
export interface Sync extends NetworkStage {
  readonly writer: BranchWriter;
  readonly op: SyncOp;
}

export const INTEGRATIONS = 5;
const PUSHES = 3;
const PUSH_JITTER_MS = 200;
/** Kept back from the call's time, for what comes after the network and for the answer itself. */
const ANSWER_SHARE = 0.1;
const ANSWER_MS = 5000;

/** What `work` does between the two ends of a sync that are told: its failures with the network are its answer. */
export async function syncBranch<Value extends SyncOutcome>(
  brain: OpenBrain,
  op: SyncOp,
  work: (sync: Sync) => Promise<SyncAnswer<Value>>,
): Promise<Once<Value, SyncRefusal>> {
  const name = op.remote ?? DEFAULT_REMOTE;
  const remote = await brain.sync.remoteFor(brain.context.name, name);
  if (remote === null) return unkeyed(noRemote(name));
  const { idempotency, platform } = brain.context;
  const stored = await idempotency.find<Value, SyncRefusal>(poolClient(platform.database.pool), op.context.idempotency);
  if (stored !== null) return { decision: stored, replayed: true };
  const found = await brain.writer(op.branch);
  if (!found.ok) return unkeyed(found);
  const telling = new SyncTelling(brain, op.branch, op.direction === 'push' ? 'push' : 'pull', remote.name);
  await telling.started();
  const { branch } = op;
  const sync: Sync = { brain, writer: found.value, remote, branch, op, telling, answerBy: answerBy(brain, op) };
  const decision = await work(sync).catch((error: unknown) => {
    telling.failed(error);
    throw error;
  });
  // It has no end yet: whoever repeats the call, with its key too, learns that.
  if (!decision.ok && decision.code === 'E_UNDER_WAY') return unkeyed(decision);
  return settle(sync, decision);
}

function answerBy({ context }: OpenBrain, { context: { deadlineAt } }: SyncOp): number {
  const leftMs = deadlineAt - context.platform.clock.now();
  return deadlineAt - Math.min(ANSWER_MS, leftMs * ANSWER_SHARE);
}

async function settle<Value extends SyncOutcome>(
  { brain, remote, branch, op, telling }: Sync,
  decision: SyncAnswer<Value>,
): Promise<Once<Value, SyncRefusal>> {
  const { idempotency, platform, outbox, name } = brain.context;
  const told = await eventRulesOf(brain.context);
  const end = decision.ok
    ? telling.complete(decision.value.status, toldCount(told, filesOf(decision.value.conflicts)))
    : telling.error(decision.code, decision.message ?? REFUSALS[decision.code]);
  const outcome = await withPgTransaction(platform.database.pool, (transaction) =>
    idempotency.once(transaction, op.context.idempotency, async () => {
      await outbox.write(transaction, [end]);
      await noteSync(transaction, name, branch, remote.name, decision.ok ? decision.value.status : decision.code);
      return decision;
    }),
  );
  outbox.kick();
  return outcome;
}

function filesOf(conflicts: SyncOutcome['conflicts']): string[] {
  return conflicts.map(({ file }) => file);
}

async function attempt(sync: Sync): Promise<Answer> {
  if (sync.op.direction === 'pull') return tried(sync, pull);
  if (sync.op.direction === 'push') return tried(sync, push);
  const pulled = await tried(sync, pull);
  if (!pulled.ok) return pulled;
  const pushed = await tried(sync, push);
  if (pushed.ok) return allow(bothWays(pulled.value, pushed.value));
  const { status, conflicts, rescue } = pulled.value;
  return { ...pushed, details: { ...pushed.details, pulled: { status, conflicts: conflicts.length, rescue } } };
}

/** A failure of the network is a decision; anything else is thrown. */
export async function tried<Value>(
  sync: Sync,
  direction: (sync: Sync) => Promise<SyncAnswer<Value>>,
): Promise<SyncAnswer<Value>> {
  try {
    return await direction(sync);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const { kind, detail } = error;
    const { name, platform } = sync.brain.context;
    platform.log.warn({ brain: name, remote: sync.remote.name, kind, detail }, 'a remote failed');
    return refusalOf(error, sync);
  }
}

/** What the remote said may name files; who may not read all of them does not hear it. */
function refusalOf(
  { code, kind, message, said, stage, retryAfterMs }: RemoteError,
  { remote, op }: Sync,
): SyncAnswer<never> {
  const details = {
    remote: remote.name,
    host: remote.address.host,
    kind,
    said: op.rows.isWhole ? said : null,
    ...(stage === null ? {} : { stage }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
  return deny(code, details, message);
}

async function pull(sync: Sync): Promise<Answer> {
  const found = await fetchTheirs(sync);
  if (!found.ok) return found;
  const { theirs, rewrite } = found.value;
  if (theirs === null) return nothingThere(sync, 'pull');
  const { brain, remote, branch, writer, op } = sync;
  for (let round = 0; round < INTEGRATIONS; round += 1) {
    const committed = await commitLocal(sync);
    if (!committed.ok) return committed;
    const integrated = await integrate(brain, writer, {
      context: op.context,
      theirs,
      source: `${remote.name}/${branch}`,
      rows: op.rows,
    });
    if (integrated === null) continue; // somebody wrote in between
    if (!integrated.ok) return integrated;
    const outcome = await outcomeOf(sync, 'pull', integrated.value, theirs);
    return allow({ ...outcome, rewritten: rewrite !== null, rescue: outcome.rescue ?? rewrite });
  }
  return deny('E_BUSY', { retryAfterMs: 1000 });
}

/** `theirs`: where the branch is at the remote, null when it is not there; `rewrite`: the rescue of its former history. */
export async function fetchTheirs(
  sync: Sync,
): Promise<SyncAnswer<{ readonly theirs: string | null; readonly rewrite: string | null }>> {
  const fetched = await fetchInTime(sync);
  if (!fetched.ok) return fetched;
  const theirs = await readRef(sync.brain.context.repository, trackingRef(sync.remote, sync.branch));
  return allow({ theirs, rewrite: fetched.value.get(sync.branch) ?? null });
}

/** What is here is committed all the same: a push to follow takes it, and the first sync with an empty remote is one. */
export async function nothingThere(sync: Sync, direction: SyncOutcome['direction']): Promise<SyncAnswer<SyncOutcome>> {
  const committed = await commitLocal(sync);
  if (!committed.ok) return committed;
  const before = await sync.brain.presentHead(sync.branch);
  return allow(await outcomeOf(sync, direction, { ...NOTHING_PULLED, before, after: before }, null));
}

export async function commitLocal({ brain, writer, op }: Sync): Promise<SyncAnswer<unknown>> {
  const { decision } = await commitBranch(brain, writer, {
    context: { ...op.context, idempotency: null },
    message: 'sync: local changes',
    only: null,
    rows: op.rows,
  });
  return decision;
}

async function push(sync: Sync): Promise<Answer> {
  const { brain, remote, branch } = sync;
  // what a new branch brings is counted against all that the remote has
  if ((await readRef(brain.context.repository, trackingRef(remote, branch))) === null) {
    const fetched = await fetchInTime(sync);
    if (!fetched.ok) return fetched;
  }
  let integrated: SyncOutcome | null = null;
  for (let round = 0; round < PUSHES; round += 1) {
    const pushed = await tryPush(sync, integrated);
    if (pushed !== null) return pushed;
    const pulled = await pull(sync);
    if (!pulled.ok) return pulled;
    integrated = integrated === null ? pulled.value : bothWays(integrated, pulled.value);
    await sleep(Math.random() * PUSH_JITTER_MS);
  }
  return deny('E_REMOTE_RACE', { remote: remote.name, host: remote.address.host });
}

/** Null when the remote moved meanwhile; `integrated` is what an earlier round had to bring in. */
async function tryPush(sync: Sync, integrated: SyncOutcome | null): Promise<Answer | null> {
  const { brain, remote, branch } = sync;
  const { repository } = brain.context;
  const commit = await brain.presentHead(branch);
  const known = [...(await readRemoteHeads(repository, remote)).values()];
  const sent = await pushInTime(sync, commit);
  if (!sent.ok) return sent;
  const { result, replaced } = sent.value;
  if (result === 'moved') return null;
  const before = replaced === null ? known : [replaced, ...known];
  const without = await hiddenSpellings(brain.context.islands, sync.op.rows);
  const local: Pulled = integrated ?? { ...NOTHING_PULLED, status: result, before: commit, after: commit };
  return allow({
    ...(await outcomeOf(sync, 'push', { ...local, after: commit }, commit)),
    pushed: result === 'pushed' ? await countNew(repository, commit, { known: before, without }) : 0,
    rewritten: integrated?.rewritten ?? false,
  });
}

export async function outcomeOf(
  { brain, branch, remote, op }: Sync,
  direction: SyncOutcome['direction'],
  { status, before, after, conflicts, rescue, pulled }: Pulled,
  remoteCommit: string | null,
): Promise<SyncOutcome> {
  const dirty = await dirtyState(brain, branch, op.rows);
  return {
    branch,
    remote: remote.name,
    direction,
    status,
    before,
    after,
    remoteCommit,
    pulled,
    pushed: 0,
    conflicts,
    rescue,
    rewritten: false,
    uncommittedLeft: dirty.ok ? dirty.value.count : 0,
  };
}
