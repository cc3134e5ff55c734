/** Copies of ledgers on their way: as much of one as fits into a message. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { MAX_ENTRIES_A_PAGE, type SignedBallot, type WireLedger } from './messages.ts';

/** Of an envelope, what entries and evidence may take; the rest is for the header and the decision. */
const ENTRY_BYTES = 300 * 1024;
const EVIDENCE_BYTES = 100 * 1024;
const MAX_OPTIONS_BYTES = 64 * 1024;

/** The first of `items` that together take at most so many bytes; at least one. */
function fitting<Item>(items: readonly Item[], bytes: number): Item[] {
  let left = bytes;
  return items.filter((item, index) => {
    if (left > 0) left -= Buffer.byteLength(canonicalJson(item));
    return left >= 0 || index === 0;
  });
}

const voterOf = ([first]: readonly [SignedBallot, SignedBallot]): string => first.ballot.voter;

/**
 * A page of `copy`: entries as many as fit, with the evidence against their voters; the last page has the evidence against
 * all others besides, as far as it fits, and the decision.
 */
export function pageOf(copy: WireLedger): WireLedger {
  const entries = fitting(copy.entries.slice(0, MAX_ENTRIES_A_PAGE), ENTRY_BYTES - MAX_OPTIONS_BYTES);
  const more = copy.more || entries.length < copy.entries.length;
  const voters = new Set(entries.map(({ entry }) => entry.ballot.voter));
  const [ofPage, others] = [
    copy.evidence.filter((pair) => voters.has(voterOf(pair))),
    copy.evidence.filter((pair) => !voters.has(voterOf(pair))),
  ];
  const evidence = fitting(more ? ofPage : [...ofPage, ...others], EVIDENCE_BYTES);
  return { ...copy, entries, more, evidence, decision: more ? null : copy.decision };
}
