/** What the tools of jobs take and show. */
import { actorOf } from '@svc/contract/actor.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { z } from 'zod';
import type { Standing } from '../../standing.ts';
import type { RunRow } from '../run-rows.ts';

export const JobId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1-64 letters, digits, dots, underscores or dashes and start with a letter or digit',
  )
  .describe('Job.');
export const workspace = WorkspaceName.optional().describe('Workspace of the job; default: the current one.');

export const RunShown = z.strictObject({
  tick: z.int().nullable().describe('Null = it was asked for beside the schedule.'),
  at: z.number(),
  status: z.enum(['running', 'ok', 'failed', 'refused', 'skipped', 'lost']),
  durationMs: z.int().nullable(),
  code: z.string().optional(),
});

export function shownRun({ tick, at, status, durationMs, code }: RunRow) {
  return { tick, at, status, durationMs, ...(code === null ? {} : { code }) };
}

/** The job is the caller's; that of an operator who is nobody is every such operator's. */
export function isOwn(caller: Caller, agentId: string | null): boolean {
  const { identity, operator } = actorOf(caller);
  return agentId === null ? operator && identity === null : agentId === identity;
}

/** Whether somebody may end it: its scheduler, an admin of its workspace, an operator. */
export function mayEnd(caller: Caller, standing: Standing, home: string): (agentId: string | null) => boolean {
  const isSeen = standing.holds(home, 'viewer');
  const isAdmin = standing.holds(home, 'admin');
  return (agentId) => isAdmin || (isSeen && isOwn(caller, agentId));
}
