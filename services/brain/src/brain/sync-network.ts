/** The network half of a sync: it waits in no queue of the brain, and the call waits for it no longer than it can. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { fetchKeeping } from '../git/rewritten.ts';
import { type Pushed, pushBranch, type Remote } from '../git/remote.ts';
import type { TransferWatch } from '../git/spawner.ts';
import type { OpenBrain } from './open-brain.ts';
import type { Direction, SyncTelling } from './sync-events.ts';

export interface NetworkStage {
  readonly brain: OpenBrain;
  readonly remote: Remote;
  readonly branch: string;
  readonly telling: SyncTelling;
  /** Ms since the epoch by which the call answers, whatever the network does. */
  readonly answerBy: number;
}

type NetworkRefusal = 'E_UNDER_WAY' | 'E_BUSY';

/** Branch -> rescue id of each branch that was rewritten at the remote. Throws RemoteError, DiskRefusal. */
export function fetchInTime(stage: NetworkStage): Promise<Decision<ReadonlyMap<string, string>, NetworkRefusal>> {
  const { brain, remote } = stage;
  const { repository, platform } = brain.context;
  return transfer(stage, { direction: 'pull', key: `${remote.name} fetch`, done: 'fetched' }, (watch) =>
    fetchKeeping(repository, remote, {
      at: new Date(platform.clock.now()),
      suffix: () => platform.random.bytes(4).toString('hex'),
      watch,
    }),
  );
}

/** Throws RemoteError. */
export function pushInTime(stage: NetworkStage, commit: string): Promise<Decision<Pushed, NetworkRefusal>> {
  const { brain, remote, branch } = stage;
  const { repository, platform } = brain.context;
  const key = `${remote.name} push ${branch}`;
  return transfer(stage, { direction: 'push', key, done: 'pushed' }, (watch) =>
    pushBranch(repository, remote, { branch, commit, at: new Date(platform.clock.now()), watch }),
  );
}

async function transfer<Result>(
  { brain, remote, telling, answerBy }: NetworkStage,
  { direction, key, done }: { readonly direction: Direction; readonly key: string; readonly done: string },
  begin: (watch: TransferWatch) => Promise<Result>,
): Promise<Decision<Result, NetworkRefusal>> {
  const outcome = await brain.sync.transfers.run<Result>({
    owner: brain.context.name,
    key,
    remote: remote.name,
    waitMs: answerBy - brain.context.platform.clock.now(),
    begin: ({ onProgress, signal }) => {
      const tell = telling.progressOf(direction);
      const watch: TransferWatch = {
        signal,
        onProgress: (progress) => {
          onProgress(progress);
          tell(progress);
        },
      };
      return brain.sync.breakerFor(remote.name).run(() => unlessStopped(begin(watch), signal));
    },
  });
  if (outcome.state === 'ended') return allow(outcome.result);
  if (outcome.state === 'crowded') return deny('E_BUSY', { retryAfterMs: 1000 });
  telling.endLater(outcome.end.then(() => done));
  const { stage = null, percent = null } = outcome.progress ?? {};
  return deny('E_UNDER_WAY', {
    remote: remote.name,
    host: remote.address.host,
    direction,
    stage,
    percent,
    retryAfterMs: 5000,
  });
}

/** How git ends when it is killed says nothing of the remote. */
async function unlessStopped<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) throw new CallError('SERVICE_UNAVAILABLE');
    throw error;
  }
}
