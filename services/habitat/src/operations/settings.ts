/** The settings of the node, for whoever goes by them, and their change on behalf of a caller. */
import { CallError } from '@svc/contract/codes.ts';
import type { HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import { readSettings } from '../store/setting-rows.ts';
import type { HabitatHandlers } from './handlers.ts';

type FixedAnswer = HabitatAnswer<'settings'>['fixed'];

export const settingOperations: HabitatHandlers<'settings' | 'changeSetting'> = {
  async settings(_question, { deps: { store, platform } }) {
    const { stamp, value } = await readSettings(store.client);
    return { stamp, stored: value, fixed: platform.config.fixed as FixedAnswer };
  },
  async changeSetting({ operator, idempotency, ...wish }, { deps: { store, revision }, deadlineAt }) {
    if (!operator) throw new CallError('FORBIDDEN', 'Settings of the node are changed by operators.');
    const subject = wish.by === OPERATOR ? {} : { userId: wish.by };
    const caller = { subject, operator, token: null, deadlineAt };
    const { decision, replayed } = await store.changeSetting({ caller, idempotency }, wish);
    if (!decision.ok) throw new Error('the change of a setting is not refused');
    const { stamp } = await revision.read();
    return { stamp, ...decision.value, replayed };
  },
};

/** As whom an operator is recorded who declares nobody. */
const OPERATOR = 'operator';
