/** A topic of another node, as it is looked at before a ballot is signed for it. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import { headerHash } from '../ledger/domain/ledger.ts';
import { type Reading, readOn } from './domain/copies.ts';
import type { SignedBallot, WireLedger } from './domain/messages.ts';
import { denied, type PullReason, type REASONS, type VoteReason } from './domain/refusals.ts';
import type { NodeMember } from './node.ts';
import type { Silence } from './transport/asker.ts';

export const SILENT = {
  offline: 'offline',
  timeout: 'timeout',
  garbled: 'timeout',
  quota: 'quota',
  size: 'quota',
} as const satisfies Record<Silence, PullReason>;
/** Of a question that changes nothing: what came as an answer is no ledger that anybody signed. */
export const UNREAD = { ...SILENT, garbled: 'bad_signature' } as const satisfies Record<Silence, PullReason>;

interface Abroad {
  readonly header: WireLedger['header'];
  /** What its owner has of this node for that voter; null = nothing, or it does not show it yet. */
  readonly admitted: SignedBallot | null;
}

interface Wanted {
  readonly node: string;
  readonly topic: string;
  readonly voter: string;
}

/**
 * A node that was put back to an older state does not know what it has signed since, and two outcomes would make its voter
 * void: so it is looked for where it was sent.
 */
export async function readAbroad(
  self: NodeMember,
  wanted: Wanted,
): Promise<Decision<Abroad, (typeof REASONS)[VoteReason]>> {
  for (let reading: Reading = { afterSeq: 0, isWhole: true }; ; ) {
    const page = await readPage(self, wanted, reading);
    if (!page.ok) return page;
    const admitted = ownIn(self, page.value, wanted.voter);
    const next = readOn(reading, page.value);
    if (next === 'stuck') return denied('bad_signature');
    if (next === null || admitted !== null) return allow({ header: page.value.header, admitted });
    reading = next;
  }
}

async function readPage(
  { asker, keyring }: NodeMember,
  { node, topic }: Wanted,
  { afterSeq }: Reading,
): Promise<Decision<WireLedger, (typeof REASONS)[VoteReason]>> {
  const asked = await asker.ask(node, 'topic.get', topic, { topic, afterSeq });
  if (!asked.ok) return denied(UNREAD[asked.silence]);
  if ('absent' in asked.answer) return denied('not_found');
  const { header, headerSig } = asked.answer;
  const isSigned = keyring.verify(header.owner, 'svc-agora-header', header, headerSig);
  if (!isSigned || header.topic !== topic) return denied('bad_signature');
  return header.owner === node ? allow(asked.answer) : denied('not_owner', { owner: header.owner });
}

function ownIn({ keyring }: NodeMember, { header, entries }: WireLedger, voter: string): SignedBallot | null {
  const own = entries.find(({ entry: { ballot } }) => ballot.voter === voter && ballot.node === keyring.name);
  if (own === undefined || own.entry.ballot.header !== headerHash(header)) return null;
  const { ballot, ballotSig } = own.entry;
  return keyring.verify(keyring.name, 'svc-agora-ballot', ballot, ballotSig) ? { ballot, sig: ballotSig } : null;
}
