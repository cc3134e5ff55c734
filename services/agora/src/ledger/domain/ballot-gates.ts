/** Whether a ballot is admitted: the first gate that is shut gives the answer. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { MAX_SKEW_MS } from '../../federation/domain/envelope.ts';
import type { Header, Status } from './ledger.ts';

export const MAX_BALLOTS = 10_000;

/** What is known of the topic, and of the voter there, at the moment `now`. */
interface Polling {
  readonly header: Pick<Header, 'ballot' | 'createdAt' | 'deadline' | 'scope'>;
  readonly status: Status;
  readonly entries: number;
  readonly now: number;
  /** As the node of the voter says it. */
  readonly votedAt: number;
}

export interface Voter {
  /** Of the scope; true where there is none. */
  readonly isMember: boolean;
  /** Null = nobody asks for it here. */
  readonly isRegistered: boolean | null;
  readonly isQuarantined: boolean;
  /** What it voted before. */
  readonly previous: string | null;
}

export type BallotRefusal =
  | 'E_TOPIC_ABSENT'
  | 'E_SCOPE'
  | 'E_NOT_REGISTRY'
  | 'E_QUARANTINED'
  | 'E_ALREADY_VOTED'
  | 'E_CLOSED'
  | 'E_OUTCOME'
  | 'E_QUOTA';

export function decideBallot(
  { header, status, entries, now, votedAt }: Polling,
  voter: Voter,
  outcome: string,
): Decision<null, BallotRefusal> {
  if (!voter.isMember) return header.scope?.visibility === 'public' ? deny('E_SCOPE') : deny('E_TOPIC_ABSENT');
  if (voter.isRegistered === false) return deny('E_NOT_REGISTRY');
  if (voter.isQuarantined) return deny('E_QUARANTINED');
  if (voter.previous !== null) return deny('E_ALREADY_VOTED', { previous: voter.previous });
  if (status !== 'open' || now >= header.deadline) return deny('E_CLOSED', { status });
  if (!isTimely(votedAt, header, now)) return deny('E_CLOSED', { status });
  if (!header.ballot.includes(outcome)) return deny('E_OUTCOME', { options: header.ballot });
  return entries >= MAX_BALLOTS ? deny('E_QUOTA', { limit: MAX_BALLOTS }) : allow(null);
}

/** Nobody votes before there is something to vote on, or in time to come: what is admitted says so for good. */
function isTimely(votedAt: number, { createdAt }: Polling['header'], now: number): boolean {
  return votedAt >= createdAt - MAX_SKEW_MS && votedAt <= now + MAX_SKEW_MS;
}
