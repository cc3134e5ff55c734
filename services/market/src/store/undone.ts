/** What was begun under a key and is being given up: in a moment the key stands for what came of that, or may begin anew. */
import { setTimeout as pause } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';

export class Undone extends CallError {
  constructor() {
    super('SERVICE_UNAVAILABLE', 'What was begun is being undone.', { retryAfterMs: 100 });
  }
}

const SOON_MS = 10;
const LATER_MS = 100;
/** A second and a half, and more where looking itself takes long. */
const MOST_LOOKS = 20;

/** Looks again for as long as that takes; whoever undoes it may be gone, or wait for the ledger. */
export async function unlessUndone<Value>(look: () => Promise<Value>): Promise<Value> {
  for (let looks = 1; ; looks += 1) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof Undone) || looks >= MOST_LOOKS) throw error;
      await pause(Math.min(looks * SOON_MS, LATER_MS));
    }
  }
}
