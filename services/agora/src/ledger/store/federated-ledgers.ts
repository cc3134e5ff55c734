/** The ledgers of this node as other nodes meet them. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { PEER_LIMITS } from '../../federation/domain/quota.ts';
import { LOCAL } from '../../federation/domain/settings.ts';
import type { SignedBallot, WireLedger } from '../../federation/domain/messages.ts';
import type { Ledgers } from '../../federation/ledgers.ts';
import type { Header } from '../domain/ledger.ts';
import { boundBytes } from '../domain/merge.ts';
import { headerOfNothing } from '../voters.ts';
import type { Casting, VoterFacts } from './casting.ts';
import { adoptIn } from './copy-merge.ts';
import { keepSigned, readProofsOf } from './equivocation-rows.ts';
import { readSigned } from './stray-rows.ts';
import type { AgoraStore } from './events.ts';
import { headsOf } from './ledger-hash.ts';
import type { LedgerStore } from './ledger-store.ts';
import { castRemoteIn, NO_TOPIC } from './remote-casting.ts';
import { countBrought, countReplicas } from './replica-rows.ts';
import { readEntries, readTopic, type TopicRow } from './topic-rows.ts';

/** More than fit into a page. */
const OTHER_PROOFS = 200;

interface FederatedParts {
  readonly store: AgoraStore;
  readonly casting: Casting;
  readonly ledgers: Pick<LedgerStore, 'read'>;
  /** What the registry says of a voter of another node. Throws SERVICE_UNAVAILABLE. */
  remoteFacts(header: Pick<Header, 'scope' | 'weighting'>, voter: string): Promise<Omit<VoterFacts, 'isRegistered'>>;
}

export function createFederatedLedgers({ store, casting, ledgers, remoteFacts }: FederatedParts): Ledgers {
  const { client } = store;
  return {
    async copyAfter(topic, afterSeq, limit) {
      const row = await ledgers.read(topic);
      return row === null ? null : copyOf(row, afterSeq, limit);
    },
    async lastSeq(topic) {
      return (await readTopic(client, topic))?.entries ?? null;
    },
    adopt: (unit, copy, arrival) => adoptIn(unit, casting, copy, arrival),
    async castRemote(signed, { isPrincipal, isShown }) {
      const { topic, voter } = signed.ballot;
      const row = await ledgers.read(topic);
      const header = row?.header ?? headerOfNothing(topic);
      const [known, mayAsk] = await Promise.all([remoteFacts(header, voter), isShown(header)]);
      const facts = { ...known, isRegistered: isPrincipal, isShown: mayAsk };
      if (row === null) return async () => NO_TOPIC;
      return (unit) => castRemoteIn(unit, casting, signed, facts);
    },
    async signedBallot(owner, topic, voter) {
      const signed = await readSigned(client, owner, topic, voter);
      return signed === null ? null : signedToday(casting, signed);
    },
    signOnce: async ({ tx }, { owner, ...said }) =>
      signedToday(casting, await keepSigned(tx, owner, signedBy(casting, said))),
    keepSigned: async ({ tx }, owner, signed) => signedToday(casting, await keepSigned(tx, owner, signed)),
    hasRoom: async ({ from, family }) =>
      (await countBrought(client, family === null ? { node: from } : { family })) < PEER_LIMITS.replicas,
    countAllReplicas: () => countReplicas(client),
  };

  async function copyOf(row: TopicRow, afterSeq: number, limit: number): Promise<WireLedger> {
    const { header, headerSig } = row;
    const decision = boundBy(casting, row);
    const whole = { header, headerSig: headerSig ?? '' };
    if (header.sealed && row.decision === null) {
      return asWritten({ ...whole, entries: [], more: false, evidence: [], decision: null, count: headsOf(row) });
    }
    const found = await readEntries(client, row, afterSeq, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1)?.entry.seq ?? afterSeq;
    return asWritten({
      ...whole,
      entries: page.map(({ entry, sig }) => ({ entry, sig })),
      more: found.length > limit,
      evidence: await readProofsOf(client, header.topic, { after: afterSeq, last, others: OTHER_PROOFS }),
      decision,
    });
  }
}

function signedBy({ signer }: Casting, said: Omit<SignedBallot['ballot'], 'node'>): SignedBallot {
  const ballot = { ...said, node: signer.name };
  const sig = signer.sign('svc-agora-ballot', ballot);
  if (sig === null) throw new Error(`a node named ${LOCAL} signs nothing`);
  return { ballot, sig };
}

/** The same ballot, with a key that others know of this node: it may have had another one when it signed first. */
function signedToday(casting: Casting, signed: SignedBallot): SignedBallot {
  const { ballot, sig } = signed;
  const { name, verify } = casting.signer;
  return ballot.node !== name || verify(name, 'svc-agora-ballot', ballot, sig) ? signed : signedBy(casting, ballot);
}

/** Its own ones this node binds as it tells them; of others it passes on what it can prove. */
function boundBy({ signer }: Casting, { header, headerHash, replica, decision: signed, hash }: TopicRow) {
  if (signed === null || (replica && signed.bound === undefined)) return null;
  if (replica || header.owner !== signer.name || hash === null) return signed;
  const sig = signer.sign('svc-agora-binding', boundBytes(headerHash, signed.decision, hash));
  return sig === null ? signed : { ...signed, bound: { ledger: hash, sig } };
}

/** What is signed is what is sent; on a node that signs nothing it goes nowhere. */
function asWritten(copy: unknown): WireLedger {
  return JSON.parse(canonicalJson(copy)) as WireLedger;
}
