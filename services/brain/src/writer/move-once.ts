/** Something moves in git, which no rollback undoes, and what came of it is stored. */
import { allow, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { type BrainContext, type OpContext, writeSection } from './context.ts';
import { type MoveOutcome, MoveRecord, storeOutcome } from './move-record.ts';

type MoveContext = Pick<OpContext, 'idempotency' | 'deadlineAt' | 'session'>;

/** Judges and moves. What it denies has not moved; whatever it answers besides null is the outcome then. */
type Move<Value, Code extends string> = (
  section: WriteSection,
  /** Called right before anything moves, with all that there will be to store. */
  intend: (outcome: MoveOutcome<Value>) => Promise<void>,
) => Promise<Decision<Value, Code> | Denial<Code> | null>;

/**
 * The outcome is stored in the section of the move or, when that comes to nothing, in another one: in this call, in the next
 * one, or when the brain opens again. It is marked as replayed only when nothing has moved in this call.
 */
export async function moveOnce<Value, Code extends string>(
  brain: BrainContext,
  context: MoveContext,
  move: Move<Value, Code>,
): Promise<Once<Value, Code>> {
  const record = new MoveRecord<Value>(brain, context);
  let hasMoved = false;
  let isStored = false;
  try {
    const once = await writeSection(brain, context.deadlineAt, (section, irrevocable) =>
      brain.idempotency.once<Value, Code>(section.transaction, record.scope, async () => {
        if (!hasMoved) {
          const decided = await move(section, (outcome) => record.intend(outcome));
          if (decided !== null) return decided;
          hasMoved = true;
          irrevocable(true);
        }
        return allow(await storeOutcome(brain, section, record.outcome));
      }),
    );
    isStored = true;
    return hasMoved ? { ...once, replayed: false } : once;
  } finally {
    if (isStored || !hasMoved) await record.close();
    else record.leave();
  }
}
