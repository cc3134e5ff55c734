import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { PresenceStore } from './presence.ts';
import type { VoteStore } from './vote-store.ts';

const SWEEP_MS = 60_000;
const FINISH_MS = 5000;

export function forumJobs(presence: Pick<PresenceStore, 'sweep'>, votes: Pick<VoteStore, 'finish'>): JobDeclaration[] {
  return [
    { id: 'agora.presence-sweep', everyMs: SWEEP_MS, scope: 'cluster', run: async () => void (await presence.sweep()) },
    { id: 'agora.vote-records', everyMs: FINISH_MS, scope: 'cluster', run: () => votes.finish() },
  ];
}
