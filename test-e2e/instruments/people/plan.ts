/** What people and agents of one sequence will do: plain data made from a seed, so that it can be cut, repeated and printed. */
import { type Random, randomFrom } from '../random.ts';

/** The uniform shape of everything that is done; a verb uses the fields that it needs. */
export interface Act {
  readonly who: 'person' | 'colleague' | `agent-${number}`;
  readonly verb: string;
  readonly path: string;
  /** Second path, of moves. */
  readonly to: string;
  /** Unique in the sequence; contents are made from it. */
  readonly nth: number;
  /** From the start of its group. */
  readonly afterMs: number;
}

/** Done at once; the next group starts when all of it has ended. */
export interface Group {
  readonly acts: readonly Act[];
  /** The node is killed so many milliseconds after the start of the group, and started again behind it. */
  readonly killAfterMs: number | null;
}

export interface Plan {
  readonly seed: number;
  /** Nobody takes back more than single files: then more can be asked of what is there at the end. */
  readonly isGentle: boolean;
  readonly syncs: boolean;
  readonly groups: readonly Group[];
}

type Weighted = readonly (readonly [verb: string, weight: number])[];

const PERSON_GENTLE: Weighted = [
  ['edit', 8],
  ['replace', 8],
  ['append', 5],
  ['edit-twice', 5],
  ['grow', 3],
  ['shrink', 2],
  ['move', 5],
  ['recase', 2],
  ['move-folder', 1],
  ['remove', 4],
  ['stage', 4],
  ['commit', 6],
  ['commit-all', 4],
  ['commit-everything', 3],
  ['status', 3],
  ['collect-garbage', 1],
  ['drop', 1],
  ['link', 2],
  ['binary', 3],
  ['dot', 2],
  ['ignore', 1],
  ['executable', 2],
  ['mkdir', 1],
  ['edit-side', 2],
];

const PERSON_ROUGH: Weighted = [
  ...PERSON_GENTLE,
  ['checkout-own', 3],
  ['checkout-main', 5],
  ['checkout-file', 2],
  ['stash', 3],
  ['unstash', 4],
  ['reset-soft', 1],
  ['reset-mixed', 2],
  ['reset-hard', 2],
  ['merge', 3],
];

const AGENT: Weighted = [
  ['write', 10],
  ['write-if', 8],
  ['write-side', 2],
  ['delete', 3],
  ['save', 5],
  ['commit', 6],
  ['commit-side', 1],
  ['read', 6],
  ['watch', 2],
  ['list', 3],
  ['search', 3],
  ['dirty', 3],
  ['branch', 2],
  ['merge-side', 1],
  ['delete-side', 0.5],
  ['history', 1],
  ['diff', 1],
  ['resolve', 1],
  ['lease', 1],
  ['release', 1],
];

const COLLEAGUE: Weighted = [
  ['publish', 6],
  ['withdraw', 1],
];

/** Names that notes have; each of the last words twice, so that people and agents meet. */
const PATHS = [
  'Äpfel.md',
  'Notes (copy).md',
  "diary/John's.md",
  'plan.json',
  '_private.md',
  'diary/日本.md',
  'diary/monday.md',
  'deep/er/still/todo.txt',
  'shared.md',
  'shared.md',
  'inbox/one.md',
  'inbox/one.md',
  'inbox/two.md',
  'C++.md',
] as const;
const OWN_ONLY = ['agents/a.md', 'agents/b.md', 'agents/log.txt', 'agents/state.json'] as const;
const FRESH_ENDINGS = ['md', 'md', 'txt', 'json'] as const;

const AGENTS = 3;
const GROUP_SPREAD_MS = 25;
/** Of the sequences. */
const ROUGH_SHARE = 0.4;
const KILLED_SHARE = 0.2;
const SYNCING_SHARE = 0.3;
const HUGE_SHARE = 0.02;

/** `steps` counts acts. */
export function planFrom(seed: number, steps: number): Plan {
  const random = randomFrom(seed);
  const isGentle = random.next() >= ROUGH_SHARE;
  const isKilled = random.next() < KILLED_SHARE;
  const syncs = random.next() < SYNCING_SHARE;
  const makeActs = actMaker(random, isGentle, syncs);
  const groups: Group[] = [];
  for (let done = 0; done < steps; ) {
    const acts = makeActs();
    done += acts.length;
    groups.push({ acts, killAfterMs: null });
  }
  if (random.next() < HUGE_SHARE) groups.splice(random.int(0, groups.length), 0, hugeGroup());
  if (isKilled) {
    const at = random.int(1, groups.length);
    groups[at] = { acts: groups[at]?.acts ?? [], killAfterMs: random.int(0, 2 * GROUP_SPREAD_MS) };
  }
  return { seed, isGentle, syncs, groups };
}

function hugeGroup(): Group {
  const act: Act = { who: 'person', verb: 'huge', path: 'attic/huge.bin', to: '', nth: 0, afterMs: 0 };
  return { acts: [act], killAfterMs: null };
}

function actMaker(random: Random, isGentle: boolean, syncs: boolean): () => Act[] {
  let nth = 0;
  const agentVerbs: Weighted = syncs ? [...AGENT, ['sync', 8]] : AGENT;
  const pathOf = (who: Act['who']): string => {
    const chance = random.next();
    if (chance < 0.15) return `new/n${nth}.${random.pick(FRESH_ENDINGS)}`;
    return who.startsWith('agent') && chance < 0.45 ? random.pick(OWN_ONLY) : random.pick(PATHS);
  };
  const make = (who: Act['who'], verbs: Weighted): Act => {
    nth += 1;
    const verb = pickWeighted(random, verbs);
    return { who, verb, path: pathOf(who), to: pathOf(who), nth, afterMs: random.int(0, GROUP_SPREAD_MS) };
  };
  return () => {
    const first = make('person', isGentle ? PERSON_GENTLE : PERSON_ROUGH);
    const acts = [first];
    if (first.verb === 'edit-twice') acts.push({ ...first, who: 'agent-0', verb: 'watch' });
    const agents = random.int(1, AGENTS + 1);
    for (let agent = 0; agent < agents; agent += 1) acts.push(make(`agent-${agent}`, agentVerbs));
    if (syncs && random.next() < 0.4) acts.push(make('colleague', COLLEAGUE));
    return acts;
  };
}

function pickWeighted(random: Random, verbs: Weighted): string {
  let rest = random.next() * verbs.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [verb, weight] of verbs) {
    rest -= weight;
    if (rest < 0) return verb;
  }
  return verbs[0]?.[0] ?? '';
}
