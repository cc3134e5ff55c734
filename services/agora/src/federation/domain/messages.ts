/** What nodes ask each other, and the forms of it. */
import { z } from 'zod';
import { IdentityId } from '@svc/contract/names.ts';
import { OPTIONS, optionsOf, problemOfOptions } from '../../ledger/domain/topic.ts';
import { NODE_NAME } from './envelope.ts';

/** Of one topic. */
export const MAX_ENTRIES = 10_000;
export const MAX_ENTRIES_A_PAGE = 500;
/** More than fit into a page beside its entries. */
const MAX_EVIDENCE = 250;

export const TopicName = z.string().regex(/^[a-zA-Z0-9_-]{1,100}$/);
const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Signature = z.string().min(1).max(100);
const Moment = z.int().min(0);
/** As a database can keep it. */
const Text = z.string().refine((text) => text.isWellFormed() && !text.includes('\0'));
/** As a topic is opened with them. */
const areOptions = (options: readonly string[]): boolean =>
  problemOfOptions(options) === null && optionsOf(options).every((option, index) => option === options[index]);
const Option = z.string().refine((option) => areOptions([option]));
const Count = z.int().min(0).max(MAX_ENTRIES);
const Owner = z.string().regex(NODE_NAME);

const WireBallot = z.strictObject({
  header: Hash,
  topic: TopicName,
  voter: IdentityId,
  node: Owner,
  outcome: Option,
  votedAt: Moment,
});

const WireHeader = z.strictObject({
  v: z.literal(1),
  topic: TopicName,
  owner: Owner,
  author: IdentityId,
  ballot: z.array(z.string()).min(OPTIONS.least).max(OPTIONS.most).refine(areOptions),
  minQuorum: z.int().min(1).max(1000),
  threshold: z.int().min(50).max(100),
  weighting: z.enum(['equal', 'trust']),
  sealed: z.boolean(),
  deadline: Moment,
  createdAt: Moment,
  scope: z.strictObject({ owner: Text.min(1).max(200), visibility: z.enum(['scope', 'public']) }).nullable(),
  thread: Text.min(1).max(128).nullable(),
});

const WireEntry = z.strictObject({
  seq: z.int().min(1).max(MAX_ENTRIES),
  ballot: WireBallot,
  ballotSig: Signature,
  weight: z.int().min(1).max(1000),
  admittedAt: Moment,
});

const WireDecision = z.strictObject({
  status: z.enum(['passed', 'rejected', 'expired']),
  winner: Option.nullable(),
  votes: Count,
  percentage: z.number().min(0).max(100),
  counts: z.record(z.string(), Count),
  decidedAt: Moment,
  entries: Count,
  voided: z.array(IdentityId),
});

/** Of which ledger it is; a node that is older than this says nothing of it. */
const WireBinding = z.strictObject({ ledger: Hash, sig: Signature });

const SignedBallot = z.strictObject({ ballot: WireBallot, sig: Signature });

/** A ledger, or a part of it, as its owner signed it. `count`: of a sealed topic that is open, instead of its entries. */
export const WireLedger = z.strictObject({
  header: WireHeader,
  headerSig: Signature,
  entries: z.array(z.strictObject({ entry: WireEntry, sig: Signature })).max(MAX_ENTRIES_A_PAGE),
  more: z.boolean(),
  evidence: z.array(z.tuple([SignedBallot, SignedBallot])).max(MAX_EVIDENCE),
  decision: z.strictObject({ decision: WireDecision, sig: Signature, bound: WireBinding.optional() }).nullable(),
  count: Count.optional(),
});
export type WireLedger = z.output<typeof WireLedger>;
export type SignedBallot = z.output<typeof SignedBallot>;

const Status = z.enum(['open', 'passed', 'rejected', 'expired']);
const Absent = z.strictObject({ absent: z.literal(true) });

export const PRESENCE = 'presence';
export const PresenceBody = z.strictObject({
  port: z.int().min(1).max(65_535),
  agentId: IdentityId,
  instance: z.string().min(1).max(64),
});

/** What may be asked of a node: the form of the question and that of the answer. */
export const DISPATCHED = {
  'topic.get': {
    question: z.strictObject({ topic: TopicName, afterSeq: z.int().min(0).max(MAX_ENTRIES) }),
    answer: z.union([WireLedger, Absent]),
  },
  'topic.push': {
    question: WireLedger,
    answer: z.union([
      z.strictObject({ adopted: z.int().min(0), created: z.boolean(), status: Status, hash: Hash }),
      Absent,
      z.strictObject({ conflict: z.literal(true) }),
      z.strictObject({ refused: z.enum(['bad_signature', 'disputed', 'quota', 'scope']) }),
    ]),
  },
  'ballot.cast': {
    question: SignedBallot,
    answer: z.strictObject({
      voted: z.boolean(),
      duplicate: z.boolean(),
      code: z.string().max(64).optional(),
      reason: z.string().max(64).optional(),
      previous: Option.optional(),
      owner: Owner.optional(),
      status: Status.nullable(),
      votes: z.int().min(0),
      hash: Hash.nullable(),
    }),
  },
} as const;

export type MessageType = keyof typeof DISPATCHED;
export type Question<Type extends MessageType> = z.output<(typeof DISPATCHED)[Type]['question']>;
export type AnswerTo<Type extends MessageType> = z.output<(typeof DISPATCHED)[Type]['answer']>;

export const MESSAGE_TYPES = Object.keys(DISPATCHED) as MessageType[];

export function isMessageType(type: string): type is MessageType {
  return Object.hasOwn(DISPATCHED, type);
}

/** Type of the envelope that answers one of `type`; its body names the nonce of the question as `re`. */
export function replyType(type: MessageType): string {
  return `${type}.reply`;
}
