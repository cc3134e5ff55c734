/** svc_universe_*: worlds as they follow from their names. Nothing is read for them but the environment. */
import { Sha256Hex } from '@svc/contract/params.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { ENCODER } from '../domain/encoder.ts';
import { deriveWorld, manifestOf } from '../domain/manifest.ts';
import { forkOf, plainWorld } from '../domain/names.ts';
import { brain, dress, placeFor, shownWorld, universe, universeNamed, worldShown } from './shapes.ts';

const DEFAULT_WORLD = { name: 'default', lineage: ['default'], fork: false } as const;

const snapshot = defineTool({
  name: 'svc_universe_snapshot',
  area: 'universe',
  description: 'Derives a world from its name: seed, cells, state and id, equal on every node. Writes nothing.',
  input: z.strictObject({ name: z.string().describe('World; its dots are letters like others.'), universe }),
  output: z.strictObject({ ...worldShown, fork: z.literal(false) }),
  access: 'public',
  effect: 'read',
  refuses: ['E_SNAPSHOT_NAME', 'E_SNAPSHOT_UNIVERSE'],
  dress,
  example: { name: 'demo' },
  async handler({ name, universe: named }, { deps, take }) {
    const of = take(universeNamed(deps, named));
    return { ...shownWorld(deriveWorld(of, take(plainWorld(name)))), fork: false as const };
  },
});

const fork = defineTool({
  name: 'svc_universe_fork',
  area: 'universe',
  description: 'Derives the fork of a world, which shares nothing with the plain world of its name. Writes nothing.',
  input: z.strictObject({
    parent: z.string().describe('World, or a fork by its lineage, such as demo.kid.'),
    child: z.string(),
    universe,
  }),
  output: z.strictObject({ ...worldShown, fork: z.literal(true), parent: z.string(), child: z.string() }),
  access: 'public',
  effect: 'read',
  refuses: ['E_SNAPSHOT_NAME', 'E_SNAPSHOT_UNIVERSE'],
  dress,
  example: { parent: 'demo', child: 'kid' },
  async handler({ parent, child, universe: named }, { deps, take }) {
    const of = take(universeNamed(deps, named));
    const world = deriveWorld(of, take(forkOf(parent, child)));
    return { ...shownWorld(world), fork: true as const, parent, child };
  },
});

const status = defineTool({
  name: 'svc_universe_status',
  area: 'universe',
  description: 'Which universe this node is in, and how many manifests of the brain the caller may read.',
  input: z.strictObject({ universe, brain }),
  output: z.strictObject({
    ok: z.literal(true),
    source: z.enum(['explicit', 'environment', 'default']),
    universe: Sha256Hex.describe('Fingerprint.'),
    world: z.literal(DEFAULT_WORLD.name),
    fingerprint: Sha256Hex.describe('Id of the manifest of that world: equal where everything is derived equally.'),
    encoder: Sha256Hex,
    manifests: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_SNAPSHOT_UNIVERSE'],
  raises: ['BRAIN_LOAD_FAIL'],
  dress,
  example: {},
  async handler({ universe: named, brain: where }, { deps, caller, take }) {
    const of = take(universeNamed(deps, named));
    const world = deriveWorld(of, DEFAULT_WORLD);
    return {
      ok: true as const,
      source: of.source,
      universe: of.fingerprint,
      world: DEFAULT_WORLD.name,
      fingerprint: manifestOf(world, world.stateRoot).id,
      encoder: ENCODER,
      manifests: await deps.worlds.manifests.count(placeFor(caller, where)),
    };
  },
});

export const derivedTools = [snapshot, fork, status];
