/** Votes on topics of other nodes, and copies of ledgers fetched and sent. Each may be repeated without harm. */
import { CallError } from '@svc/contract/codes.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { isOwnTopic, mayRead, membershipOf, scopeOfNothing } from '../access.ts';
import { headerHash } from '../ledger/domain/ledger.ts';
import type { Registry } from '../registry.ts';
import { mayReceive } from './dispatchers.ts';
import { pageOf, type Reading, readOn } from './domain/copies.ts';
import { type AnswerTo, MAX_ENTRIES, MAX_ENTRIES_A_PAGE, type SignedBallot, WireLedger } from './domain/messages.ts';
import {
  denied,
  type PullReason,
  type PushReason,
  type REASONS,
  type VoteReason,
  voteReasonOf,
} from './domain/refusals.ts';
import { LOCAL } from './domain/settings.ts';
import type { Adopted, AdoptRefusal, Arrival, Ledgers } from './ledgers.ts';
import type { FederatedNode, NodeMember } from './node.ts';
import { readAbroad, SILENT, UNREAD } from './topic-abroad.ts';
import type { Asked } from './transport/asker.ts';

interface SyncParts {
  readonly node: FederatedNode;
  readonly ledgers: Ledgers;
  readonly now: () => number;
  readonly registry: Pick<Registry, 'membership'>;
  isMember(owner: string, agentId: string, stamp: RegistryStamp | null): Promise<boolean>;
  /** Whether the registry of this node knows the agent as its own. */
  isLocal(agentId: string): Promise<boolean>;
}

type Denied<Reasons extends keyof typeof REASONS> = (typeof REASONS)[Reasons];
type Outcome<Value, Reasons extends keyof typeof REASONS> = Promise<Decision<Value, Denied<Reasons>>>;

interface Voted {
  readonly duplicate: boolean;
  readonly tally: { readonly status: Adopted['status']; readonly votes: number; readonly hash: string };
}

/** Who asks for a copy, or sends one; an operator sees everything. */
export interface Asking {
  readonly caller: Caller;
  readonly agentId: string | null;
  /** Under which its copies are counted. */
  readonly family: string;
}

const NOT_MERGED = { E_TOPIC_CONFLICT: 'conflict', E_SIGNATURE: 'bad_signature', E_LEDGER_FORK: 'disputed' } as const;

export class Syncing {
  readonly #parts: SyncParts;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  /** `voter` has to be the principal of this node. */
  async vote(node: string, topic: string, voter: string, outcome: string): Outcome<Voted, VoteReason> {
    const reached = this.#reach(node);
    if (!reached.ok) return reached;
    const self = reached.value;
    if (voter !== self.identity.agentId) return denied('not_registered');
    const before = await this.#parts.ledgers.signedBallot(node, topic, voter);
    if (before !== null && !(await this.#isOfAnother(node, before))) {
      const again = await this.#cast(self, node, before, outcome);
      // Its owner may have opened another one of that name since.
      if (again.ok || again.code !== 'E_TOPIC_ABSENT') return again;
    }
    const read = await readAbroad(self, { node, topic, voter });
    if (!read.ok) return read;
    const { header, admitted } = read.value;
    if (!header.ballot.includes(outcome)) return denied('outcome', { options: header.ballot });
    const { ledgers, now } = this.#parts;
    const ballot = { owner: node, header: headerHash(header), topic, voter, outcome, votedAt: now() };
    const signed = await self.store.change(async (unit) =>
      allow(await (admitted === null ? ledgers.signOnce(unit, ballot) : ledgers.keepSigned(unit, node, admitted))),
    );
    return this.#cast(self, node, signed, outcome, header.ballot);
  }

  /** Whether what is known here under that name is not the topic that the ballot was signed for. */
  async #isOfAnother(node: string, { ballot: { topic, header } }: SignedBallot): Promise<boolean> {
    const here = await this.#parts.ledgers.copyAfter(topic, 0, 0);
    return here !== null && here.header.owner === node && headerHash(here.header) !== header;
  }

  /** Brings what is here up to date with what `node` has. */
  async pull(node: string, topic: string, asking: Asking): Outcome<Adopted, PullReason> {
    const reached = this.#reach(node);
    if (!reached.ok) return reached;
    const self = reached.value;
    const { ledgers } = this.#parts;
    const total = { created: false, adopted: 0 };
    const known = (await ledgers.lastSeq(topic)) ?? 0;
    // From the last entry that is here: an owner that was put back to what it had before may have another one there by now.
    for (let reading: Reading = { afterSeq: Math.max(0, known - 1), isWhole: known <= 1 }; ; ) {
      const asked = await self.asker.ask(node, 'topic.get', topic, { topic, afterSeq: reading.afterSeq });
      const copy = await this.#copyIn(asked, topic, asking);
      if (!copy.ok) return copy;
      // Or none any more, and whoever admits ballots takes none back.
      if (known > reading.afterSeq && copy.value.entries.length === 0 && copy.value.header.owner === node) {
        return denied('disputed');
      }
      const next = readOn(reading, copy.value);
      if (next === 'stuck') return denied('bad_signature');
      const arrived = { copy: copy.value, isLast: next === null, arrival: { from: node, family: asking.family } };
      const merged = await this.#adopt(self, arrived, total);
      if (!merged.ok || next === null) return merged;
      total.created ||= merged.value.created;
      total.adopted = merged.value.adopted;
      reading = next;
    }
  }

  /** Sends what is here to `node`, which takes of it what it can prove. */
  async push(node: string, topic: string, asking: Asking): Outcome<Adopted, PushReason> {
    const reached = this.#reach(node);
    if (!reached.ok) return reached;
    const self = reached.value;
    const total = { created: false, adopted: 0 };
    for (let afterSeq = 0; ; ) {
      const page = await this.#pageFor(self, { node, topic, afterSeq }, asking);
      if (!page.ok) return page;
      const taken = takenOf(await self.asker.ask(node, 'topic.push', topic, page.value));
      if (!taken.ok) return taken;
      total.created ||= taken.value.created;
      total.adopted += taken.value.adopted;
      if (!page.value.more) return this.#pushed(self, node, topic, { ...taken.value, ...total });
      afterSeq = page.value.entries.at(-1)?.entry.seq ?? MAX_ENTRIES;
    }
  }

  /** What of a topic is sent next, when it may be sent there at all. */
  async #pageFor(
    self: NodeMember,
    { node, topic, afterSeq }: { readonly node: string; readonly topic: string; readonly afterSeq: number },
    asking: Asking,
  ): Outcome<WireLedger, PushReason> {
    const copy = await this.#parts.ledgers.copyAfter(topic, afterSeq, MAX_ENTRIES_A_PAGE);
    const isShown = await this.#maySee(copy?.header ?? { author: '', scope: scopeOfNothing(topic) }, asking);
    if (copy === null || !isShown) return denied('not_found');
    if (copy.header.owner === LOCAL) return denied('local');
    if (!(await this.#maySend(self, copy.header, asking)))
      throw new CallError('FORBIDDEN', 'A topic of this node is sent by its author or a member of its scope.');
    const { isMember, isLocal } = this.#parts;
    const isForIt = await mayReceive({ store: self.store, isMember, isLocal }, node, copy.header);
    if (!isForIt) return denied('scope');
    // What this node has not signed nobody takes, nor answers.
    const page = WireLedger.safeParse(pageOf(copy));
    return page.success ? allow(page.data) : denied('bad_signature');
  }

  async #pushed(self: NodeMember, node: string, topic: string, total: Adopted): Promise<Decision<Adopted, never>> {
    const { adopted, created } = total;
    await self.store.change(async ({ emit }) => {
      emit({ name: 'agora:pushed', payload: { node, topic, adopted, created } });
      return allow(null);
    });
    return allow(total);
  }

  #reach(
    node: string,
  ): Decision<NodeMember, Denied<'bus_not_configured' | 'self' | 'unknown_node' | 'node_conflict' | 'offline'>> {
    const { missing, member } = this.#parts.node;
    if (member === null) return denied('bus_not_configured', { missing });
    if (node === member.identity.name) return denied('self');
    if (!member.peers.isPeer(node)) return denied('unknown_node');
    if (member.peers.isInConflict(node)) return denied('node_conflict');
    return member.isListening() ? allow(member) : denied('offline');
  }

  /** `options` as far as they are known here. */
  async #cast(
    self: NodeMember,
    node: string,
    signed: SignedBallot,
    outcome: string,
    options: readonly string[] = [],
  ): Outcome<Voted, VoteReason> {
    const { topic, outcome: previous } = signed.ballot;
    if (previous !== outcome) return denied('already_voted', { previous });
    const asked = await self.asker.ask(node, 'ballot.cast', topic, signed);
    if (!asked.ok) return denied(SILENT[asked.silence]);
    const { voted, duplicate, status, votes, hash, code, previous: first, owner } = asked.answer;
    if (voted && status !== null && hash !== null) return allow({ duplicate, tally: { status, votes, hash } });
    const details = { ...(first === undefined ? {} : { previous: first }), ...(owner === undefined ? {} : { owner }) };
    const reason = voteReasonOf(code) ?? 'offline';
    return denied(reason, reason === 'outcome' && options.length > 0 ? { ...details, options } : details);
  }

  /** What came, when it is a copy of that topic that may be kept here and that `asking` may see. */
  async #copyIn(asked: Asked<'topic.get'>, topic: string, asking: Asking): Outcome<WireLedger, PullReason> {
    if (!asked.ok) return denied(UNREAD[asked.silence]);
    const copy = asked.answer;
    if ('absent' in copy) return denied('not_found');
    if (copy.header.topic !== topic) return denied('bad_signature');
    if (!(await this.#maySee(copy.header, asking))) return denied('not_found');
    const { ledgers } = this.#parts;
    const isNew = (await ledgers.lastSeq(topic)) === null;
    const hasRoom = !isNew || (await ledgers.hasRoom({ from: copy.header.owner, family: asking.family }));
    return hasRoom ? allow(copy) : denied('quota');
  }

  /** Adds what the page brought to what came before it; what was told is told with the last one. */
  async #adopt(
    self: NodeMember,
    { copy, isLast, arrival }: { readonly copy: WireLedger; readonly isLast: boolean; readonly arrival: Arrival },
    before: Pick<Adopted, 'created' | 'adopted'>,
  ): Outcome<Adopted, 'conflict' | 'bad_signature' | 'disputed'> {
    const merged = await self.store.change<Decision<Adopted, AdoptRefusal>>(async (unit) => {
      const taken = await this.#parts.ledgers.adopt(unit, copy, arrival);
      if (!taken.ok) return allow(taken);
      const created = taken.value.created || before.created;
      const adopted = taken.value.adopted + before.adopted;
      if (isLast)
        unit.emit({
          name: 'agora:pulled',
          payload: { node: arrival.from, topic: copy.header.topic, adopted, created },
        });
      return allow(allow({ ...taken.value, created, adopted }));
    });
    return merged.ok ? merged : denied(NOT_MERGED[merged.code]);
  }

  /** What is open to all, one's own, and what one is a member of. */
  async #maySee({ scope, author }: Seen, { caller, agentId }: Asking): Promise<boolean> {
    if (caller.operator || isOwnTopic(caller, agentId, { author, scope })) return true;
    return mayRead(this.#parts, caller, { scope, viewer: agentId });
  }

  /** A topic of this node leaves it by who wrote it and those whose vote it is; a copy by whoever sees it. */
  async #maySend(self: NodeMember, { owner, scope, author }: WireLedger['header'], asking: Asking): Promise<boolean> {
    const { caller, agentId } = asking;
    if (caller.operator || owner !== self.identity.name || isOwnTopic(caller, agentId, { author, scope })) return true;
    if (scope === null || agentId === null) return false;
    return (await membershipOf(this.#parts, caller, { owner: scope.owner, agentId })) !== null;
  }
}

type Seen = Pick<WireLedger['header'], 'scope' | 'author'>;

function takenOf(asked: Asked<'topic.push'>): Decision<Adopted, Denied<PushReason>> {
  if (!asked.ok) return denied(SILENT[asked.silence]);
  const answer: AnswerTo<'topic.push'> = asked.answer;
  if ('absent' in answer) return denied('not_found');
  if ('conflict' in answer) return denied('conflict');
  return 'refused' in answer ? denied(answer.refused) : allow(answer);
}
