/** Calls that are sent again, as they are, until somebody answers them: what a careful client does about a crash. */
import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, type Reply } from '../client.ts';

/** Codes that leave open whether anything happened, or say that nobody was there. */
const UNANSWERED = ['SERVICE_UNAVAILABLE', 'TIMEOUT', 'E_OUTCOME_UNKNOWN', 'E_BUSY', 'TOOL_NOT_FOUND'];
const PAUSE_MS = 30;
const PATIENCE_MS = 60_000;

/** The first reply that says what came of the call. Throws when none does for a minute. */
export async function answered(send: () => Promise<Reply>): Promise<Reply> {
  return untilAnswered(send, (reply) => UNANSWERED.includes(codeOf(reply) ?? ''));
}

/** `send` may throw, which is no answer. */
export async function untilAnswered<Answer>(
  send: () => Promise<Answer>,
  isNone: (answer: Answer) => boolean,
): Promise<Answer> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await send().catch(() => null);
    if (answer !== null && !isNone(answer)) return answer;
    if (performance.now() > giveUpAt) throw new Error(`nobody answered for ${PATIENCE_MS} ms`);
    await delay(PAUSE_MS);
  }
}
