/** Questions that are asked again, as they are, until somebody answers them. */
import { setTimeout as delay } from 'node:timers/promises';
import { type CallOptions, type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { newName } from '../verifies.ts';

const PAUSE_MS = 30;
const PATIENCE_MS = 150_000;
/** Of calls that were not made, or may not have been: to be asked again. */
export const NO_ANSWER: readonly string[] = ['SERVICE_UNAVAILABLE', 'TIMEOUT', 'E_OUTCOME_UNKNOWN', 'E_BUSY'];

/** The first answer that is one; `send` may throw, which is none. Throws when nobody answers for much longer than anything takes to start. */
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

/** Asked under one key until it is answered, whoever dies meanwhile; what was answered may be a refusal. */
export function persisted(who: Caller, tool: string, args: Fields, { gateway }: CallOptions = {}): Promise<Reply> {
  const headers = { 'idempotency-key': newName('key') };
  return untilAnswered(
    () => who.call(tool, args, { headers, ...(gateway === undefined ? {} : { gateway }) }),
    (one) => NO_ANSWER.includes(codeOf(one) ?? ''),
  );
}

/** The same for what is not refused: the result. Throws the code of a refusal. */
export async function insisted(who: Caller, tool: string, args: Fields, options: CallOptions = {}): Promise<Fields> {
  const reply = await persisted(who, tool, args, options);
  const code = codeOf(reply);
  if (code !== null) throw new Error(`${tool}: ${code}`);
  return reply.body.result?.content as Fields;
}
