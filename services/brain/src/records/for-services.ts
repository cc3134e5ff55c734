/** What a service notes by itself about what it has decided. */
import type { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { BrainDeps } from '../deps.ts';
import { serviceContext } from '../service-context.ts';
import { identifySubject } from './operations.ts';

export const recordOperations: Pick<Handlers<typeof BRAIN, BrainDeps>, 'noteResolution'> = {
  async noteResolution({ id, file, change, changedBy, workspace }, { deps, asker, deadlineAt }) {
    const brain = deps.defaultBrain;
    const owner = deps.router.brain(brain, serviceContext(deps.clock.now(), deadlineAt));
    const { id: brainId, resources } = await owner.ask(identifySubject, { file });
    const resolution = { file, change, changedBy, by: null, branch: 'main', workspace };
    const call = { caller: { subject: {}, operator: false, deadlineAt }, idempotency: null };
    const wish = { place: { brain, brainId }, resolution, actor: asker, resources };
    return (await deps.records.note(call, wish, id)).decision;
  },
};
