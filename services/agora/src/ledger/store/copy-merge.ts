/** Takes into a ledger of this node what another one has of it. Only what its owner signed counts, and nothing is judged anew. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { NodeSigner } from '../../federation/domain/keyring.ts';
import type { WireLedger } from '../../federation/domain/messages.ts';
import type { Adopted, AdoptRefusal, Arrival } from '../../federation/ledgers.ts';
import { ballotHash, headerHash } from '../domain/ledger.ts';
import { type Evidence, liarOf, provenPair, type SignedDecision, voterKey } from '../domain/merge.ts';
import { emptySums, isDecisionOf, plus } from '../domain/tally.ts';
import { type Casting, sumWithout, voidIn } from './casting.ts';
import { readAccusable } from './equivocation-rows.ts';
import { type AgoraUnit, told } from './events.ts';
import { type Sifted, siftCopy } from './copy-sifting.ts';
import { strayBallots } from './stray-rows.ts';
import {
  deleteEntriesAfter,
  insertEntries,
  type NewEntry,
  insertTopic,
  lockTopic,
  readEntries,
  readTopic,
  type TopicRow,
  updateTopic,
} from './topic-rows.ts';

/** Of copies that nobody here has fetched. */
const NO_FAMILY = '';

/**
 * A denial changes nothing but what it says: whoever contradicts itself is kept as that and not believed again, and what came
 * before a signature that is none is taken.
 */
export async function adoptIn(
  unit: AgoraUnit,
  casting: Casting,
  copy: WireLedger,
  way: Arrival,
): Promise<Decision<Adopted, AdoptRefusal>> {
  const { signer, hashes } = casting;
  const { header } = copy;
  if (!(await isHeaderSigned(unit, signer, copy))) return deny('E_SIGNATURE');
  const created = header.owner !== signer.name && (await insertCopy(unit, copy, way));
  const row = await lockTopic(unit.tx, header.topic);
  if (row === null || row.headerHash !== headerHash(header)) return deny('E_TOPIC_CONFLICT');
  if (row.disputed) return deny('E_LEDGER_FORK');
  const sifted = await siftCopy(unit.tx, signer, row, copy, way.from);
  const merged = row.replica ? await mergeEntries(unit, row, sifted) : allow({ row, adopted: 0 });
  if (!merged.ok) return merged;
  const voided = await voidIn(unit, casting, merged.value.row, await provenIn(unit, row, copy, sifted));
  const decided = row.replica ? await decideAs(unit, casting, voided, sifted.decision) : allow(voided);
  if (!decided.ok) return decided;
  const told = row.replica ? await noteSync(unit, row, copy, way) : row.told;
  if (!sifted.isWhole) return deny('E_SIGNATURE');
  const { status } = decided.value;
  const hash = await hashes.of(unit.tx, { ...decided.value, told });
  return allow({ created, adopted: merged.value.adopted, status, hash });
}

/** How many ballots a sealed topic has nobody signs, so its owner alone is believed. */
async function noteSync({ tx }: AgoraUnit, row: TopicRow, copy: WireLedger, { from }: Arrival): Promise<number> {
  const { owner, sealed, topic } = row.header;
  const told = sealed && from === owner ? Math.max(row.told, copy.count ?? 0) : row.told;
  await updateTopic(tx, topic, { syncedFrom: from, told });
  return told;
}

/** A topic of this node is known by its header, with whatever key that was signed in its time. */
async function isHeaderSigned(
  { tx }: AgoraUnit,
  signer: NodeSigner,
  { header, headerSig }: WireLedger,
): Promise<boolean> {
  const here = header.owner === signer.name ? await readTopic(tx, header.topic) : null;
  const isOwn = here !== null && !here.replica && here.headerHash === headerHash(header);
  return isOwn || signer.verify(header.owner, 'svc-agora-header', header, headerSig);
}

async function insertCopy(
  { tx, emit }: AgoraUnit,
  { header, headerSig }: WireLedger,
  { from, family }: Arrival,
): Promise<boolean> {
  const created = await insertTopic(tx, {
    header,
    headerText: canonicalJson(header),
    headerHash: headerHash(header),
    headerSig,
    family: family ?? NO_FAMILY,
    sums: emptySums(header),
    syncedFrom: from,
    broughtBy: family === null ? from : null,
  });
  if (created)
    emit({ name: 'vote:created', payload: { ...told(header), author: header.author, deadline: header.deadline } });
  return created;
}

/** From now on nothing is taken of it any more. */
async function forked({ tx, emit }: AgoraUnit, { header }: TopicRow): Promise<Decision<never, 'E_LEDGER_FORK'>> {
  await updateTopic(tx, header.topic, { disputed: true });
  emit({ name: 'agora:disputed', payload: { node: header.owner, topic: header.topic } });
  return deny('E_LEDGER_FORK');
}

interface Merged {
  readonly row: TopicRow;
  readonly adopted: number;
}

/** Admissions in their order, up to the first gap; those that are here already have to be the same. */
async function mergeEntries(
  unit: AgoraUnit,
  row: TopicRow,
  { entries: incoming }: Sifted,
): Promise<Decision<Merged, 'E_LEDGER_FORK'>> {
  const { header } = row;
  const fresh = await freshOf(unit.tx, row, incoming);
  // One admission of one voter; a decision covers all that there is to be admitted.
  if (fresh === 'other' || (fresh.length > 0 && row.decision !== null)) return forked(unit, row);
  const kept = await insertEntries(unit.tx, header.topic, fresh);
  if (kept.size < fresh.length) {
    await deleteEntriesAfter(unit.tx, header.topic, row.entries);
    return forked(unit, row);
  }
  if (fresh.length === 0) return allow({ row, adopted: 0 });
  const isVoid = ({ entry }: NewEntry): boolean => kept.get(entry.seq) === 'void';
  const voided = [...row.voided, ...fresh.filter(isVoid).map(({ entry }) => entry.ballot.voter)].sort();
  let { sums } = row;
  for (const one of fresh) {
    const { ballot, weight } = one.entry;
    if (!isVoid(one)) sums = plus(header, sums, { outcome: ballot.outcome, weight });
  }
  const entries = row.entries + fresh.length;
  await updateTopic(unit.tx, header.topic, { entries, sums, voided });
  return allow({ row: { ...row, entries, sums, voided }, adopted: fresh.length });
}

/** Those that follow on what is here without a gap; `other`: a number that came is here, or came, with something else in it. */
async function freshOf(
  tx: AgoraUnit['tx'],
  row: TopicRow,
  incoming: Sifted['entries'],
): Promise<readonly NewEntry[] | 'other'> {
  const first = incoming[0]?.entry.seq ?? 1;
  const here = await readEntries(tx, row, first - 1, incoming.length);
  const known = new Map(here.map(({ entry }) => [entry.seq, canonicalJson(entry)]));
  const fresh: NewEntry[] = [];
  for (const { entry, sig } of incoming) {
    const text = canonicalJson(entry);
    const before = known.get(entry.seq);
    if (before !== undefined && before !== text) return 'other';
    if (before !== undefined || entry.seq > row.entries + fresh.length + 1) continue;
    known.set(entry.seq, text);
    fresh.push({ entry, sig, hash: ballotHash(entry.ballot) });
  }
  return fresh;
}

/** What came, and what follows from ballots that were sent here although another node decides. */
async function provenIn(
  { tx }: AgoraUnit,
  { headerHash: hash, header }: TopicRow,
  { evidence }: WireLedger,
  { entries, verify }: Sifted,
): Promise<Evidence[]> {
  const strays = new Map((await strayBallots(tx, header.topic)).map((stray) => [voterKey(stray.ballot), stray]));
  const found = entries.flatMap(({ entry: { ballot, ballotSig } }): Evidence[] => {
    const stray = strays.get(voterKey(ballot));
    return stray === undefined || ballotSig === null ? [] : [[stray, { ballot, sig: ballotSig }]];
  });
  const claimed = [...evidence, ...found];
  const accusable = await readAccusable(
    tx,
    header.topic,
    claimed.map(([{ ballot }]) => ballot),
  );
  const proven = claimed.filter((pair) => accusable.has(liarOf(pair))).map((pair) => provenPair(hash, pair, verify));
  return proven.filter((pair) => pair !== null);
}

/** The owner's decision, when what is here comes to the same; without all that it was taken on, it waits. */
async function decideAs(
  unit: AgoraUnit,
  { hashes }: Casting,
  row: TopicRow,
  signed: SignedDecision | null,
): Promise<Decision<TopicRow, 'E_LEDGER_FORK'>> {
  if (signed === null) return allow(row);
  const { header } = row;
  const { decision, sig, bound } = signed;
  if (row.decision !== null) return isDecidedAs(row, signed) ? bindAs(unit, row, signed) : forked(unit, row);
  if (row.entries < decision.entries) return allow(row);
  if (row.entries > decision.entries) return forked(unit, row);
  const sums = await sumWithout(unit.tx, row, decision.voided);
  if (!isDecisionOf(header, sums, decision)) return forked(unit, row);
  const { status, winner, votes, decidedAt } = decision;
  const decided = { ...row, status, sums, voided: decision.voided, decision: signed };
  const hash = await hashes.of(unit.tx, decided);
  if (bound !== undefined && bound.ledger !== hash) return forked(unit, row);
  await updateTopic(unit.tx, header.topic, {
    status,
    sums,
    voided: decision.voided,
    hash,
    decision: { text: canonicalJson(decision), sig, boundSig: bound?.sig },
  });
  unit.emit({ name: 'vote:decided', payload: { ...told(header), status, winner, votes, decidedAt } });
  return allow({ ...decided, hash });
}

/** The same decision, on the same ledger as far as it says so. */
function isDecidedAs({ decision: here, hash }: TopicRow, { decision, bound }: SignedDecision): boolean {
  const isSame = here !== null && canonicalJson(here.decision) === canonicalJson(decision);
  return isSame && (bound === undefined || bound.ledger === hash);
}

/** What was taken from the owner before it was bound may be passed on from now on. */
async function bindAs(
  { tx }: AgoraUnit,
  row: TopicRow,
  { decision, sig, bound }: SignedDecision,
): Promise<Decision<TopicRow, never>> {
  if (bound === undefined || row.decision?.bound !== undefined) return allow(row);
  await updateTopic(tx, row.header.topic, { decision: { text: canonicalJson(decision), sig, boundSig: bound.sig } });
  return allow({ ...row, decision: { decision, sig, bound } });
}
