/** What two manifests of one world say differently. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { canonicalJson } from '@svc/contract/canonical.ts';
import type { Manifest } from './manifest.ts';
import { cellPath } from './state.ts';

interface ManifestDiff {
  readonly identical: boolean;
  /** Keys with the same value. */
  readonly same: number;
  readonly changed: { key: string; a: unknown; b: unknown }[];
  readonly onlyInA: string[];
  readonly onlyInB: string[];
  readonly stateRootDiffers: boolean;
  readonly summary: string;
}

type DiffRefusal = 'E_SNAPSHOT_UNIVERSE' | 'E_SNAPSHOT_WORLD_MISMATCH';
/** What says whose the manifest is, and the root, which is told on its own. */
const NOT_COMPARED = new Set(['cells', 'fork', 'kind', 'stateRoot', 'universe', 'v', 'world']);

function keysOf({ payload }: Manifest): Map<string, unknown> {
  const keys = Object.entries(payload).filter(([key]) => !NOT_COMPARED.has(key));
  return new Map([...keys, ...payload.cells.map((cell, generation) => [cellPath(generation), cell] as const)]);
}

export function diffOf(a: Manifest, b: Manifest): Decision<ManifestDiff, DiffRefusal> {
  if (a.payload.universe !== b.payload.universe) return deny('E_SNAPSHOT_UNIVERSE', { universeMatch: false });
  if (a.payload.world !== b.payload.world || a.payload.fork !== b.payload.fork)
    return deny('E_SNAPSHOT_WORLD_MISMATCH');
  const [inA, inB] = [keysOf(a), keysOf(b)];
  const both = [...inA.keys()].filter((key) => inB.has(key));
  const changed = both.flatMap((key) => {
    const [one, other] = [inA.get(key), inB.get(key)];
    return canonicalJson(one) === canonicalJson(other) ? [] : [{ key, a: one, b: other }];
  });
  const onlyInA = [...inA.keys()].filter((key) => !inB.has(key));
  const onlyInB = [...inB.keys()].filter((key) => !inA.has(key));
  const same = both.length - changed.length;
  const stateRootDiffers = a.payload.stateRoot !== b.payload.stateRoot;
  const differing = changed.length + onlyInA.length + onlyInB.length;
  return allow({
    identical: differing === 0 && !stateRootDiffers,
    same,
    changed,
    onlyInA,
    onlyInB,
    stateRootDiffers,
    summary: `${a.payload.world}: ${same} equal, ${differing} different, ${stateRootDiffers ? 'another state' : 'the same state'}`,
  });
}
