/** Copies of ledgers on their way: as much of one as fits into a message. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { liarOf, voterKey } from '../../ledger/domain/merge.ts';
import { MAX_ENTRIES_A_PAGE, type WireLedger } from './messages.ts';

/** Of an envelope, what entries and evidence may take; the rest is for the header and the decision. */
const ENTRY_BYTES = 300 * 1024;
const EVIDENCE_BYTES = 100 * 1024;
const MAX_OPTIONS_BYTES = 64 * 1024;
const LARGEST_PAIR_BYTES = 4096;

type Pair = WireLedger['evidence'][number];

const sizeOf = (item: unknown): number => Buffer.byteLength(canonicalJson(item));

/** The first of `items` that together take at most so many bytes; at least one. */
function fitting<Item>(items: readonly Item[], bytes: number): Item[] {
  let left = bytes;
  return items.filter((item, index) => {
    if (left >= 0) left -= sizeOf(item);
    return left >= 0 || index === 0;
  });
}

/** The first entries of which, with the proofs against their voters, no more than so many bytes come together; at least one. */
function entriesOf({ entries }: WireLedger, against: ReadonlyMap<string, Pair>): WireLedger['entries'] {
  let [left, leftForProofs] = [ENTRY_BYTES - MAX_OPTIONS_BYTES, EVIDENCE_BYTES];
  return entries.slice(0, MAX_ENTRIES_A_PAGE).filter((signed, index) => {
    const proof = against.get(voterKey(signed.entry.ballot));
    if (left >= 0 && leftForProofs >= 0) {
      left -= sizeOf(signed);
      leftForProofs -= proof === undefined ? 0 : sizeOf(proof);
    }
    return (left >= 0 && leftForProofs >= 0) || index === 0;
  });
}

/**
 * A page of `copy`: entries as many as fit with all the proofs against their voters; the last page has the proofs against
 * all others besides, as far as they fit, and the decision.
 */
export function pageOf(copy: WireLedger): WireLedger {
  const against = new Map(copy.evidence.map((pair) => [liarOf(pair), pair]));
  const entries = entriesOf(copy, against);
  const more = copy.more || entries.length < copy.entries.length;
  const voters = new Set(entries.map(({ entry }) => voterKey(entry.ballot)));
  const [ofPage, others] = [
    copy.evidence.filter((pair) => voters.has(liarOf(pair))),
    copy.evidence.filter((pair) => !voters.has(liarOf(pair))),
  ];
  const evidence = fitting(more ? ofPage : [...ofPage, ...others], EVIDENCE_BYTES);
  return { ...copy, entries, more, evidence, decision: more ? null : copy.decision };
}

/** How far a copy was read, and whether that began with its first entry. */
export interface Reading {
  readonly afterSeq: number;
  readonly isWhole: boolean;
}

/** After which entry to go on; null = that was all of it, `stuck` = there is said to be more, and nothing came. */
export function readOn(
  { afterSeq, isWhole }: Reading,
  { entries, more, evidence }: WireLedger,
): Reading | null | 'stuck' {
  const last = entries.at(-1)?.entry.seq ?? afterSeq;
  if (more) return last > afterSeq ? { afterSeq: last, isWhole } : 'stuck';
  const size = evidence.reduce((sum, pair) => sum + sizeOf(pair), 0);
  // Proofs that did not fit come with the entries that they are against.
  return isWhole || size + LARGEST_PAIR_BYTES <= EVIDENCE_BYTES ? null : { afterSeq: 0, isWhole: true };
}
