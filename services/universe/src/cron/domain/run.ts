/** How a run ends. */
import { hash } from 'node:crypto';
import type { Outcome } from '../../inner-calls.ts';

/** `lost`: nobody knows what came of it. `skipped`: the run before was not over. */
export type RunStatus = 'running' | 'ok' | 'failed' | 'refused' | 'skipped' | 'lost';

export interface RunEnd {
  readonly status: Exclude<RunStatus, 'running' | 'skipped'>;
  readonly code: string | null;
  /** The job is never run again until it is scheduled anew. */
  readonly disables: boolean;
}

export const RAN: RunEnd = { status: 'ok', code: null, disables: false };
export const LOST: RunEnd = { status: 'lost', code: null, disables: false };

/** Of the sessions of jobs; those of callers are hashes, of which none begins so. */
const MARK = '0'.repeat(32);

/**
 * The session of all runs of a job, also of the calls inside of those that they make. Not of its id: that may be somebody
 * else's later, who has no business in what is current here.
 */
export function sessionOfJob(jobKey: string): string {
  return `${MARK}${hash('sha256', `cron ${jobKey}`, 'hex').slice(MARK.length)}`;
}

/** A job that makes or runs jobs would have no end, however deep inside of its calls it does. */
export function isInJob(session: string): boolean {
  return session.startsWith(MARK);
}

/** A run without a sign of life for so long is lost. */
export const SILENT_AFTER_MS = 300_000;
/** Sooner where its process is known to be gone: it says each second that it lives, also when it has just lost its connection. */
export const FORSAKEN_AFTER_MS = 3000;
/** After an outage of the database, until all that live are there again: one may be within an attempt of five seconds to connect. */
export const WITNESS_AFTER_MS = 7000;

/** The identity is gone, or has no role any more where the job is at home. */
const GONE = 'UNAUTHORIZED';
const REFUSED: ReadonlySet<string> = new Set([GONE, 'FORBIDDEN', 'E_QUARANTINED']);

export function endOf(outcome: Outcome): RunEnd {
  return outcome.ok ? RAN : endWith(outcome.code);
}

function endWith(code: string): RunEnd {
  return { status: REFUSED.has(code) ? 'refused' : 'failed', code, disables: code === GONE };
}

/** What the registry knows of who made the job. */
export interface Standing {
  readonly subject: { readonly workspace?: string | undefined } | null;
  readonly quarantined: boolean;
}

/** Of a job that calls nothing: it runs for who may act in its workspace. */
export function heartbeatEnd({ subject, quarantined }: Standing, workspace: string): RunEnd {
  if (subject?.workspace !== workspace) return endWith(GONE);
  return quarantined ? endWith('E_QUARANTINED') : RAN;
}
