/** What is noted about a task: what was asked, how it was decided and by whom. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { topicOf } from './task.ts';

/** Members sign off by rule: they are identities and no processes, and their ballots say so. */
const BALLOT = { outcome: 'accept', basis: 'rule' } as const;

export interface Noted {
  readonly no: number;
  readonly text: string;
  readonly decision: object | null;
  readonly voters: readonly string[] | null;
}

export function noteText({ no, text, decision, voters }: Noted, { crewId }: { readonly crewId: string }): string {
  const votes = { ...BALLOT, voters };
  return canonicalJson({ task: text, topic: topicOf(crewId, no), decision, votes });
}

export function votesOf(voters: readonly string[]) {
  return voters.map((voter) => ({ voter, ...BALLOT }));
}
