/** The same stories in the tables of a real store: what arrives at a copy, and what happens at an owner. */
import type { Decision as Ruled } from '@svc/contract/decision.ts';
import type { NodeSigner } from '../../src/federation/domain/keyring.ts';
import type { WireLedger } from '../../src/federation/domain/messages.ts';
import type { Adopted, AdoptRefusal, AgoraUnit } from '../../src/federation/ledgers.ts';
import type { Header } from '../../src/ledger/domain/ledger.ts';
import { type Copy, emptyCopy, join, ledgerOf } from '../../src/ledger/domain/merge.ts';
import type { Casting } from '../../src/ledger/store/casting.ts';
import { adoptIn } from '../../src/ledger/store/copy-merge.ts';
import { readEquivocations } from '../../src/ledger/store/equivocation-rows.ts';
import { createLedgerHashes } from '../../src/ledger/store/ledger-hash.ts';
import { readEntries, readTopic } from '../../src/ledger/store/topic-rows.ts';
import type { BedNode } from '../node-bed.ts';
import { signDecision, signedBy, verifyFor } from './owner.ts';
import { parcelOf, type Piece } from './stories.ts';

const LABEL = 'svc-agora-';

/** Signs as the nodes of the stories do. */
function signerOf(name: string): NodeSigner {
  return {
    name,
    agentId: null,
    sign: (label, value) => signedBy(name, label.slice(LABEL.length), value),
    verify: (node, label, value, sig) => sig === signedBy(node, label.slice(LABEL.length), value),
  };
}

/** A process that begins anew: it remembers no hashes. */
export const castingOf = (name: string): Casting => ({ signer: signerOf(name), hashes: createLedgerHashes() });

export async function inUnit<Value>(node: BedNode, work: (unit: AgoraUnit) => Promise<Value>): Promise<Value> {
  const { member } = node.deps().node;
  if (member === null) throw new Error('the node of the bed is none');
  return member.store.change(async (unit) => ({ ok: true, value: await work(unit) }));
}

export async function forgotten(node: BedNode): Promise<void> {
  await node.database.pool.query(
    'TRUNCATE agora.topics, agora.ballot_entries, agora.equivocations, agora.stray_ballots',
  );
}

/** As one message brings it. */
export function wireOf(header: Header, pieces: readonly Piece[]): WireLedger {
  const headerSig = signedBy(header.owner, 'header', header);
  return { ...parcelOf(header, pieces), headerSig, more: false } as unknown as WireLedger;
}

export function adopted(node: BedNode, casting: Casting, copy: WireLedger): Promise<Ruled<Adopted, AdoptRefusal>> {
  return inUnit(node, (unit) => adoptIn(unit, casting, copy, { from: 'somebody', family: null }));
}

interface Held {
  readonly hash: string;
  readonly status: string;
  readonly entries: number;
  readonly voided: readonly string[];
}

/** What the tables come to. */
export async function heldIn(node: BedNode, casting: Casting, topic: string): Promise<Held> {
  return inUnit(node, async ({ tx }) => {
    const row = await readTopic(tx, topic);
    if (row === null) throw new Error('the topic is missing');
    const { status, entries, voided } = row;
    return { hash: await casting.hashes.of(tx, row), status, entries, voided };
  });
}

/** The same of the copy that the rules make of `pieces`. */
export function heldOf(header: Header, pieces: readonly Piece[], from = emptyCopy(header)): Held {
  const { hash, status, entries, voided, decision } = ledgerOf(joined(header, pieces, from));
  const of = decision?.decision.voided ?? [...voided].sort();
  return { hash, status, entries: entries.length, voided: of };
}

function joined(header: Header, pieces: readonly Piece[], from: Copy): Copy {
  return pieces.reduce((copy, piece) => {
    const next = join(copy, parcelOf(header, [piece]), verifyFor(header));
    if (next === 'conflict') throw new Error('a ledger conflicts with itself');
    return next.copy;
  }, from);
}

/** Everything that the tables have of a topic. */
export async function piecesIn(node: BedNode, topic: string): Promise<{ header: Header; pieces: Piece[] }> {
  return inUnit(node, async ({ tx }) => {
    const row = await readTopic(tx, topic);
    if (row === null) throw new Error('the topic is missing');
    const entries = await readEntries(tx, row);
    const pieces: Piece[] = [
      ...entries.map(({ entry, sig }) => ({ entry: { entry, sig } })),
      ...(await readEquivocations(tx, topic)).map((pair) => ({ pair })),
      ...(row.decision === null ? [] : [{ decision: signDecision(row.header, row.decision.decision, entries) }]),
    ];
    return { header: row.header, pieces };
  });
}
