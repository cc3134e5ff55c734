import { assert, double, integer, property, tuple } from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type ChainEnd, endAfter, FIRST_PREV_HASH, hashOf, macOf, nextEntry } from './audit-chain.ts';
import { type AuditRow, ChainAuditor, type ChainVerdict, isSound, type KnownHead } from './audit-verdict.ts';

const KEY = Buffer.from('k'.repeat(32));

/** What lies in the database and, signed, beside it. */
interface Kept {
  readonly rows: AuditRow[];
  head: (ChainEnd & { readonly mac: string }) | null;
  readonly checkpoints: ReadonlyMap<number, ReadonlySet<string>>;
}

function signed(end: ChainEnd) {
  return { ...end, mac: macOf(KEY, end) };
}

/** A chain of `length` entries, with a checkpoint of every tenth. */
function chainOfLength(length: number): Kept {
  let end: ChainEnd = { chain: 'acme', seq: 0, hash: FIRST_PREV_HASH };
  const rows: AuditRow[] = [];
  const checkpoints = new Map<number, ReadonlySet<string>>();
  for (let n = 1; n <= length; n += 1) {
    const subject = { agentId: `a${n % 3}`, verified: true };
    const entry = nextEntry(end, {
      id: `aud_${n}`,
      at: 1000 + n,
      event: 'thing:done',
      kind: 'system',
      subject,
      workspace: 'acme',
      data: { n },
    });
    end = endAfter('acme', entry);
    rows.push({ ...entry, chain: 'acme', actor: subject.agentId });
    if (n % 10 === 0) checkpoints.set(n, new Set([entry.hash]));
  }
  return { rows, head: signed(end), checkpoints };
}

function judged({ rows, head, checkpoints }: Kept): ChainVerdict {
  const known: KnownHead | null = head && { ...head, vouched: head.mac === macOf(KEY, head), checkpointSeq: 0 };
  const auditor = new ChainAuditor({ chain: 'acme', cut: null, head: known, checkpoints });
  const ordered = rows.toSorted((a, b) => a.seq - b.seq);
  const lastSeq = known?.seq ?? 0;
  for (const row of ordered) if (row.seq <= lastSeq) auditor.take(row);
  return auditor.verdict(ordered.find(({ seq }) => seq > lastSeq)?.seq ?? null);
}

/** Somebody without the key writes everything anew from an entry on, and the head with it. */
function restamp(kept: Kept, from: number): void {
  let prevHash = kept.rows[from - 2]?.hash ?? FIRST_PREV_HASH;
  for (let at = from - 1; at < kept.rows.length; at += 1) {
    const row = kept.rows[at];
    if (row === undefined) return;
    const renewed = { ...row, prevHash, hash: hashOf(prevHash, row) };
    kept.rows[at] = renewed;
    prevHash = renewed.hash;
  }
  if (kept.head !== null) kept.head = { ...kept.head, hash: prevHash };
}

function edited(row: AuditRow): AuditRow {
  return { ...row, data: { n: -1 } };
}

const length = integer({ min: 2, max: 60 });
const place = tuple(length, double({ min: 0, max: 1, noNaN: true })).map(([count, share]) => ({
  count,
  seq: 1 + Math.min(count - 1, Math.floor(share * count)),
}));

describe('an untouched chain', () => {
  it('is sound at any length, with its entries counted', () => {
    assert(
      property(integer({ min: 0, max: 60 }), (count) => {
        const verdict = judged(chainOfLength(count));
        expect(isSound(verdict)).toBe(true);
        expect(verdict.entries).toBe(count);
        expect(verdict.checkpointSeq).toBe(count - (count % 10));
      }),
      { numRuns: 60 },
    );
  });
});

const FIELDS: readonly Partial<AuditRow>[] = [
  { id: 'aud_x' },
  { at: 1 },
  { event: 'other' },
  { kind: 'user' },
  { subject: { verified: false } },
  { workspace: null },
  { data: {} },
  { actor: 'somebody' },
  { hash: 'f'.repeat(64) },
  { prevHash: 'f'.repeat(64) },
  { chain: 'beta' },
];

test('every field of an entry counts, and the first changed entry is named', () => {
  for (const change of FIELDS) {
    const kept = chainOfLength(12);
    const row = kept.rows[6];
    if (row !== undefined) kept.rows[6] = { ...row, ...change };
    expect([change, judged(kept).brokenAt]).toEqual([change, 7]);
  }
});

const TAMPERINGS: Record<string, (kept: Kept, seq: number, count: number) => unknown> = {
  edit: ({ rows }, seq) => rows.splice(seq - 1, 1, edited(rows[seq - 1] as AuditRow)),
  insert: ({ rows }, seq, count) => rows.push({ ...(rows[seq - 1] as AuditRow), id: 'aud_new', seq: count + 1 }),
  remove: ({ rows }, seq) => rows.splice(seq - 1, 1),
  reorder: ({ rows }, seq, count) => {
    const [one, other] = [seq - 1, seq % count] as const;
    const [first, second] = [rows[one] as AuditRow, rows[other] as AuditRow];
    rows[one] = { ...second, seq: first.seq };
    rows[other] = { ...first, seq: second.seq };
  },
  restamp: (kept, seq) => {
    kept.rows[seq - 1] = edited(kept.rows[seq - 1] as AuditRow);
    restamp(kept, seq);
  },
  'remove and restamp': (kept, seq) => {
    kept.rows.splice(seq - 1, 1);
    kept.rows.forEach((row, at) => {
      kept.rows[at] = { ...row, seq: at + 1 };
    });
    restamp(kept, seq);
    if (kept.head !== null) kept.head = { ...kept.head, seq: kept.head.seq - 1 };
  },
  truncate: ({ rows }, seq) => rows.splice(seq - 1),
  'truncate with the head': (kept, seq) => {
    kept.rows.splice(seq - 1);
    const hash = kept.rows.at(-1)?.hash ?? FIRST_PREV_HASH;
    kept.head = kept.head && { ...kept.head, seq: seq - 1, hash };
  },
  'lose the head': (kept) => {
    kept.head = null;
  },
};

test.each(Object.entries(TAMPERINGS))('%s is found wherever it happens', (_name, tamper) => {
  assert(
    property(place, ({ count, seq }) => {
      const kept = chainOfLength(count);
      tamper(kept, seq, count);
      expect(isSound(judged(kept))).toBe(false);
    }),
    { numRuns: 120 },
  );
});

test('an old end that was once signed is found by the checkpoints beside the database', () => {
  const kept = chainOfLength(35);
  const old = kept.rows[21] as AuditRow;
  const rolledBack: Kept = { ...kept, rows: kept.rows.slice(0, 22), head: signed(endAfter('acme', old)) };
  expect(judged(rolledBack)).toMatchObject({ truncated: true, entries: 22, checkpointSeq: 30 });
});
