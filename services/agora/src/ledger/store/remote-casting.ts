/** Ballots that other nodes send: to a topic of this one, or to one that this node only has a copy of. */
import type { AnswerTo, SignedBallot } from '../../federation/domain/messages.ts';
import { ballotHash } from '../domain/ledger.ts';
import { provenPair } from '../domain/merge.ts';
import { castIn, type Casting, statusNow, type VoterFacts, voidIn } from './casting.ts';
import { verifierFor } from './copy-sifting.ts';
import { keepStray } from './stray-rows.ts';
import type { AgoraUnit } from './events.ts';
import { lockTopic, readEntryOf, type TopicRow } from './topic-rows.ts';

type Answer = AnswerTo<'ballot.cast'>;

/** Exactly as if there were no such topic. */
export const NO_TOPIC: Answer = {
  voted: false,
  duplicate: false,
  code: 'E_TOPIC_ABSENT',
  status: null,
  votes: 0,
  hash: null,
};

interface RemoteFacts extends VoterFacts {
  /** To the node that sends the ballot: in whose name it comes says nothing of who hears the answer. */
  readonly isShown: boolean;
}

export async function castRemoteIn(
  unit: AgoraUnit,
  casting: Casting,
  signed: SignedBallot,
  { isShown, ...facts }: RemoteFacts,
): Promise<Answer> {
  const { ballot } = signed;
  const row = await lockTopic(unit.tx, ballot.topic);
  if (row === null || !isShown || row.headerHash !== ballot.header) return NO_TOPIC;
  if (facts.isRegistered !== true) return refused(unit, casting, row, 'E_NOT_REGISTRY');
  if (!verifierFor(casting.signer, row).ballot(signed)) return refused(unit, casting, row, 'E_SIGNATURE');
  const before = await readEntryOf(unit.tx, row, ballot.voter);
  if (before !== null) return again(unit, casting, row, { signed, before });
  if (row.replica) {
    await keepStray(unit.tx, signed);
    return refused(unit, casting, row, 'E_NOT_OWNER', { owner: row.header.owner });
  }
  const wish = { topic: ballot.topic, voter: ballot.voter, outcome: ballot.outcome, signed };
  const cast = await castIn(unit, casting, wish, facts);
  if (!cast.ok) return refused(unit, casting, row, cast.code);
  return { voted: true, duplicate: false, ...(await standing(unit, casting, cast.value)) };
}

interface Repeated {
  readonly signed: SignedBallot;
  readonly before: NonNullable<Awaited<ReturnType<typeof readEntryOf>>>;
}

/** The same ballot again is no second one; another outcome under the same signature is a proof. */
async function again(
  unit: AgoraUnit,
  casting: Casting,
  row: TopicRow,
  { signed, before: { entry, ballotHash: hash } }: Repeated,
): Promise<Answer> {
  if (ballotHash(signed.ballot) === hash) {
    return { voted: true, duplicate: true, ...(await standing(unit, casting, row)) };
  }
  const first = entry.ballotSig === null ? null : { ballot: entry.ballot, sig: entry.ballotSig };
  const verify = verifierFor(casting.signer, row);
  const pair = first === null ? null : provenPair(row.headerHash, [first, signed], verify);
  const after = pair === null ? row : await voidIn(unit, casting, row, [pair]);
  return refused(unit, casting, after, 'E_ALREADY_VOTED', { previous: entry.ballot.outcome });
}

async function standing(
  { tx }: AgoraUnit,
  casting: Casting,
  row: TopicRow,
): Promise<Pick<Answer, 'status' | 'votes' | 'hash'>> {
  return { status: statusNow(casting, row), votes: row.sums.votes, hash: await casting.hashes.of(tx, row) };
}

async function refused(
  unit: AgoraUnit,
  casting: Casting,
  row: TopicRow,
  code: string,
  details: Pick<Answer, 'previous' | 'owner'> = {},
): Promise<Answer> {
  return { voted: false, duplicate: false, code, ...details, ...(await standing(unit, casting, row)) };
}
