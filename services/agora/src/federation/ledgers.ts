/** What the sync between nodes asks of the ledgers of this one. */
import type { Decision } from '@svc/contract/decision.ts';
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { Unit } from '@svc/runtime/store.ts';
import type { AnswerTo, SignedBallot, WireLedger } from './domain/messages.ts';

export type AgoraUnit = Unit<EventIn<typeof AGORA_EVENTS>>;

/** What came of a copy that was merged into what is here. */
export interface Adopted {
  readonly created: boolean;
  /** Entries that were not here. */
  readonly adopted: number;
  readonly status: 'open' | 'passed' | 'rejected' | 'expired';
  readonly hash: string;
}

export type AdoptRefusal = 'E_TOPIC_CONFLICT' | 'E_SIGNATURE' | 'E_LEDGER_FORK';

/** How a copy came here. */
export interface Arrival {
  readonly from: string;
  /** Of who fetched it; null = it was sent. */
  readonly family: string | null;
}

/** A ballot that this node signs for its principal, on a topic of another. */
interface OwnBallot {
  readonly owner: string;
  readonly header: string;
  readonly topic: string;
  readonly voter: string;
  readonly outcome: string;
  readonly votedAt: number;
}

/** The node that a ballot comes from. */
interface CastAsker {
  /** Whether the voter is whom it votes as. */
  readonly isPrincipal: boolean;
  /** Whether a topic is there for it, whomever it names. */
  isShown(header: Pick<WireLedger['header'], 'scope'>): Promise<boolean>;
}

export interface Ledgers {
  /** The first `limit` entries after `afterSeq`, whoever asks; null = no such topic. */
  copyAfter(topic: string, afterSeq: number, limit: number): Promise<WireLedger | null>;
  /** The highest seq that is here; null = no such topic. */
  lastSeq(topic: string): Promise<number | null>;
  /**
   * Merges what came into what is here. A denial changes nothing, but that a fork is kept, and what came before a signature
   * that is none.
   */
  adopt(unit: AgoraUnit, copy: WireLedger, arrival: Arrival): Promise<Decision<Adopted, AdoptRefusal>>;
  /**
   * Judges a ballot of another node on a topic of this one. What others have to be asked for is asked at once; the gates are
   * passed, and the ballot is admitted, in the unit that the answer is given.
   */
  castRemote(signed: SignedBallot, asker: CastAsker): Promise<(unit: AgoraUnit) => Promise<AnswerTo<'ballot.cast'>>>;
  /** What this node has signed already on that topic for that voter. */
  signedBallot(owner: string, topic: string, voter: string): Promise<SignedBallot | null>;
  /** Signs once for each header and voter: who asks again gets what is there, whatever the outcome. */
  signOnce(unit: AgoraUnit, ballot: OwnBallot): Promise<SignedBallot>;
  /** The same of one that this node has signed and forgotten. */
  keepSigned(unit: AgoraUnit, owner: string, signed: SignedBallot): Promise<SignedBallot>;
  /** Whether there is room for one more copy of this arrival. */
  hasRoom(arrival: Arrival): Promise<boolean>;
  countAllReplicas(): Promise<number>;
}
