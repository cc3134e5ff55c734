/** Families: the trees of spawns. Whatever spawning could multiply counts once for all of one. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

/** Where an identity stands in the tree of spawns. Nobody spawned a user. */
export interface Lineage {
  /** Root of its family. */
  readonly family: string;
  /** Who is above it, whatever became of them, the oldest first. */
  readonly ancestors: readonly string[];
}

export interface Placed extends Lineage {
  readonly id: string;
}

/** Deep enough for whoever delegates, and nobody's line grows without end. */
const MAX_GENERATIONS = 64;

export interface Birth {
  readonly agentId: string;
  /** Who spawns; null = an operator, whose agents begin families of their own. */
  readonly spawner: Placed | null;
  /** Under whom the agent comes; null = under nobody but its spawner. */
  readonly parent: Placed | null;
}

/** Under a parent that is not its own descendant nobody spawns: `isAbove` was asked before. */
export function lineageOf({ agentId, spawner, parent }: Birth): Decision<Lineage, 'E_QUOTA'> {
  const above = parent ?? spawner;
  const ancestors = above === null ? [] : [...above.ancestors, above.id];
  if (ancestors.length > MAX_GENERATIONS) return deny('E_QUOTA');
  return allow({ family: spawner?.family ?? agentId, ancestors });
}

export function isAbove(id: string, { ancestors }: Lineage): boolean {
  return ancestors.includes(id);
}

/** Both stand in one family, or one of them is above the other. */
export function isKin(one: Placed, other: Placed): boolean {
  return one.family === other.family || isAbove(one.id, other) || isAbove(other.id, one);
}

/** Who gave a role, as seen from who holds it. */
export type RoleSource = 'operator' | 'outside' | 'family';

/** A family that an operator has parted stays one tree: what its branches give each other comes from nobody outside. */
export function sourceOfGift(giver: Placed, holder: Placed): RoleSource {
  return treeOf(giver) === treeOf(holder) ? 'family' : 'outside';
}

function treeOf({ id, ancestors }: Placed): string {
  return ancestors[0] ?? id;
}

const STRENGTH: readonly RoleSource[] = ['family', 'outside', 'operator'];

export function isStronger(one: RoleSource, other: RoleSource): boolean {
  return STRENGTH.indexOf(one) > STRENGTH.indexOf(other);
}
