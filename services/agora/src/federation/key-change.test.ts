/** Voters whose deployment signs with another key, or secret, than before: what they have signed stays their vote. */
import { afterEach, expect, test } from 'vitest';
import { type BedNode, createBetween, openNode } from '../../testing/node-bed.ts';
import { copyAt, signAs } from '../../testing/peer-voice.ts';
import { headerHash } from '../ledger/domain/ledger.ts';
import { ed25519Key } from './domain/keys.ts';

const seedOf = (digit: number) => Buffer.alloc(32, digit).toString('base64url');
const keyed = (own: number, other: string, digit: number) => ({
  SVC_NODE_KEY: seedOf(own),
  SVC_NODE_PEERS: JSON.stringify([
    { name: other, agentId: `${other}-agent`, publicKey: ed25519Key(seedOf(digit)).publicKey },
  ]),
});

const between = createBetween();
let opened: BedNode[] = [];

afterEach(async () => {
  await Promise.all(opened.map((node) => node.stop()));
  opened = [];
});

async function pair(
  ofOwner: Readonly<Record<string, string>>,
  ofVoter: Readonly<Record<string, string>>,
): Promise<[BedNode, BedNode]> {
  const [owner, voter] = await Promise.all([openNode('owner', between, ofOwner), openNode('voter', between, ofVoter)]);
  opened = [owner, voter];
  const wish = { topic: 'lunch', options: ['yes', 'no'], agentId: 'ann', minQuorum: 5 };
  expect(await owner.agora('consensus_create', wish)).toMatchObject({ topic: 'lunch' });
  return [owner, voter];
}

const vote = (by: BedNode, outcome = 'yes') => by.agora('agora_vote', { node: 'owner', topic: 'lunch', outcome });

async function withTheNextKey(owner: BedNode, voter: BedNode): Promise<void> {
  await owner.restart(keyed(1, 'voter', 3));
  await voter.restart(keyed(3, 'owner', 1));
}

test('a ballot that was admitted is the same one after its deployment took another key', async () => {
  const [owner, voter] = await pair(keyed(1, 'voter', 2), keyed(2, 'owner', 1));
  expect(await vote(voter)).toMatchObject({ voted: true, duplicate: false });
  await withTheNextKey(owner, voter);
  expect(await vote(voter)).toMatchObject({ voted: true, duplicate: true, tally: { votes: 1 } });
  expect(await vote(voter, 'no')).toMatchObject({ voted: false, code: 'E_ALREADY_VOTED', previous: 'yes' });
  expect(await voter.agora('agora_pull', { node: 'owner', topic: 'lunch' })).toMatchObject({
    pulled: true,
    adopted: 1,
  });
});

test('a ballot that was signed and never arrived is cast with the key of today', async () => {
  const [owner, voter] = await pair(keyed(1, 'voter', 2), keyed(2, 'owner', 1));
  const copy = await copyAt(owner, 'lunch');
  const { ballot, sig } = signAs(voter, copy, { voter: 'voter-agent', outcome: 'yes' });
  await voter.database.pool.query(
    `INSERT INTO agora.signed_ballots (header, voter, owner, topic, ballot, sig, at) VALUES ($1, 'voter-agent', 'owner', 'lunch', $2, $3, now())`,
    [headerHash(copy.header), JSON.stringify(ballot), sig],
  );
  await withTheNextKey(owner, voter);
  expect(await vote(voter)).toMatchObject({ voted: true, duplicate: false, tally: { votes: 1 } });
  expect((await copyAt(owner, 'lunch')).entries).toMatchObject([{ entry: { ballot } }]);
});

test('a ballot whose signature its owner does not know is told as that', async () => {
  const ofPair = (name: string) => ({
    SVC_NODE_PEERS: JSON.stringify([{ name, agentId: `${name}-agent`, secret: 'of the two of them' }]),
  });
  const [, voter] = await pair(ofPair('voter'), {
    ...ofPair('owner'),
    SVC_NODE_SECRET: 'a secret that only one has',
    SVC_NODE_SECRET_PREVIOUS: 'correct horse battery staple',
  });
  expect(await vote(voter)).toMatchObject({ voted: false, reason: 'bad_signature', code: 'E_SIGNATURE' });
});
