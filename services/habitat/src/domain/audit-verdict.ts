/** Finds where a chain of the audit stops being what was once written. */
import { type ChainedEntry, type ChainEnd, chainOf, actorOfEntry, FIRST_PREV_HASH, hashOf } from './audit-chain.ts';

/** A row as it lies in the table: what the hash covers, and what it does not. */
export interface AuditRow extends ChainedEntry {
  readonly chain: string;
  readonly actor: string | null;
}

/** The last known end as the database has it; `vouched`: its signature fits. */
export interface KnownHead extends ChainEnd {
  readonly vouched: boolean;
  readonly checkpointSeq: number;
}

/** Up to where a chain was removed for its age; `vouched`: its signature fits. */
export interface KnownCut extends ChainEnd {
  readonly vouched: boolean;
}

/** What is known of a chain beside its rows. */
interface KnownChain {
  readonly chain: string;
  readonly cut: KnownCut | null;
  readonly head: KnownHead | null;
  readonly checkpoints: Checkpoints;
}

/** `keptFrom`: the first entry that was not removed for its age, where some were. `brokenAt`: the first entry that is not as it was written, or that nothing vouches for. */
export interface ChainVerdict {
  readonly entries: number;
  readonly head: string;
  readonly checkpointSeq: number;
  readonly keptFrom?: number;
  readonly brokenAt?: number;
  readonly truncated?: true;
}

/** Checkpoints of one chain from the second place: their hashes by seq. */
export type Checkpoints = ReadonlyMap<number, ReadonlySet<string>>;

/** Takes the rows of one chain in their order, then judges. */
export class ChainAuditor {
  readonly #cut: KnownCut | null;
  readonly #head: KnownHead | null;
  readonly #checkpoints: Checkpoints;
  readonly #chain: string;
  #entries = 0;
  #end: ChainEnd;
  /** The last entry that a checkpoint outside the database vouches for. */
  #vouchedSeq = 0;
  #brokenAt: number | null = null;

  constructor({ chain, cut, head, checkpoints }: KnownChain) {
    this.#chain = chain;
    this.#cut = cut;
    this.#head = head;
    this.#checkpoints = checkpoints;
    this.#end = cut ?? { chain, seq: 0, hash: FIRST_PREV_HASH };
    if (cut === null) return;
    this.#vouchedSeq = cut.seq;
    // Nothing vouches for what is said to have been before it.
    if (!cut.vouched || this.#contradicts(cut)) this.#brokenAt = 1;
  }

  take(row: AuditRow): void {
    this.#entries += 1;
    if (this.#brokenAt !== null) return;
    const expected = this.#end.seq + 1;
    if (!this.#follows(row, expected)) this.#brokenAt = Math.min(expected, row.seq);
    else if (this.#contradicts(row)) this.#brokenAt = this.#vouchedSeq + 1;
    this.#end = { chain: this.#chain, seq: row.seq, hash: row.hash };
    if (this.#checkpoints.has(row.seq)) this.#vouchedSeq = row.seq;
  }

  /** `strayAt`: the first entry beyond the end of the chain, or null. */
  verdict(strayAt: number | null): ChainVerdict {
    const known = Math.max(0, ...this.#checkpoints.keys());
    const head = this.#head;
    const seen = {
      entries: this.#entries,
      head: this.#end.hash,
      checkpointSeq: known === 0 ? (head?.checkpointSeq ?? 0) : known,
      ...(this.#cut === null ? {} : { keptFrom: this.#cut.seq + 1 }),
    };
    if (this.#brokenAt !== null) return { ...seen, brokenAt: this.#brokenAt };
    if (this.#end.seq < Math.max(known, head?.seq ?? 0)) return { ...seen, truncated: true };
    if (strayAt !== null) return { ...seen, brokenAt: strayAt };
    // The rows fit together, but not to what was signed: from here on they were written anew.
    return head === null || this.#isSigned(head) ? seen : { ...seen, brokenAt: this.#vouchedSeq + 1 };
  }

  #isSigned({ hash, vouched, seq, checkpointSeq }: KnownHead): boolean {
    return vouched && hash === this.#end.hash && checkpointSeq <= seq;
  }

  /** A checkpoint says that this entry was another one. */
  #contradicts({ seq, hash }: Pick<ChainEnd, 'seq' | 'hash'>): boolean {
    return [...(this.#checkpoints.get(seq) ?? [])].some((signed) => signed !== hash);
  }

  #follows(row: AuditRow, expected: number): boolean {
    return (
      row.seq === expected &&
      row.chain === chainOf(row.workspace) &&
      row.actor === actorOfEntry(row.subject) &&
      row.prevHash === this.#end.hash &&
      row.hash === hashOf(row.prevHash, row)
    );
  }
}

export function isSound({ brokenAt, truncated }: ChainVerdict): boolean {
  return brokenAt === undefined && truncated === undefined;
}
