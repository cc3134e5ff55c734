/** Hashes of ledgers that grow: what this process hashed already it does not hash again. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { LRUCache } from 'lru-cache';
import { beginLedgerHash, type RunningHash, sealedHash } from '../domain/ledger.ts';
import { hashedEntry } from '../domain/merge.ts';
import { readEntries, type TopicRow } from './topic-rows.ts';

const REMEMBERED = 1000;

type HashedTopic = Pick<TopicRow, 'header' | 'headerHash' | 'entries' | 'told' | 'voided' | 'decision' | 'hash'>;

export interface LedgerHashes {
  /** `tx` has to see as many entries as `topic` says. */
  of(tx: SqlClient, topic: HashedTopic): Promise<string>;
}

interface Kept {
  readonly running: RunningHash;
  /** Of what it was made beside the entries. */
  readonly key: string;
  /** Hash of the last ballot in it. */
  readonly last: string;
}

/** Ballots of a topic that is sealed: those that are here, or as many as its owner says. */
export const headsOf = ({ entries, told }: Pick<TopicRow, 'entries' | 'told'>): number => Math.max(entries, told);

const keyOf = ({ headerHash, voided }: HashedTopic): string => `${headerHash} ${voided.join(' ')}`;

export function createLedgerHashes(): LedgerHashes {
  const kept = new LRUCache<string, Kept>({ max: REMEMBERED });

  /** The entries beyond what is kept; those that are kept may be of a transaction that never was. */
  async function beyond(tx: SqlClient, row: HashedTopic, known: Kept | undefined) {
    if (known !== undefined && known.running.entries > 0) {
      const from = known.running.entries - 1;
      const [last, ...added] = await readEntries(tx, row, from, row.entries - from);
      if (last?.ballotHash === known.last) return { running: known.running.copy(), added };
    }
    const added = row.entries === 0 ? [] : await readEntries(tx, row, 0, row.entries);
    return { running: beginLedgerHash(row.decision?.decision ?? null), added };
  }

  /** A decision stands at the front of what is hashed, and what is void inside of it: neither can be gone on from. */
  function usable(row: HashedTopic): Kept | undefined {
    const known = kept.get(row.header.topic);
    return known?.key === keyOf(row) && known.running.entries <= row.entries ? known : undefined;
  }

  async function hashed(tx: SqlClient, row: HashedTopic, known: Kept | undefined): Promise<RunningHash> {
    const { header, entries, voided, decision } = row;
    const { running, added } = await beyond(tx, row, known);
    const isVoid = new Set(decision?.decision.voided ?? voided);
    for (const { entry } of added) running.add(hashedEntry(entry, isVoid));
    if (running.entries !== entries) throw new Error('a ledger lacks entries');
    const last = added.at(-1)?.ballotHash ?? known?.last;
    if (decision === null && last !== undefined) kept.set(header.topic, { running, key: keyOf(row), last });
    return running;
  }

  return {
    async of(tx, row) {
      const { header, headerHash, decision, hash } = row;
      if (hash !== null) return hash;
      if (decision !== null) return (await hashed(tx, row, undefined)).end(headerHash);
      if (header.sealed) return sealedHash(headerHash, headsOf(row));
      return (await hashed(tx, row, usable(row))).end(headerHash);
    },
  };
}
