import { LATE, within } from '@svc/runtime/within.ts';

/** What `work` comes to, or a rejection when it takes longer; then nobody waits for it any more. */
export async function answerWithin<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const answer = await within(ms, work);
  if (answer === LATE) throw new Error(`no answer within ${ms} ms`);
  return answer;
}
