import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { MessageStore } from './message-store.ts';

const SWEEP_MS = 600_000;

export function messageJobs(messages: Pick<MessageStore, 'sweep'>): JobDeclaration[] {
  return [{ id: 'agora.message-sweep', everyMs: SWEEP_MS, scope: 'cluster', run: () => messages.sweep() }];
}
