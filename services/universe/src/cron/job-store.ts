/** Jobs: scheduled, shown, cancelled. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore, Work } from '../universe-store.ts';
import { heartbeatEnd } from './domain/run.ts';
import { decideNewJob } from './domain/schedule.ts';
import {
  countJobs,
  deleteJob,
  deleteJobsOf,
  type JobPage,
  type JobPlace,
  lockJob,
  lockWorkspace,
  type NewJob,
  putJob,
  readJobs,
  readSchedulers,
  type Sight,
} from './job-rows.ts';
import { readHistory } from './run-rows.ts';

export type JobStore = ReturnType<typeof createJobStore>;

interface Scheduled {
  readonly id: string;
  readonly replaced: boolean;
  readonly nextAt: number;
}

type Registry = Pick<OperationClient<typeof HABITAT, 'universe'>, 'context'>;

export function createJobStore({ client, change }: UniverseStore, ids: Ids, registry: Registry) {
  /** Whose jobs never run again and make room, which matters where there is none. */
  async function readGone(job: Omit<NewJob, 'jobKey'>): Promise<string[]> {
    const { workspace, family } = job;
    if (decideNewJob(await countJobs(client, job), family).ok) return [];
    const schedulers = await readSchedulers(client, workspace);
    const ends = schedulers.map(async (agentId) =>
      heartbeatEnd(await registry.context({ agentId, workspace }), workspace).disables ? [agentId] : [],
    );
    return (await Promise.all(ends)).flat();
  }

  return {
    newId: () => ids.next('job'),
    async schedule(call: ChangeCall, job: Omit<NewJob, 'jobKey'>) {
      const gone = await readGone(job);
      return change<Scheduled, 'E_CRON_TAKEN' | 'E_QUOTA'>(call, async (unit) => {
        const { tx, emit } = unit;
        const { workspace, id, identity, intervalMs } = job;
        await lockWorkspace(tx, workspace);
        await removeThoseOf(unit, gone, job);
        const known = await lockJob(tx, job);
        if (known !== null && known.agentId !== job.agentId) return deny('E_CRON_TAKEN');
        const room = known === null ? decideNewJob(await countJobs(tx, job), job.family) : allow(null);
        if (!room.ok) return room;
        const nextAt = await putJob(tx, { ...job, jobKey: ids.next('cron') });
        const replaced = known !== null;
        emit({
          name: 'cron:scheduled',
          workspace,
          payload: { id, by: identity, interval: intervalMs, replaced, parties: [identity] },
        });
        return allow({ id, replaced, nextAt });
      });
    },
    /** False = there is none that the caller may cancel. */
    cancel: (call: ChangeCall, place: JobPlace, who: { readonly name: string; may(agentId: string | null): boolean }) =>
      change<boolean>(call, async ({ tx, emit }) => {
        const job = await lockJob(tx, place);
        if (job === null || !who.may(job.agentId)) return allow(false);
        await deleteJob(tx, job.jobKey);
        const { workspace, id } = place;
        emit({ name: 'cron:cancelled', workspace, payload: { id, by: who.name, parties: [job.identity] } });
        return allow(true);
      }),
    list: (sight: Sight, page: JobPage) => readJobs(client, sight, page),
    history: (jobKey: string) => readHistory(client, jobKey),
  };
}

async function removeThoseOf(
  { tx, emit }: Pick<Work, 'tx' | 'emit'>,
  gone: readonly string[],
  { workspace, identity: by }: Pick<NewJob, 'workspace' | 'identity'>,
): Promise<void> {
  if (gone.length === 0) return;
  for (const { id, identity } of await deleteJobsOf(tx, workspace, gone))
    emit({ name: 'cron:cancelled', workspace, payload: { id, by, parties: [identity] } });
}
