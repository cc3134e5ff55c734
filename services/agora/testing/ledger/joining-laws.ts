/** What copies come to on their way, and what their hashes cover. */
import * as fc from 'fast-check';
import { canonicalJson } from '@svc/contract/canonical.ts';
import {
  ballotHash,
  beginLedgerHash,
  entryHash,
  type Header,
  headerHash,
  ledgerHash,
  sealedHash,
} from '../../src/ledger/domain/ledger.ts';
import { type Copy, emptyCopy, hashedEntry, type Incoming, join, ledgerOf } from '../../src/ledger/domain/merge.ts';
import { lastOf, type Law, law, same } from './law.ts';
import { ballotOf, OPENED_AT, play, type Story, verifyFor } from './owner.ts';
import {
  contradictionsOf,
  forgeriesOf,
  headers,
  parcelOf,
  type Piece,
  piecesOf,
  slandersOf,
  stories,
} from './stories.ts';

/** Everything that can be seen of a copy, in an order that does not depend on how it came about. */
function seen(copy: Copy): unknown {
  const sorted = (map: ReadonlyMap<string, unknown>) => [...map].map((one) => canonicalJson(one)).sort();
  const { voided, ...ledger } = ledgerOf(copy);
  return { ...ledger, voided: [...voided].sort(), of: [copy.entries, copy.evidence, copy.decisions].map(sorted) };
}

function joined(header: Header, parcels: readonly Incoming[], from = emptyCopy(header)): Copy {
  return parcels.reduce((copy, parcel) => {
    const next = join(copy, parcel, verifyFor(header));
    if (next === 'conflict') throw new Error('a ledger conflicts with itself');
    return next.copy;
  }, from);
}

/** A copy as others send it: what it holds, decision by decision. */
function parcelsOf({ header, entries, evidence, decisions }: Copy): Incoming[] {
  const whole = { header, entries: [...entries.values()], evidence: [...evidence.values()], decision: null };
  return [whole, ...[...decisions.values()].map((decision) => ({ header, entries: [], evidence: [], decision }))];
}

/** Pieces in some order and some grouping, some of them more than once. */
const shuffled = (pieces: readonly Piece[]): fc.Arbitrary<Piece[][]> =>
  fc
    .tuple(
      fc.shuffledSubarray([...pieces, ...pieces], { minLength: pieces.length }),
      fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
    )
    .map(([order, sizes]) => {
      const missing = pieces.filter((piece) => !order.includes(piece));
      const left = [...order, ...missing];
      const parcels: Piece[][] = [];
      while (left.length > 0) parcels.push(left.splice(0, sizes.next().value));
      // A parcel has room for one decision.
      return parcels.flatMap((parcel) => {
        const decisions = parcel.filter((piece) => 'decision' in piece);
        return [parcel, ...decisions.slice(1).map((piece) => [piece])];
      });
    });

const travelled = (of: (story: Story) => Piece[]): fc.Arbitrary<[Story, Piece[][], Piece[][], Piece[][]]> =>
  stories.chain((story) => fc.tuple(fc.constant(story), shuffled(of(story)), shuffled(of(story)), shuffled(of(story))));

const all = (story: Story): Piece[] => [...piecesOf(story), ...forgeriesOf(story), ...slandersOf(story)];
const withLies = (story: Story): Piece[] => [...all(story), ...contradictionsOf(story)];

export const JOINING: readonly Law[] = [
  law('copies come to the same in whatever order, grouping and number', [travelled(withLies)], ([story, a, b]) => {
    const [one, other] = [a, b].map((parcels) =>
      seen(
        joined(
          story.header,
          parcels.map((parcel) => parcelOf(story.header, parcel)),
        ),
      ),
    );
    same(one, other, 'copies');
  }),
  law('joining is associative and does nothing twice', [travelled(withLies)], ([story, ...parts]) => {
    const { header } = story;
    const [a, b, c] = parts.map((parcels, index) =>
      joined(
        header,
        parcels.filter((_parcel, at) => at % 3 === index).map((parcel) => parcelOf(header, parcel)),
      ),
    ) as [Copy, Copy, Copy];
    const plusCopy = (one: Copy, other: Copy) => joined(header, parcelsOf(other), one);
    same(seen(plusCopy(plusCopy(a, b), c)), seen(plusCopy(a, plusCopy(b, c))), 'grouping');
    same(seen(plusCopy(a, b)), seen(plusCopy(b, a)), 'order');
    same(seen(plusCopy(a, a)), seen(a), 'twice');
  }),
  law('a whole copy is what its owner has, whatever was forged beside it', [travelled(all)], ([story, parcels]) => {
    const { header } = story;
    const last = lastOf(story);
    const copy = joined(
      header,
      parcels.map((parcel) => parcelOf(header, parcel)),
    );
    const { status, hash, voided, disputed, decision } = ledgerOf(copy);
    const liars = new Set(story.evidence.map(([{ ballot }]) => ballot.voter));
    const proven = new Set(last.entries.map(({ entry }) => entry.ballot.voter).filter((voter) => liars.has(voter)));
    same(status, last.decision?.decision.status ?? 'open', 'status');
    same(decision, last.decision, 'decision');
    same(disputed, false, 'disputed');
    same(voided, proven, 'voided');
    same(hash, hashOfOwner(story), 'hash');
  }),
  law('what is forged is left out, and counted', [stories], (story) => {
    const { header } = story;
    for (const forgery of forgeriesOf(story)) {
      const before = joined(header, [parcelOf(header, piecesOf(story))]);
      const after = join(before, parcelOf(header, [forgery]), verifyFor(header));
      if (after === 'conflict') throw new Error('a ledger conflicts with itself');
      same(after.rejected, 1, 'left out');
      same(seen(after.copy), seen(before), 'after a forgery');
    }
    const other = { ...header, minQuorum: header.minQuorum + 1 };
    same(join(emptyCopy(header), parcelOf(other, []), verifyFor(header)), 'conflict', 'another header');
  }),
  law('an owner that contradicts itself is seen through', [travelled(piecesOf)], ([story, parcels]) => {
    const { header } = story;
    const honest = joined(
      header,
      parcels.map((parcel) => parcelOf(header, parcel)),
    );
    const undecided = joined(header, [{ ...parcelOf(header, piecesOf(story)), decision: null }]);
    for (const lie of contradictionsOf(story)) {
      same(ledgerOf(joined(header, [parcelOf(header, [lie])], undecided)).decision, null, 'a decision that is none');
      const { disputed, status, decision } = ledgerOf(joined(header, [parcelOf(header, [lie])], honest));
      same({ disputed, status, decision }, { disputed: true, status: 'open', decision: null }, 'after a contradiction');
    }
  }),
  law('a decision is taken only with all that it was taken on', [stories, fc.nat()], (story, which) => {
    const { header } = story;
    const { entries, decision } = lastOf(story);
    if (decision === null || decision.decision.entries === 0) return;
    const gone = which % decision.decision.entries;
    const rest = piecesOf(story).filter((piece) => !('entry' in piece) || piece.entry !== entries[gone]);
    const { status, disputed, entries: held } = ledgerOf(joined(header, [parcelOf(header, rest)]));
    same({ status, disputed, held: held.length }, { status: 'open', disputed: false, held: gone }, 'without an entry');
  }),
];

function hashOfOwner(story: Story): string {
  const { header } = story;
  const last = lastOf(story);
  const decision = last.decision?.decision ?? null;
  const hash = headerHash(header);
  if (header.sealed && decision === null) return sealedHash(hash, last.entries.length);
  const isVoid = new Set(decision?.voided ?? last.voided);
  const covered = last.entries.slice(0, decision?.entries ?? last.entries.length);
  return ledgerHash(
    hash,
    covered.map(({ entry }) => hashedEntry(entry, isVoid)),
    decision,
  );
}

export const HASHES: readonly Law[] = [
  law('a hash covers every ballot, its order and whether it counts', [stories, fc.nat()], (story, which) => {
    const { header } = story;
    const { entries } = lastOf(story);
    if (entries.length === 0) return;
    const hashed = entries.map(({ entry }) => hashedEntry(entry, new Set<string>()));
    const hash = headerHash(header);
    const whole = ledgerHash(hash, hashed, null);
    const at = which % entries.length;
    const changed = hashed.map((entry, index) => (index === at ? { ...entry, void: true } : entry));
    same(ledgerHash(hash, changed, null) === whole, false, 'void');
    same(ledgerHash(hash, hashed.toSpliced(at, 1), null) === whole, false, 'fewer');
    const voided = entries.map(({ entry }) => hashedEntry(entry, new Set([entry.ballot.voter])));
    same(
      voided.map((entry) => entry.void),
      entries.map(() => true),
      'void entries',
    );
    const running = beginLedgerHash();
    for (const entry of hashed.slice(0, at)) running.add(entry);
    const fork = running.copy();
    for (const entry of hashed.slice(at)) fork.add(entry);
    same(fork.end(hash), whole, 'a hash that grows');
    same(running.end(hash), ledgerHash(hash, hashed.slice(0, at), null), 'what it grew from');
    const [{ entry } = { entry: undefined }] = entries;
    if (entry !== undefined) same(entryHash({ ...entry, weight: 1 }) === entryHash(entry), false, 'another weight');
  }),
  law('nobody guesses the ballots of a sealed topic from its hash', [headers, fc.boolean()], (header, isYes) => {
    const sealed = { ...header, sealed: true, minQuorum: 5, deadline: OPENED_AT + 1000 };
    const [one, other] = [isYes ? 0 : 1, 1].map((option) => {
      const story = play(sealed, [{ kind: 'vote', voter: 'ann', option, weight: 1000 }]);
      return ledgerOf(joined(sealed, [parcelOf(sealed, piecesOf(story))])).hash;
    });
    same(one, other, 'hash');
    same(one, sealedHash(headerHash(sealed), 1), 'hash of a count');
  }),
  law('a ballot has one hash, and another ballot another', [headers, fc.nat(3)], (header, option) => {
    const ballot = ballotOf(header, 'ann', option, OPENED_AT);
    same(ballotHash({ ...ballot }), ballotHash(ballot), 'hash');
    same(ballotHash({ ...ballot, votedAt: OPENED_AT + 1 }) === ballotHash(ballot), false, 'hash');
  }),
];
