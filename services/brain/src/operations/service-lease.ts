/** The lease of one brain as a service holds it for one piece of work: under a session of its own, and briefly. */
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { decideGiveBack, decideHold } from '../domain/lease.ts';
import { writeLease } from '../store/lease-store.ts';
import { acquired, changeLease, expired, hashToken, released } from './lease.ts';
import { decision, defineOperation } from './operation.ts';

const Held = z.strictObject({
  fence: z.number(),
  /** Not the one that the caller has anyway. */
  isOwn: z.boolean(),
});

const TOKEN_BYTES = 32;

export const holdLease = defineOperation({
  name: 'holdLease',
  effect: 'write-idempotent',
  needs: 'change',
  question: z.strictObject({ session: z.string(), holder: z.string(), ttlMs: z.number() }),
  answer: decision(Held, ['E_LOCKED']),
  async run({ brain: { context: brain }, context }, { session, holder, ttlMs }) {
    const secretHash = hashToken(brain.platform.random.bytes(TOKEN_BYTES).toString('hex'));
    const wish = { session, agentId: holder, ttlMs, secretHash };
    const { decision: held } = await changeLease<z.output<typeof Held>, 'E_LOCKED'>(
      brain,
      null,
      async (row, now, tx) => {
        const decided = decideHold(row, wish, context, now);
        if (!decided.ok) return decided;
        const { kind, row: next } = decided.value;
        if (kind !== 'callers') await writeLease(tx, brain.name, next);
        if (kind === 'granted' && next.holder !== null)
          await brain.outbox.write(tx, [...expired(brain, row, now), acquired(brain, next.holder, next.fence)]);
        return allow({ fence: next.fence, isOwn: kind !== 'callers' });
      },
    );
    return held;
  },
});

export const giveBackLease = defineOperation({
  name: 'giveBackLease',
  effect: 'write-idempotent',
  question: z.strictObject({ session: z.string() }),
  answer: z.strictObject({ ended: z.boolean() }),
  async run({ brain: { context: brain } }, { session }) {
    const { decision: outcome } = await changeLease<{ ended: boolean }, never>(brain, null, async (row, now, tx) => {
      const decided = decideGiveBack(row, session, now);
      if (decided === null) return allow({ ended: false });
      await writeLease(tx, brain.name, decided.row);
      await brain.outbox.write(tx, [released(brain, decided.ended, row.fence, 'released', now)]);
      return allow({ ended: true });
    });
    return outcome.ok ? outcome.value : { ended: false };
  },
});
