/** Git remotes that operators name while the service runs, beside those of the environment. */
import { z } from 'zod';

const askers = ['universe'] as const;

const NamedRemote = z.strictObject({
  id: z.string().regex(/^rmt_[0-9A-Za-z_-]{1,64}$/),
  name: z.string().max(64),
  url: z.string().max(2000),
  /** The only brain that syncs with it; null = all. */
  brain: z.string().max(128).nullable(),
});

export const BRAIN_REMOTES = {
  /** By name. */
  remotes: {
    effect: 'read',
    askers,
    question: z.strictObject({}),
    answer: z.strictObject({ remotes: z.array(NamedRemote) }),
  },
  /** The remote as it is from now on: one that is there already keeps its id. VAF_INPUT_INVALID says what cannot be one. */
  keepRemote: {
    effect: 'write-idempotent',
    askers,
    question: NamedRemote,
    answer: NamedRemote,
    refuses: ['E_REMOTE_TAKEN'],
  },
  /** By id or name; null = there is none. */
  forgetRemote: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ named: z.string().max(100) }),
    answer: z.strictObject({ forgotten: NamedRemote.pick({ id: true, name: true }).nullable() }),
  },
} as const;
