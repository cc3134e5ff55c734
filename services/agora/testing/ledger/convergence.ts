/** Five nodes over a network that loses, doubles, delays and parts: what each of them comes to hold of the topics of all. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { pageOf } from '../../src/federation/domain/copies.ts';
import { envelopeText, readEnvelope } from '../../src/federation/domain/envelope.ts';
import { MAX_ENTRIES_A_PAGE, WireLedger } from '../../src/federation/domain/messages.ts';
import type { Header } from '../../src/ledger/domain/ledger.ts';
import { type Copy, emptyCopy, join, ledgerOf } from '../../src/ledger/domain/merge.ts';
import { OPENED_AT, play, type Step, type Story, type Turn, verifyFor } from './owner.ts';

const NODES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'] as const;
type Name = (typeof NODES)[number];
const LOSS = 0.2;
const TWICE = 0.1;
const ARRIVED = 0.7;
const PARTED = 0.3;
const RESTARTED = 0.02;
const LIES = 0.02;

export type Random = () => number;

export function randomOf(seed: number): Random {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const below = (random: Random, end: number): number => Math.floor(random() * end);
const oneOf = <Item>(random: Random, items: readonly Item[]): Item => {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
};

function headerOf(owner: Name, ballots: number, random: Random): Header {
  return {
    v: 1,
    topic: `topic-of-${owner}`,
    owner,
    author: 'ann',
    ballot: ['yes', 'no', 'later'],
    // Some are decided on their way, some by time, some not at all.
    minQuorum: oneOf(random, [5, ballots - 10, 1000]),
    threshold: oneOf(random, [50, 60]),
    weighting: 'trust',
    sealed: false,
    deadline: OPENED_AT + oneOf(random, [Math.floor(ballots / 2), 10 * ballots]),
    createdAt: OPENED_AT,
    scope: null,
    thread: null,
  };
}

function storyOf(owner: Name, ballots: number, random: Random): Story {
  const steps = Array.from({ length: ballots }, (_, index): Step[] => {
    const voter = `voter-${index}`;
    const vote: Step = { kind: 'vote', voter, option: below(random, 3), weight: 100 * (1 + below(random, 10)) };
    return random() < LIES ? [vote, { kind: 'lie', voter, option: below(random, 3) }] : [vote];
  });
  return play(headerOf(owner, ballots, random), steps.flat());
}

interface Node {
  readonly name: Name;
  copies: Map<string, Copy>;
}

export interface World {
  readonly nodes: readonly Node[];
  readonly stories: readonly Story[];
  /** Messages that were not taken. */
  rejected: number;
}

/** What `story` has come to after so many of its turns, as its owner holds it. */
function heldByOwner({ header, turns, evidence }: Story, turn: Turn): Copy {
  const known = new Set(turn.voided);
  const isLast = turn === turns.at(-1);
  const copy = join(
    emptyCopy(header),
    {
      header,
      entries: turn.entries,
      evidence: evidence.filter(([{ ballot }]) => isLast || known.has(ballot.voter)),
      decision: turn.decision,
    },
    verifyFor(header),
  );
  if (copy === 'conflict' || copy.rejected > 0) throw new Error('an owner contradicts itself');
  return copy.copy;
}

/** A part of a copy as it crosses the wire, from `after` on. */
function messageOf(copy: Copy, after: number, nonce: string): string {
  const { entries, decision } = ledgerOf(copy);
  const left = entries.slice(after);
  const body = pageOf({
    header: copy.header,
    headerSig: 'of-the-header',
    entries: left.slice(0, MAX_ENTRIES_A_PAGE),
    more: left.length > MAX_ENTRIES_A_PAGE,
    evidence: [...copy.evidence.values()],
    decision,
  } as WireLedger);
  const envelope = {
    v: 1,
    from: copy.header.owner,
    to: '*',
    keyId: 'hmac',
    ts: OPENED_AT,
    nonce,
    type: 'topic.push',
    body,
  } as const;
  return envelopeText(envelope, 'of-the-envelope');
}

/** How many entries it had then, and whether there are more. */
function take(world: World, node: Node, text: string): { readonly entries: number; readonly more: boolean } {
  const read = readEnvelope(text);
  if (typeof read === 'string') throw new Error(`a message reads as ${read}`);
  const copy = WireLedger.parse(read.envelope.body);
  const { topic } = copy.header;
  const joined = join(node.copies.get(topic) ?? emptyCopy(copy.header), copy, verifyFor(copy.header));
  if (joined === 'conflict' || joined.rejected > 0) world.rejected += 1;
  else node.copies.set(topic, joined.copy);
  return { entries: ledgerOf(node.copies.get(topic) ?? emptyCopy(copy.header)).entries.length, more: copy.more };
}

/** What a process keeps over its end. */
function restarted(node: Node): void {
  const stored = [...node.copies].map(([topic, { header, entries, evidence, decisions }]) => {
    const parts = [[...entries], [...evidence], [...decisions]];
    return [
      topic,
      JSON.parse(canonicalJson({ header, parts })) as { header: Header; parts: [never[], never[], never[]] },
    ] as const;
  });
  node.copies = new Map(
    stored.map(
      ([
        topic,
        {
          header,
          parts: [entries, evidence, decisions],
        },
      ]) => [topic, { header, entries: new Map(entries), evidence: new Map(evidence), decisions: new Map(decisions) }],
    ),
  );
}

interface Message {
  readonly to: Node;
  readonly text: string;
}

/** What somebody sends now, of what it holds of some topic; null = nothing, or the network keeps it. */
function sentNow(world: World, at: number, number: number, random: Random): Message | null {
  const [from, to] = [oneOf(random, world.nodes), oneOf(random, world.nodes)];
  const story = oneOf(random, world.stories);
  const { header, turns } = story;
  const turn = turns[Math.floor(at * (turns.length - 1))];
  const isOwner = from.name === header.owner && turn !== undefined;
  const copy = isOwner ? heldByOwner(story, turn) : from.copies.get(header.topic);
  const isParted = random() < PARTED && NODES.indexOf(from.name) < 2 !== NODES.indexOf(to.name) < 2;
  if (copy === undefined || to.name === header.owner || isParted || random() < LOSS) return null;
  return { to, text: messageOf(copy, below(random, ledgerOf(copy).entries.length + 1), nonceOf(number)) };
}

/** Everything happens, and messages travel meanwhile, in an order that the seed gives. */
export function live(seed: number, ballots: number, messages: number): World {
  const random = randomOf(seed);
  const stories = NODES.map((owner) => storyOf(owner, ballots, random));
  const world: World = { nodes: NODES.map((name) => ({ name, copies: new Map() })), stories, rejected: 0 };
  const underWay: Message[] = [];
  for (let sent = 0; sent < messages; sent += 1) {
    const message = sentNow(world, (sent + 1) / messages, sent, random);
    if (message !== null) underWay.push(message, ...(random() < TWICE ? [message] : []));
    const [arrived] = random() < ARRIVED ? underWay.splice(below(random, underWay.length), 1) : [];
    if (arrived !== undefined) take(world, arrived.to, arrived.text);
    if (random() < RESTARTED) restarted(oneOf(random, world.nodes));
  }
  return world;
}

function nonceOf(number: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(number, 12);
  return bytes.toString('base64url');
}

/** The network is whole again, and each node asks each owner once. */
export function heal(world: World): void {
  for (const node of world.nodes) {
    for (const story of world.stories) {
      const last = story.turns.at(-1);
      if (last === undefined || node.name === story.header.owner) continue;
      const copy = heldByOwner(story, last);
      const known = node.copies.get(story.header.topic);
      let after = known === undefined ? 0 : ledgerOf(known).entries.length;
      for (let more = true; more; )
        ({ entries: after, more } = take(world, node, messageOf(copy, after, nonceOf(after))));
    }
  }
}

/** What every node holds of every topic, and what its owner does. */
export function outcomes({ nodes, stories }: World) {
  return stories.flatMap((story) => {
    const last = story.turns.at(-1);
    if (last === undefined) return [];
    const owned = seen(heldByOwner(story, last));
    return nodes
      .filter(({ name }) => name !== story.header.owner)
      .map(({ name, copies }) => ({
        name,
        topic: story.header.topic,
        owned,
        held: seen(copies.get(story.header.topic)),
      }));
  });
}

function seen(copy: Copy | undefined) {
  if (copy === undefined) return null;
  const { hash, status, entries, voided, disputed } = ledgerOf(copy);
  return { hash, status, entries: entries.length, voided: [...voided].sort(), disputed };
}
