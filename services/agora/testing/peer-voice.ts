/** What a node could say that is not what it should be: with its own keys, past its own rules. */
import { systemRandom } from '@svc/runtime/clock.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { readEnvelope } from '../src/federation/domain/envelope.ts';
import type { SignedBallot, WireLedger } from '../src/federation/domain/messages.ts';
import { createSeal, subjectOf } from '../src/federation/transport/wire.ts';
import { headerHash } from '../src/ledger/domain/ledger.ts';
import type { BedNode, Between } from './node-bed.ts';

const WITHIN_MS = 10_000;

/** The answer; `silence` = none. */
export async function sayTo(
  between: Between,
  [from, to]: readonly [BedNode, BedNode],
  [type, body]: readonly [string, object],
  withinMs = WITHIN_MS,
): Promise<Fields | 'silence'> {
  const seal = createSeal(from.keyring, { clock: { now: () => Date.now() }, random: systemRandom });
  const { text } = seal(to.name, type, body as Fields);
  const reply = await between.bus
    .request(subjectOf(to.name), text, { deadlineAt: Date.now() + withinMs })
    .catch(() => 'silence');
  const read = readEnvelope(reply);
  return typeof read === 'string' ? 'silence' : read.envelope.body;
}

export async function copyAt(node: BedNode, topic: string): Promise<WireLedger> {
  const copy = await node.deps().federatedLedgers.copyAfter(topic, 0, 500);
  if (copy === null) throw new Error(`${node.name} has no topic ${topic}`);
  return copy;
}

/** Signed with the keys of `node`, whoever the voter is. */
export function signAs(
  node: BedNode,
  { header }: Pick<WireLedger, 'header'>,
  said: { readonly voter: string; readonly outcome: string; readonly votedAt?: number; readonly node?: string },
): SignedBallot {
  const { topic } = header;
  const ballot = { header: headerHash(header), topic, node: node.name, votedAt: Date.now(), ...said };
  return { ballot, sig: node.keyring.sign('svc-agora-ballot', ballot) ?? '' };
}

export function lieAs(node: BedNode, copy: WireLedger, voter: string): [SignedBallot, SignedBallot] {
  return [signAs(node, copy, { voter, outcome: 'yes' }), signAs(node, copy, { voter, outcome: 'no' })];
}
