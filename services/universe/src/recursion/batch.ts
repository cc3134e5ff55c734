/** One thing done to many items: each for itself, so that a bad one spoils nothing but itself. */
import type { Caller } from '@svc/contract/tool.ts';
import { behalfOf, type InnerCalls } from '../inner-calls.ts';
import { type Allowance, CALLS_AT_ONCE, MAX_CALLS, MAX_RESULT_BYTES } from './domain/limits.ts';
import { applyAll, type BatchOperation } from './domain/pipeline.ts';

interface ItemError {
  readonly index: number;
  readonly code: string;
  readonly error: string;
}

interface BatchResult {
  readonly results: unknown[];
  readonly errors: ItemError[];
  readonly count: number;
  readonly truncated: boolean;
}

type ItemOutcome = { readonly value: unknown } | Omit<ItemError, 'index'>;

export function applyToAll(
  steps: readonly BatchOperation[],
  items: readonly unknown[],
  allowance: Allowance,
): BatchResult {
  const outcomes: ItemOutcome[] = [];
  for (const item of items) {
    if (allowance.isOver()) break;
    const applied = applyAll(steps, item);
    outcomes.push(
      applied.ok ? { value: applied.value } : { code: 'VAF_INPUT_INVALID', error: `The item ${applied.error}.` },
    );
  }
  return gathered(outcomes, items.length, allowance);
}

interface CallsOfBatch {
  readonly calls: InnerCalls;
  readonly caller: Caller;
  readonly tool: string;
  /** Each item adds its own, or says something else than these. */
  readonly args: Record<string, unknown>;
  readonly hops: number;
  readonly deadlineAt: number;
}

export async function callForAll(
  batch: CallsOfBatch,
  items: readonly unknown[],
  allowance: Allowance,
): Promise<BatchResult> {
  const outcomes: ItemOutcome[] = [];
  const some = items.slice(0, MAX_CALLS);
  let taken = 0;
  const worker = async (): Promise<void> => {
    while (taken < some.length && !allowance.isOver()) {
      const index = taken++;
      outcomes[index] = await callFor(batch, some[index], index);
    }
  };
  // A batch inside of a batch goes one by one, or a few of them inside of each other would be millions of calls at once.
  const workers = batch.hops > 1 ? 1 : CALLS_AT_ONCE;
  await Promise.all(Array.from({ length: workers }, worker));
  return gathered(outcomes, items.length, allowance);
}

async function callFor(
  { calls, caller, tool, args, hops, deadlineAt }: CallsOfBatch,
  item: unknown,
  index: number,
): Promise<ItemOutcome> {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { code: 'VAF_INPUT_INVALID', error: 'The item must be an object: arguments of the tool.' };
  }
  const outcome = await calls.make({
    tool,
    args: { ...args, ...item },
    ...behalfOf(caller),
    requestId: `${caller.requestId.slice(0, 58)}-${index}`,
    hops,
    mostBytes: MAX_RESULT_BYTES,
    deadlineAt,
  });
  if (!outcome.ok) return { code: outcome.code, error: outcome.error };
  if (outcome.bytes > MAX_RESULT_BYTES) return { code: 'PAYLOAD_TOO_LARGE', error: 'The result is larger than 1 MiB.' };
  return { value: outcome.result };
}

/** In order, as far as they fit. */
function gathered(outcomes: readonly ItemOutcome[], wanted: number, allowance: Allowance): BatchResult {
  const results: unknown[] = [];
  const errors: ItemError[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (!allowance.takes('value' in outcome ? outcome.value : { index, ...outcome })) break;
    results.push('value' in outcome ? outcome.value : null);
    if (!('value' in outcome)) errors.push({ index, ...outcome });
  }
  return { results, errors, count: results.length, truncated: results.length < wanted };
}
