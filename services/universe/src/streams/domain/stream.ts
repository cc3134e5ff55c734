/** What a queue may be called and how it treats its work. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { RetryRules } from './work.ts';

export const STREAM_NAME = /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,159}$/;

export interface StreamOptions extends RetryRules {
  readonly leaseMs: number;
  /** How long what is done, or dead, is kept. */
  readonly retentionMs: number;
  /** Items that are open at once. */
  readonly maxItems: number;
  /** Nothing is offered while something before it is worked on or waits for its next attempt. */
  readonly ordered: boolean;
}

export const DEFAULT_OPTIONS: StreamOptions = {
  maxAttempts: 3,
  leaseMs: 60_000,
  backoffMs: 1000,
  backoffMaxMs: 60_000,
  retentionMs: 604_800_000,
  maxItems: 100_000,
  ordered: false,
};

export interface StreamPlace {
  readonly workspace: string;
  readonly stream: string;
}

const INBOX = 'agent:';
/** Inboxes belong to no workspace. */
const NOWHERE = '';

/** Of an agent: what it is told to do arrives there, and comes no other way. */
export function isInbox(stream: string): boolean {
  return stream.startsWith(INBOX);
}

export function inboxOf(agentId: string): StreamPlace {
  return { workspace: NOWHERE, stream: `${INBOX}${agentId}` };
}

/** The agent of an inbox; null = it is none. */
export function ownerOf(stream: string): string | null {
  return isInbox(stream) ? stream.slice(INBOX.length) : null;
}

/** Where a queue of that name is, for who is at home in the workspace. */
export function placeOf(workspace: string, stream: string): StreamPlace {
  return { workspace: isInbox(stream) ? NOWHERE : workspace, stream };
}

/** Who hears of what happens in it, as events name them. */
export function hearersOf({ workspace, stream }: StreamPlace): {
  readonly parties: string[];
  readonly workspace?: string;
} {
  const owner = ownerOf(stream);
  return owner === null ? { parties: [`ws:${workspace}`], workspace } : { parties: [owner] };
}

export function isSameOptions(one: StreamOptions, other: StreamOptions): boolean {
  return (Object.keys(DEFAULT_OPTIONS) as (keyof StreamOptions)[]).every((name) => one[name] === other[name]);
}

export interface QueueCounts {
  readonly ofWorkspace: number;
  readonly ofFamily: number;
}

/** Queues of one workspace, and of one family in it: nobody's queues take the place of all others. */
export const MOST_QUEUES: QueueCounts = { ofWorkspace: 1000, ofFamily: 200 };

/** Whether there may be one more; operators are no family. */
export function decideNewQueue({ ofWorkspace, ofFamily }: QueueCounts): Decision<null, 'E_QUOTA'> {
  if (ofFamily >= MOST_QUEUES.ofFamily) return deny('E_QUOTA', { limit: MOST_QUEUES.ofFamily, of: 'family' });
  if (ofWorkspace >= MOST_QUEUES.ofWorkspace)
    return deny('E_QUOTA', { limit: MOST_QUEUES.ofWorkspace, of: 'workspace' });
  return allow(null);
}
