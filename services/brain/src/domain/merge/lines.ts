/** Three-way merge of text by lines (diff3). */
import { diff3Merge } from 'node-diff3';
import { type Anchor, findAnchors } from './anchors.ts';

type Lines = readonly string[];

export interface TextMerge {
  readonly text: string;
  /** Some place was changed on both sides; ours stands there. */
  readonly clashes: boolean;
}

/** Beyond this much work (about a tenth of a second) a merge would hold up everyone else. */
const MAX_COST = 60_000_000;

/** The answer when at most one side changed, or both made the same change; else null. */
export function mergeOneSided(base: string, ours: string, theirs: string): TextMerge | null {
  if (ours === theirs || base === theirs) return { text: ours, clashes: false };
  return base === ours ? { text: theirs, clashes: false } : null;
}

/** Each line keeps its line end, so that the merge is exact to the byte. Conflict markers are never written. */
export function mergeLines(base: string, ours: string, theirs: string): TextMerge {
  return mergeOneSided(base, ours, theirs) ?? mergeBothChanged(base, ours, theirs);
}

function mergeBothChanged(base: string, ours: string, theirs: string): TextMerge {
  const versions = [splitLines(base), splitLines(ours), splitLines(theirs)] as const;
  const ends: Anchor = [versions[0].length, versions[1].length, versions[2].length];
  const merged: string[] = [];
  let clashes = false;
  let costLeft = MAX_COST;
  let from: Anchor = [0, 0, 0];
  for (const to of [...findAnchors(...versions), ends]) {
    const stretch = mergeStretch(
      versions[0].slice(from[0], to[0]),
      versions[1].slice(from[1], to[1]),
      versions[2].slice(from[2], to[2]),
      costLeft,
    );
    merged.push(stretch.lines.join(''), versions[1][to[1]] ?? '');
    clashes ||= stretch.clashes;
    costLeft -= stretch.cost;
    from = [to[0] + 1, to[1] + 1, to[2] + 1];
  }
  return { text: merged.join(''), clashes };
}

interface StretchMerge {
  readonly lines: readonly string[];
  readonly clashes: boolean;
  readonly cost: number;
}

/** Merges what lies between two anchors; what would cost more than is left is a clash as a whole. */
function mergeStretch(base: Lines, ours: Lines, theirs: Lines, costLeft: number): StretchMerge {
  const versions = [base, ours, theirs];
  const head = commonLength(versions, (lines, index) => lines[index]);
  const rest = versions.map((lines) => lines.slice(head));
  const tail = commonLength(rest, (lines, index) => lines[lines.length - 1 - index]);
  const [baseCore = [], ourCore = [], theirCore = []] = rest.map((lines) => lines.slice(0, lines.length - tail));
  const cost = compareCost(baseCore, ourCore) + compareCost(baseCore, theirCore);
  if (cost > costLeft) return { lines: ours, clashes: true, cost: 0 };
  const regions = diff3Merge<string>([...ourCore], [...baseCore], [...theirCore]);
  const core = regions.flatMap(({ ok, conflict }) => ok ?? conflict?.a ?? []);
  return {
    lines: [...ours.slice(0, head), ...core, ...ours.slice(ours.length - tail)],
    clashes: regions.some(({ conflict }) => conflict !== undefined),
    cost,
  };
}

/** The library looks at each pair of equal lines, and at each of them walks along the matches found so far. */
function compareCost(left: Lines, right: Lines): number {
  const counts = new Map<string, number>();
  for (const line of right) counts.set(line, (counts.get(line) ?? 0) + 1);
  const pairs = left.reduce((sum, line) => sum + (counts.get(line) ?? 0), 0);
  return pairs * Math.min(left.length, right.length);
}

function splitLines(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function commonLength(versions: readonly Lines[], lineAt: (lines: Lines, index: number) => string | undefined): number {
  const shortest = Math.min(...versions.map(({ length }) => length));
  const [first = [], ...others] = versions;
  let length = 0;
  while (length < shortest && others.every((lines) => lineAt(lines, length) === lineAt(first, length))) length += 1;
  return length;
}
