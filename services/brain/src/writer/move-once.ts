/** Something moves in git, which no rollback undoes, and what came of it is stored. */
import type { Decision, Denial } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { type BrainContext, type OpContext, writeSection } from './context.ts';

interface Move<Value, Code extends string> {
  /** Judges and moves. What it denies has not moved; whatever it answers besides null is the outcome then. */
  move(section: WriteSection): Promise<Decision<Value, Code> | Denial<Code> | null>;
  /** Runs again, in another transaction, when the first one comes to nothing. */
  store(section: WriteSection): Promise<Decision<Value, Code>>;
}

/** The outcome is marked as replayed only when nothing has moved in this call. */
export async function moveOnce<Value, Code extends string>(
  brain: BrainContext,
  { idempotency: scope, deadlineAt }: Pick<OpContext, 'idempotency' | 'deadlineAt'>,
  { move, store }: Move<Value, Code>,
): Promise<Once<Value, Code>> {
  let hasMoved = false;
  const once = await writeSection(brain, deadlineAt, (section, irrevocable) =>
    brain.idempotency.once<Value, Code>(section.transaction, scope, async () => {
      if (!hasMoved) {
        const outcome = await move(section);
        if (outcome !== null) return outcome;
        hasMoved = true;
        irrevocable(scope !== null);
      }
      return store(section);
    }),
  );
  return hasMoved ? { ...once, replayed: false } : once;
}
