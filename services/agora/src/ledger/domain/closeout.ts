/** A vote that was held elsewhere, as it is entered here whole. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Header } from './ledger.ts';
import { optionsOf } from './topic.ts';

export interface Closeout extends Pick<Header, 'topic' | 'author' | 'ballot' | 'minQuorum' | 'scope'> {
  readonly ballots: readonly { readonly voter: string; readonly outcome: string }[];
}

export type CloseoutRefusal = 'E_ALREADY_VOTED' | 'E_OUTCOME';

/** With options and outcomes as they are kept. */
export function decideCloseout(wish: Closeout): Decision<Closeout, CloseoutRefusal> {
  const ballot = optionsOf(wish.ballot);
  const outcomes = optionsOf(wish.ballots.map(({ outcome }) => outcome));
  const ballots = wish.ballots.map(({ voter }, index) => ({ voter, outcome: outcomes[index] ?? '' }));
  const before = new Map<string, string>();
  for (const { voter, outcome } of ballots) {
    const previous = before.get(voter);
    if (previous !== undefined) return deny('E_ALREADY_VOTED', { voter, previous });
    if (!ballot.includes(outcome)) return deny('E_OUTCOME', { options: ballot });
    before.set(voter, outcome);
  }
  return allow({ ...wish, ballot, ballots });
}
