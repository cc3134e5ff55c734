/** The expected "no" of what is done with another node, and the codes under which it is known. */
import type { RefusalCode } from '@svc/contract/codes.ts';
import { type Denial, deny } from '@svc/contract/decision.ts';

export const REASONS = {
  bus_not_configured: 'E_NOT_CONFIGURED',
  unknown_node: 'E_NODE',
  self: 'E_NODE',
  node_conflict: 'E_NODE',
  not_found: 'E_TOPIC_ABSENT',
  not_owner: 'E_NOT_OWNER',
  not_registered: 'E_NOT_REGISTRY',
  quarantined: 'E_QUARANTINED',
  already_voted: 'E_ALREADY_VOTED',
  closed: 'E_CLOSED',
  outcome: 'E_OUTCOME',
  offline: 'SERVICE_UNAVAILABLE',
  timeout: 'E_OUTCOME_UNKNOWN',
  conflict: 'E_TOPIC_CONFLICT',
  bad_signature: 'E_SIGNATURE',
  disputed: 'E_LEDGER_FORK',
  quota: 'E_QUOTA',
  scope: 'E_SCOPE',
  local: 'E_TOPIC_LOCAL',
} as const satisfies Record<string, RefusalCode>;

type Reason = keyof typeof REASONS;
type CodeOf<Of extends Reason> = (typeof REASONS)[Of];

/** What any of it can come to. */
const REACH = [
  'bus_not_configured',
  'unknown_node',
  'self',
  'node_conflict',
  'not_found',
  'offline',
  'timeout',
] as const;
const VOTE = ['not_owner', 'not_registered', 'quarantined', 'already_voted', 'closed', 'outcome'] as const;
const COPY = ['conflict', 'bad_signature', 'disputed', 'quota'] as const;
const PUSH = ['scope', 'local'] as const;

export type VoteReason = (typeof REACH | typeof VOTE)[number] | 'bad_signature' | 'quota' | 'scope';
export type PullReason = (typeof REACH | typeof COPY)[number];
export type PushReason = (typeof REACH | typeof COPY | typeof PUSH)[number];

const codesOf = <Of extends Reason>(...reasons: readonly Of[]): readonly CodeOf<Of>[] => [
  ...new Set(reasons.map((reason): CodeOf<Of> => REASONS[reason])),
];

export const VOTE_CODES = codesOf<VoteReason>(...REACH, ...VOTE, 'bad_signature', 'quota', 'scope');
export const PULL_CODES = codesOf<PullReason>(...REACH, ...COPY);
export const PUSH_CODES = codesOf<PushReason>(...REACH, ...COPY, ...PUSH);

export function denied<Of extends Reason>(reason: Of, details: Record<string, unknown> = {}): Denial<CodeOf<Of>> {
  return deny(REASONS[reason], { reason, ...details });
}

/** What the owner of a topic said of a ballot; null = nothing that is known here. */
export function voteReasonOf(code: string | undefined): VoteReason | null {
  const reasons: readonly VoteReason[] = [...VOTE, 'not_found', 'bad_signature', 'quota', 'scope'];
  return reasons.find((reason) => REASONS[reason] === code) ?? null;
}
