/** Enters a vote that was held elsewhere: topic, ballots and decision in one transaction of its caller. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { type Closeout, type CloseoutRefusal, decideCloseout } from '../domain/closeout.ts';
import { closingByTime, EQUAL_WEIGHT } from '../domain/tally.ts';
import { admit, type Casting, decideIn } from './casting.ts';
import type { AgoraUnit } from './events.ts';
import { insertOpen } from './opening.ts';
import { databaseNow, readEntries, readTopic, type TopicRow } from './topic-rows.ts';

/** The same wish again is what was entered the first time. */
export async function closeOutIn(
  unit: AgoraUnit,
  casting: Casting,
  wish: Closeout,
): Promise<Decision<TopicRow, CloseoutRefusal | 'E_COLLISION'>> {
  const decision = decideCloseout(wish);
  if (!decision.ok) return decision;
  const { ballots, ...topic } = decision.value;
  const now = await databaseNow(unit.tx);
  const opening = {
    ...topic,
    threshold: 50,
    weighting: 'equal',
    sealed: true,
    thread: null,
    createdAt: now,
    // Ballots come before the deadline of a topic, and what is sealed is decided there.
    deadline: now + 1,
    family: topic.author,
  } as const;
  let opened = await insertOpen(unit, casting.signer, opening);
  while (opened === null) {
    const known = await entered(unit, decision.value);
    if (known !== null) return known;
    opened = await insertOpen(unit, casting.signer, opening);
  }
  let row: TopicRow = { ...opened, now };
  for (const { voter, outcome } of ballots) {
    const { name } = casting.signer;
    const ballot = { header: row.headerHash, topic: topic.topic, voter, node: name, outcome, votedAt: now };
    const sig = casting.signer.sign('svc-agora-ballot', ballot);
    const admitted = await admit(unit, casting, row, { ballot, sig, weight: EQUAL_WEIGHT });
    if (admitted.ok) row = admitted.value;
  }
  const closing = closingByTime(row.header, row.sums, row.header.deadline);
  if (closing === null) throw new Error('a deadline closes nothing');
  return allow(await decideIn(unit, casting, row, closing));
}

/** Null = what had the name was a copy, and has been swept since. */
async function entered({ tx }: AgoraUnit, wish: Closeout): Promise<Decision<TopicRow, 'E_COLLISION'> | null> {
  const row = await readTopic(tx, wish.topic);
  if (row === null) return null;
  const entries = await readEntries(tx, row);
  const { topic, author, ballot, minQuorum, scope, sealed, weighting, threshold, thread } = row.header;
  const ballots = entries.map(({ entry }) => ({ voter: entry.ballot.voter, outcome: entry.ballot.outcome }));
  const isSame =
    !row.replica &&
    row.decision !== null &&
    canonicalJson({ topic, author, ballot, minQuorum, scope, ballots, sealed, weighting, threshold, thread }) ===
      canonicalJson({ ...wish, sealed: true, weighting: 'equal', threshold: 50, thread: null });
  return isSame ? allow(row) : deny('E_COLLISION', { topic });
}
