/** Pull and push of one branch: the network outside the queue, what changes the branch inside it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_ERRORS, CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { readLog } from '../git/commits.ts';
import { countDivergence, readRef } from '../git/refs.ts';
import { fetchRemote, pushBranch, type Remote, trackingRef } from '../git/remote.ts';
import { RemoteError } from '../git/remote-error.ts';
import { noteSync } from '../store/sync-store.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { commitBranch } from './commit.ts';
import { integrate, type Pulled } from './integrate.ts';
import type { OpenBrain } from './open-brain.ts';
import type { BrainOps, SyncOutcome, SyncRefusal } from './ops.ts';
import { DEFAULT_REMOTE, noRemote } from './remotes.ts';

type SyncOp = Parameters<BrainOps['sync']>[0] & { readonly rows: RowView };
type Answer = Decision<SyncOutcome, SyncRefusal>;

const INTEGRATIONS = 5;
const PUSHES = 3;
const PUSH_JITTER_MS = 200;
const COUNTED_COMMITS = 1000;

export async function syncBranch(brain: OpenBrain, op: SyncOp): Promise<Once<SyncOutcome, SyncRefusal>> {
  const remote = brain.sync.remoteFor(brain.context.name, op.remote ?? DEFAULT_REMOTE);
  if (remote === null) return { decision: noRemote(op.remote ?? DEFAULT_REMOTE), replayed: false };
  const { idempotency, platform } = brain.context;
  const stored = await idempotency.find<SyncOutcome, SyncRefusal>(
    poolClient(platform.database.pool),
    op.context.idempotency,
  );
  if (stored !== null) return { decision: stored, replayed: true };
  const found = await brain.writer(op.branch);
  if (!found.ok) return { decision: found, replayed: false };
  const direction: 'push' | 'pull' = op.direction === 'push' ? 'push' : 'pull';
  const startedAt = brain.context.platform.clock.now();
  const scope = {
    brain: brain.context.name,
    branch: op.branch,
    direction,
    resources: [`brain:${brain.context.name}`],
  };
  await tell(brain, { name: 'sync:start', payload: { ...scope, remote: remote.name } });
  const decision = await attempt(brain, found.value, remote, op).catch(async (error: unknown) => {
    const code = error instanceof CallError ? error.code : 'INTERNAL';
    await tell(brain, { name: 'sync:error', payload: { ...scope, code, error: CALL_ERRORS[code].meaning } });
    throw error;
  });
  const durationMs = brain.context.platform.clock.now() - startedAt;
  const end: NewEvent = decision.ok
    ? { name: 'sync:complete', payload: { ...scope, ...endOf(decision.value), durationMs } }
    : { name: 'sync:error', payload: { ...scope, code: decision.code, error: decision.message ?? decision.code } };
  const outcome = await withPgTransaction(platform.database.pool, (transaction) =>
    idempotency.once(transaction, op.context.idempotency, async () => {
      await brain.context.outbox.write(transaction, [end]);
      const status = decision.ok ? decision.value.status : decision.code;
      await noteSync(transaction, brain.context.name, op.branch, remote.name, status);
      return decision;
    }),
  );
  brain.context.outbox.kick();
  return outcome;
}

function endOf({ status, conflicts }: SyncOutcome): { status: string; conflicts: number } {
  return { status, conflicts: conflicts.length };
}

async function tell(brain: OpenBrain, event: NewEvent): Promise<void> {
  await withPgTransaction(brain.context.platform.database.pool, (transaction) =>
    brain.context.outbox.write(transaction, [event]),
  );
  brain.context.outbox.kick();
}

/** A failure of the network is a decision; anything else is thrown. */
async function attempt(brain: OpenBrain, writer: BranchWriter, remote: Remote, op: SyncOp): Promise<Answer> {
  try {
    if (op.direction === 'pull') return await pull(brain, writer, remote, op);
    if (op.direction === 'push') return await push(brain, writer, remote, op);
    const pulled = await pull(brain, writer, remote, op);
    if (!pulled.ok) return pulled;
    const pushed = await push(brain, writer, remote, op);
    return pushed.ok
      ? allow({
          ...pulled.value,
          direction: 'both',
          after: pushed.value.after,
          pushed: pushed.value.pushed,
          remoteCommit: pushed.value.remoteCommit,
        })
      : pushed;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return deny(error.code, error.retryAfterMs === null ? {} : { retryAfterMs: error.retryAfterMs }, error.message);
  }
}

async function pull(brain: OpenBrain, writer: BranchWriter, remote: Remote, op: SyncOp): Promise<Answer> {
  const { repository } = brain.context;
  await brain.sync.breakerFor(remote.name).run(() => fetchRemote(repository, remote));
  const theirs = await readRef(repository, trackingRef(remote, op.branch));
  const before = await brain.headOf(op.branch);
  const nothing: Pulled = {
    status: 'up-to-date',
    before,
    after: before,
    conflicts: [],
    rescue: null,
    pulled: { added: 0, updated: 0, deleted: 0 },
  };
  if (theirs === null) return allow(outcomeOf(op, remote, 'pull', nothing, null, 0));
  for (let round = 0; round < INTEGRATIONS; round += 1) {
    const committed = await commitBranch(brain, writer, {
      context: { ...op.context, idempotency: null },
      message: 'sync: local changes',
      only: null,
      rows: op.rows,
    });
    if (!committed.decision.ok) return committed.decision;
    const integrated = await integrate(brain, writer, {
      context: op.context,
      theirs,
      source: `${remote.name}/${op.branch}`,
      rows: op.rows,
    });
    if (integrated === null) continue; // somebody wrote in between
    return integrated.ok ? allow(outcomeOf(op, remote, 'pull', integrated.value, theirs, 0)) : integrated;
  }
  return deny('E_BUSY', { retryAfterMs: 1000 });
}

async function push(brain: OpenBrain, writer: BranchWriter, remote: Remote, op: SyncOp): Promise<Answer> {
  const { repository, platform } = brain.context;
  let integrated: SyncOutcome | null = null;
  for (let round = 0; round < PUSHES; round += 1) {
    const commit = await brain.headOf(op.branch);
    const count = await countUnpushed(brain, remote, op.branch, commit);
    const at = new Date(platform.clock.now());
    const result = await brain.sync
      .breakerFor(remote.name)
      .run(() => pushBranch(repository, remote, { branch: op.branch, commit, at }));
    if (result !== 'moved') {
      const status = result === 'pushed' ? 'pushed' : 'up-to-date';
      const local: Pulled = integrated ?? {
        status,
        before: commit,
        after: commit,
        conflicts: [],
        rescue: null,
        pulled: { added: 0, updated: 0, deleted: 0 },
      };
      return allow(
        outcomeOf(
          op,
          remote,
          'push',
          { ...local, status: integrated?.status ?? status, after: commit },
          commit,
          result === 'pushed' ? count : 0,
        ),
      );
    }
    const pulled = await pull(brain, writer, remote, op);
    if (!pulled.ok) return pulled;
    integrated = pulled.value;
    await sleep(Math.random() * PUSH_JITTER_MS);
  }
  return deny('E_REMOTE_RACE');
}

async function countUnpushed(brain: OpenBrain, remote: Remote, branch: string, commit: string): Promise<number> {
  const { repository } = brain.context;
  const known = await readRef(repository, trackingRef(remote, branch));
  if (known !== null) return (await countDivergence(repository, commit, known)).ahead;
  return (await readLog(repository, { from: commit, limit: COUNTED_COMMITS })).length;
}

function outcomeOf(
  { branch }: SyncOp,
  remote: Remote,
  direction: SyncOutcome['direction'],
  { status, before, after, conflicts, rescue, pulled }: Pulled,
  remoteCommit: string | null,
  pushed: number,
): SyncOutcome {
  return {
    branch,
    remote: remote.name,
    direction,
    status,
    before,
    after,
    remoteCommit,
    pulled,
    pushed,
    conflicts,
    rescue,
  };
}
