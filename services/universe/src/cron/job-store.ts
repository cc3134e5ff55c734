/** Jobs: scheduled, shown, cancelled. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from '../universe-store.ts';
import { decideNewJob } from './domain/schedule.ts';
import {
  countJobs,
  deleteJob,
  type JobPage,
  type JobPlace,
  lockJob,
  lockWorkspace,
  type NewJob,
  putJob,
  readJobs,
  type Sight,
} from './job-rows.ts';
import { readHistory } from './run-rows.ts';

export type JobStore = ReturnType<typeof createJobStore>;

interface Scheduled {
  readonly id: string;
  readonly replaced: boolean;
  readonly nextAt: number;
}

export function createJobStore({ client, change }: UniverseStore, ids: Ids) {
  return {
    newId: () => ids.next('job'),
    schedule: (call: ChangeCall, job: Omit<NewJob, 'jobKey'>) =>
      change<Scheduled, 'E_CRON_TAKEN' | 'E_QUOTA'>(call, async ({ tx, emit }) => {
        const { workspace, id, identity, intervalMs } = job;
        await lockWorkspace(tx, workspace);
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
      }),
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
