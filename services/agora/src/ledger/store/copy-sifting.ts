/** What of a copy that came is signed by whom it names. The rest is left out: what one entry is worth says nothing of another. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { NodeSigner } from '../../federation/domain/keyring.ts';
import type { WireLedger } from '../../federation/domain/messages.ts';
import { type Ballot, ballotHash } from '../domain/ledger.ts';
import { boundBytes, isEntryOf, type SignedDecision, type SignedEntry, type Verify } from '../domain/merge.ts';
import { readOwnSignatures, signatureKey } from './stray-rows.ts';
import { readEntries, type TopicRow } from './topic-rows.ts';

interface Source {
  /** The node that says it; null = nobody's word counts. */
  readonly from: string | null;
  /** Ballots of this node's own as they lie in its tables, whatever key they were signed with in their time. */
  readonly kept: ReadonlySet<string>;
}

/** A decision that is not bound to its ledger may be of any other one of its owner: nobody else than that one is believed. */
export function verifierFor(
  signer: NodeSigner,
  { header: { owner }, headerHash }: Pick<TopicRow, 'header' | 'headerHash'>,
  { from, kept }: Source = { from: null, kept: new Set() },
): Verify {
  return {
    entry: ({ entry, sig }) => sig !== null && signer.verify(owner, 'svc-agora-entry', entry, sig),
    ballot: ({ ballot, sig }) =>
      signer.verify(ballot.node, 'svc-agora-ballot', ballot, sig) ||
      (ballot.node === signer.name && kept.has(signatureKey(ballotHash(ballot), sig))),
    decision: ({ decision, sig, bound }) =>
      sig !== null &&
      signer.verify(owner, 'svc-agora-decision', decision, sig) &&
      (bound === undefined
        ? from === owner
        : signer.verify(owner, 'svc-agora-binding', boundBytes(headerHash, decision, bound.ledger), bound.sig)),
  };
}

export interface Sifted {
  /** By number, up to the first that is not what it says. */
  readonly entries: readonly SignedEntry[];
  readonly decision: SignedDecision | null;
  /** Nothing of the entries and the decision was left out. */
  readonly isWhole: boolean;
  readonly verify: Verify;
}

export async function siftCopy(
  tx: SqlClient,
  signer: NodeSigner,
  row: TopicRow,
  { entries, evidence, decision: told }: WireLedger,
  from: string,
): Promise<Sifted> {
  const { header, headerHash } = row;
  const ballots = [...entries.map(({ entry }) => entry.ballot), ...evidence.flat().map(({ ballot }) => ballot)];
  const verify = verifierFor(signer, row, { from, kept: await keptSignatures(tx, signer, row, ballots) });
  if (!row.replica) {
    const isWhole = isOwnDecision(row, told) && (await areOwn(tx, row, entries));
    return { entries: [], decision: null, isWhole, verify };
  }
  const incoming = entries.toSorted((a, b) => a.entry.seq - b.entry.seq);
  const wrong = incoming.findIndex((signed) => !isEntryOf(headerHash, header, signed, verify));
  const decision = told !== null && verify.decision(told) ? told : null;
  return {
    entries: wrong === -1 ? incoming : incoming.slice(0, wrong),
    decision,
    isWhole: wrong === -1 && (told === null) === (decision === null),
    verify,
  };
}

async function keptSignatures(
  tx: SqlClient,
  { name }: NodeSigner,
  row: TopicRow,
  ballots: readonly Ballot[],
): Promise<ReadonlySet<string>> {
  const voters = ballots.filter(({ node }) => node === name).map(({ voter }) => voter);
  return voters.length === 0 ? new Set() : readOwnSignatures(tx, row, name, voters);
}

/** Whether this node has decided just that; a copy may be older than the decision. */
function isOwnDecision({ decision: own }: TopicRow, told: WireLedger['decision']): boolean {
  return told === null || (own !== null && canonicalJson(told.decision) === canonicalJson(own.decision));
}

/** Whether this node has admitted just that. */
async function areOwn(tx: SqlClient, row: TopicRow, entries: readonly SignedEntry[]): Promise<boolean> {
  const numbers = entries.map(({ entry }) => entry.seq);
  if (numbers.length === 0) return true;
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  if (last - first >= entries.length) return false;
  const here = await readEntries(tx, row, first - 1, entries.length);
  const known = new Set(here.map(({ entry }) => canonicalJson(entry)));
  return entries.every(({ entry }) => known.has(canonicalJson(entry)));
}
