/** svc_universe_*: manifests in a brain, and worlds resumed from them. */
import { Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { diffOf } from '../domain/diff.ts';
import { deriveWorld, isStateRoot, type Manifest } from '../domain/manifest.ts';
import { namedWorld } from '../domain/names.ts';
import { actorFor, brain, dress, id, inFile, placeFor, universe, universeNamed } from './shapes.ts';

const WRITES = ['BRAIN_LOAD_FAIL', 'UNAUTHORIZED', 'FORBIDDEN', 'RLS_DENIED'] as const;

const record = defineTool({
  name: 'svc_universe_record',
  area: 'universe',
  description:
    'Stores the manifest of a world in the brain, under an id that is its hash; the same again changes nothing.',
  input: z.strictObject({
    name: z.string(),
    universe,
    fork: z.boolean().default(false).describe('The name is the lineage of a fork, such as demo.kid.'),
    stateRoot: z
      .string()
      .optional()
      .describe('64 hex digits; else of what the brain holds of it, or of how it begins.'),
    brain,
  }),
  output: z.strictObject({
    ok: z.literal(true),
    added: z.boolean(),
    id: Sha256Hex,
    file: z.string(),
    world: z.string(),
    fork: z.boolean(),
    stateRoot: Sha256Hex,
    universe: Sha256Hex.describe('Fingerprint.'),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_SNAPSHOT_NAME', 'E_SNAPSHOT_UNIVERSE', 'E_SNAPSHOT_MANIFEST', 'E_STATE_WRITE'],
  raises: WRITES,
  dress,
  example: { name: 'demo' },
  async handler({ name, universe: named, fork, stateRoot, brain: where }, call) {
    const { deps, caller, take, refuse } = call;
    const of = take(universeNamed(deps, named));
    const world = deriveWorld(of, take(namedWorld(name, fork)));
    if (stateRoot !== undefined && !isStateRoot(stateRoot)) throw refuse('E_SNAPSHOT_MANIFEST');
    const wish = { place: placeFor(caller, where), world, stateRoot: stateRoot ?? null, actor: actorFor(caller) };
    const recorded = settled(call, await deps.worlds.recordings.record(call, wish));
    return { ok: true as const, ...recorded, world: name, fork, universe: of.fingerprint };
  },
});

const side = z.strictObject({ id: Sha256Hex, world: z.string(), fork: z.boolean(), stateRoot: Sha256Hex });

const diff = defineTool({
  name: 'svc_universe_diff',
  area: 'universe',
  description: 'What two manifests of one world say differently.',
  input: z.strictObject({ a: id, b: id, manifestFile: inFile, brain }),
  output: z.strictObject({
    ok: z.literal(true),
    identical: z.boolean(),
    same: z.int().describe('Keys with equal values.'),
    universeMatch: z.literal(true),
    a: side,
    b: side,
    changed: z.array(z.strictObject({ key: z.string(), a: z.unknown(), b: z.unknown() })),
    onlyInA: z.array(z.string()),
    onlyInB: z.array(z.string()),
    stateRootDiffers: z.boolean(),
    summary: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [
    'E_SNAPSHOT_ABSENT',
    'E_SNAPSHOT_AMBIGUOUS',
    'E_SNAPSHOT_MANIFEST',
    'E_SNAPSHOT_UNIVERSE',
    'E_SNAPSHOT_WORLD_MISMATCH',
  ],
  raises: ['BRAIN_LOAD_FAIL', 'VAF_PATH_BLOCKED'],
  dress,
  example: { a: 'a36ae85d', b: 'c60ef59b' },
  async handler({ a, b, manifestFile = null, brain: where }, { deps, caller, take }) {
    const place = placeFor(caller, where);
    const { manifest: one, at } = take(await deps.worlds.manifests.find(place, a, manifestFile));
    const { manifest: other } = take(await deps.worlds.manifests.find({ ...place, ...at }, b, manifestFile));
    const found = take(diffOf(one, other));
    return { ok: true as const, universeMatch: true as const, a: shownSide(one), b: shownSide(other), ...found };
  },
});

function shownSide({ id: of, payload: { world, fork, stateRoot } }: Manifest) {
  return { id: of, world, fork, stateRoot };
}

const ActorName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}$/,
    'must be 1-128 letters, digits or ._@:- and start with a letter or digit',
  );

const resume = defineTool({
  name: 'svc_universe_resume',
  area: 'universe',
  description:
    'Marks in the brain that a world goes on from a manifest, and says whether its cells are as they were then; with materialize it writes them, for 5 credits.',
  input: z.strictObject({
    id,
    actor: ActorName.optional().describe("Who resumes and pays; the token's own agent, else operator."),
    manifestFile: inFile,
    materialize: z.boolean().default(false).describe('Writes the five cells as they were derived.'),
    brain,
  }),
  output: z.strictObject({
    ok: z.literal(true),
    id: Sha256Hex,
    world: z.string(),
    actor: z.string(),
    stateRoot: Sha256Hex,
    liveRoot: Sha256Hex.nullable().describe('Of the cells that were there before; null = none were.'),
    liveRootMatch: z.boolean().nullable(),
    marker: z.strictObject({ file: z.string(), at: TimestampMs }),
    materialized: z.int(),
    billed: z.int(),
    restoreId: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [
    'E_SNAPSHOT_ABSENT',
    'E_SNAPSHOT_AMBIGUOUS',
    'E_SNAPSHOT_MANIFEST',
    'E_STATE_LOCKED',
    'E_SNAPSHOT_BUDGET',
    'E_STATE_WRITE',
  ],
  raises: [...WRITES, 'VAF_PATH_BLOCKED'],
  dress,
  example: { id: 'a36ae85d', materialize: true },
  async handler({ id: wanted, actor: named, manifestFile, materialize, brain: where }, call) {
    const { deps, caller, now } = call;
    const actor = actorFor(caller, named);
    const wish = {
      place: placeFor(caller, where),
      id: wanted,
      inFile: manifestFile ?? null,
      actor,
      materialize,
      at: now,
    };
    return { ok: true as const, ...settled(call, await deps.worlds.restores.resume(call, wish)) };
  },
});

export const storedTools = [record, diff, resume];
