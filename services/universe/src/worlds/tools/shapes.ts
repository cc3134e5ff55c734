/** What the tools of worlds take and show in common. */
import { actingAs } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { bearerOf } from '@svc/contract/operations.brain-files.ts';
import { BrainName } from '@svc/contract/names.ts';
import { Sha256Hex } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { z } from 'zod';
import type { UniverseDeps } from '../../deps.ts';
import { ENCODER } from '../domain/encoder.ts';
import { manifestOf, type World } from '../domain/manifest.ts';
import { universeOf } from '../domain/seed-chain.ts';
import type { Place } from '../manifests.ts';

/** Of every refusal here. */
export const dress = { ok: false };

export const universe = z.string().optional().describe("Text from which all seeds follow; else the node's own.");
export const brain = BrainName.optional().describe("Brain name; else the session's.");
export const id = z.string().describe('Id of a manifest, or how it begins.');
export const inFile = z
  .string()
  .optional()
  .describe('File of the brain with a manifest or a list of them, in which it is looked for instead.');

export const worldShown = {
  ok: z.literal(true),
  name: z.string(),
  seed: Sha256Hex,
  cells: z.array(z.strictObject({ generation: z.int(), address: Sha256Hex })),
  encoder: Sha256Hex,
  universe: z.strictObject({ source: z.enum(['explicit', 'environment', 'default']), fingerprint: Sha256Hex }),
  stateRoot: Sha256Hex,
  id: Sha256Hex,
};

export function shownWorld(world: World) {
  const { name, universe: of, seed, cells, stateRoot } = world;
  return {
    ok: true as const,
    name,
    seed: seed.toString('hex'),
    cells: [...cells],
    encoder: ENCODER,
    universe: { source: of.source, fingerprint: of.fingerprint },
    stateRoot,
    id: manifestOf(world, stateRoot).id,
  };
}

export function universeNamed({ worlds }: Pick<UniverseDeps, 'worlds'>, named: string | undefined) {
  return universeOf({ named, configured: worlds.universe });
}

export function placeFor(caller: Caller, named: string | undefined): Place {
  return { on: bearerOf(caller), brain: named ?? null, branch: null };
}

/** Who pays and is named. Throws FORBIDDEN when a token names somebody else. */
export function actorFor(caller: Caller, named?: string): string {
  const acting = actingAs(caller, named) ?? (caller.operator ? 'operator' : null);
  if (acting === null)
    throw new CallError('FORBIDDEN', 'This takes an agent as whom it is done, and the caller is none.');
  return acting;
}
