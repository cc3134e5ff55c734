/** What whoever delegated a task is told of it. */
import type { WorkStatus } from './work.ts';

export interface Report {
  readonly status: 'queued' | 'completed' | 'failed';
  readonly reason: string | null;
}

const MOST_SAID = 200;

/** `error` = what the last failure left, any JSON. */
export function reportOf({ status, error }: { readonly status: WorkStatus; readonly error: unknown }): Report {
  if (status === 'completed') return { status, reason: null };
  return status === 'dead' ? { status: 'failed', reason: reasonOf(error) } : { status: 'queued', reason: null };
}

function reasonOf(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'reason' in error ? error.reason : error;
  const text = typeof said === 'string' ? said : 'failed';
  return text.replaceAll('\0', '').slice(0, MOST_SAID).toWellFormed();
}
