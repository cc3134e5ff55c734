/** Git remotes that an operator names: judged here, where they are used. */
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import type { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { BrainDeps } from '../deps.ts';

type Served = Pick<Handlers<typeof BRAIN, BrainDeps>, 'remotes' | 'keepRemote' | 'forgetRemote'>;

export const remoteOperations: Served = {
  remotes: async (_question, { deps }) => ({ remotes: await deps.namedRemotes.all() }),
  async keepRemote(wish, { deps }) {
    const judged = deps.remotes.judge(wish);
    if (!judged.ok) {
      if (judged.code === 'E_REMOTE_TAKEN') return deny('E_REMOTE_TAKEN', judged.details);
      throw new CallError('VAF_INPUT_INVALID', String(judged.details?.['problem']));
    }
    const kept = await deps.namedRemotes.keep(judged.value);
    if (kept.ok) return kept;
    if (kept.code === 'E_REMOTE_TAKEN') return deny('E_REMOTE_TAKEN', kept.details);
    throw new CallError('VAF_INPUT_INVALID', 'config.brain must be the name of a brain that is there');
  },
  forgetRemote: async ({ named }, { deps }) => ({ forgotten: await deps.namedRemotes.forget(named) }),
};
