/** Questions that are asked again, as they are, until somebody answers them. */
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 30;
const PATIENCE_MS = 60_000;

/** The first answer that is one; `send` may throw, which is none. Throws when nobody answers for a minute. */
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
