/** A call, and the same again while the trouble may be over in a moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@svc/contract/tool.ts';
import type { UniverseDeps } from '../deps.ts';
import { behalfOf } from '../inner-calls.ts';
import { delayMs, isWorthAnother } from './domain/backoff.ts';
import { MAX_RESULT_BYTES } from './domain/limits.ts';

interface RetryWish {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly maxRetries: number;
  readonly backoffMs: number;
  readonly hops: number;
  /** Of all attempts: they take effect once. */
  readonly key: string;
}

export interface Tried {
  readonly outcome:
    | { readonly ok: true; readonly result: unknown; readonly isCut: boolean }
    | { readonly ok: false; readonly code: string; readonly error: string };
  readonly attempts: number;
  readonly delaysMs: number[];
  /** Each attempt failed so that another one might have gone well. */
  readonly isExhausted: boolean;
}

/** Said to whoever waits, and what may be kept of it. */
interface Told {
  readonly value: Tried;
  readonly kept: Tried;
}

export async function retry(
  { calls, random }: Pick<UniverseDeps, 'calls' | 'random'>,
  caller: Caller,
  wish: RetryWish,
): Promise<Told> {
  const { tool, args, maxRetries, backoffMs, hops, key } = wish;
  const delaysMs: number[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await calls.make({
      tool,
      args,
      ...behalfOf(caller),
      requestId: `${caller.requestId.slice(0, 58)}-${attempt}`,
      hops,
      key,
      mostBytes: MAX_RESULT_BYTES,
      deadlineAt: caller.deadlineAt,
    });
    if (outcome.ok) {
      const isCut = outcome.bytes > MAX_RESULT_BYTES;
      const tried = (result: unknown): Tried => ({
        outcome: { ok: true, result, isCut },
        attempts: attempt,
        delaysMs,
        isExhausted: false,
      });
      return { value: tried(outcome.result), kept: tried(outcome.kept) };
    }
    const pauseMs = delayMs(backoffMs, attempt, (random.bytes(1)[0] ?? 0) / 255);
    const mayGoOn = isWorthAnother(outcome.code);
    if (!mayGoOn || attempt > maxRetries || Date.now() + pauseMs >= caller.deadlineAt) {
      const failed: Tried = { outcome, attempts: attempt, delaysMs, isExhausted: mayGoOn };
      return { value: failed, kept: failed };
    }
    delaysMs.push(pauseMs);
    await sleep(pauseMs);
  }
}
