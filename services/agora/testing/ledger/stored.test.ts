/** What the store makes of a story is what the rules make of it, in whatever order it arrives. */
import { runs } from '@svc/testing/counts.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { castRemoteIn } from '../../src/ledger/store/remote-casting.ts';
import { insertOpen } from '../../src/ledger/store/opening.ts';
import { type BedNode, createBetween, openNode } from '../node-bed.ts';
import { ballotOf, signBallot, type Step, type Story } from './owner.ts';
import { adopted, castingOf, forgotten, heldIn, heldOf, inUnit, piecesIn, wireOf } from './stored.ts';
import { forgeriesOf, headers, type Piece, piecesOf, slandersOf, steps, stories } from './stories.ts';

const LIMIT = { timeout: 600_000 };
const SEED = 42;
const HOUR_MS = 3_600_000;

let node: BedNode;

beforeAll(async () => {
  node = await openNode('beta', createBetween());
});
afterAll(async () => {
  await node.stop();
});

/** A story, and parts of it in some order, among what others made up. */
const arrivals: fc.Arbitrary<[Story, Piece[][]]> = stories.chain((story) => {
  const pieces = [...piecesOf(story), ...forgeriesOf(story), ...slandersOf(story)];
  const parcel = fc.shuffledSubarray(pieces, { minLength: 1, maxLength: 6 });
  return fc.tuple(fc.constant(story), fc.array(parcel, { maxLength: 8 }));
});

test('a copy comes to what the rules say once it has all, whatever arrived before that', LIMIT, async () => {
  const told = fc.sample(arrivals, { numRuns: runs(400), seed: SEED });
  const seen = new Set<string>();
  for (const [story, parcels] of told) {
    const { header } = story;
    await forgotten(node);
    const casting = castingOf('beta');
    for (const parcel of parcels) await adopted(node, casting, wireOf(header, parcel));
    const whole = [...piecesOf(story), ...slandersOf(story)];
    const answer = await adopted(node, casting, wireOf(header, whole));
    const held = heldOf(header, whole);
    expect(await heldIn(node, castingOf('beta'), header.topic)).toEqual(held);
    expect(answer).toMatchObject({ ok: true, value: { hash: held.hash, status: held.status } });
    seen.add(`${held.status} ${held.voided.length > 0}`);
  }
  // Of every kind there were some.
  expect([...seen].sort()).toEqual(expect.arrayContaining(['expired true', 'open false', 'open true', 'passed true']));
});

/** What an owner is told, with a topic that is open for as long as it takes. */
const lives = fc.tuple(headers, fc.array(steps, { minLength: 1, maxLength: 14 }));

async function lived(steps: readonly Step[], header: Story['header']): Promise<void> {
  const casting = castingOf(header.owner);
  const now = Date.now();
  const { v: _v, owner: _owner, ...wish } = { ...header, createdAt: now, deadline: now + HOUR_MS };
  const row = await inUnit(node, (unit) => insertOpen(unit, casting.signer, { ...wish, family: 'ann' }));
  if (row === null) throw new Error('the topic was not opened');
  for (const step of steps) {
    if (step.kind === 'wait') continue;
    const signed = signBallot(ballotOf(row.header, step.voter, step.option, now));
    const weight = step.kind === 'vote' ? step.weight : 1000;
    const facts = { isShown: true, isMember: true, isRegistered: true, isQuarantined: false, weight };
    await inUnit(node, (unit) => castRemoteIn(unit, casting, { ...signed }, facts));
  }
}

test('an owner comes to what the rules make of all that it tells of a topic', LIMIT, async () => {
  const seen = new Set<string>();
  for (const [header, steps] of fc.sample(lives, { numRuns: runs(200), seed: SEED })) {
    await forgotten(node);
    await lived(steps, { ...header, owner: 'beta' });
    const { header: opened, pieces } = await piecesIn(node, header.topic);
    const held = await heldIn(node, castingOf('beta'), header.topic);
    expect(held).toEqual(heldOf(opened, pieces));
    seen.add(`${held.status} ${held.voided.length > 0}`);
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(['open true', 'passed false', 'passed true']));
});
