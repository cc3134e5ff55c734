/** The room of worlds: what its tools work with, and what goes on without a call. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import { createTurns } from '@svc/runtime/turns.ts';
import type { Ports } from '../ports.ts';
import type { UniverseStore } from '../universe-store.ts';
import { ENCODER, encoderFingerprint } from './domain/encoder.ts';
import { createManifests, type Manifests } from './manifests.ts';
import { createRecordingStore, type RecordingStore } from './recording-store.ts';
import { createRestoreStore, type RestoreStore } from './restore-store.ts';

const RECONCILE_MS = 30_000;
const SWEEP_MS = 3_600_000;

export interface Worlds {
  /** The universe that the node's environment names. */
  readonly universe: string | undefined;
  readonly manifests: Manifests;
  readonly recordings: RecordingStore;
  readonly restores: RestoreStore;
}

interface OpenWorlds {
  readonly worlds: Worlds;
  readonly jobs: readonly JobDeclaration[];
  /** Waits for what was cut off before the start to have gone on. */
  drain(): Promise<void>;
}

/** Throws StartProblem where ids would not be those of other nodes. */
export function openWorlds(platform: Platform, store: UniverseStore, ports: Ports): OpenWorlds {
  if (encoderFingerprint() !== ENCODER)
    throw new StartProblem('This build writes canonical JSON otherwise than other nodes, so that ids would differ.');
  const { config, ids, log, clock } = platform;
  const manifests = createManifests(ports.brain);
  const parts = {
    store,
    ports,
    manifests,
    ids,
    log,
    clock,
    keptDays: config.SVC_KEEP_RESTORES_DAYS,
    inTurn: createTurns(),
  };
  const restores = createRestoreStore(parts);
  const recordings = createRecordingStore(parts);
  const reconcile = async (): Promise<void> => {
    await restores.reconcile();
    await recordings.reconcile();
  };
  // Beside the start, which waits neither for the brain nor for the ledger.
  const looked = reconcile().catch((error: unknown) => log.error({ err: error }, 'restores could not be gone on with'));
  return {
    worlds: { universe: config.SVC_UNIVERSE_SEED, manifests, recordings, restores },
    jobs: [
      { id: 'universe.restores', everyMs: RECONCILE_MS, scope: 'cluster', run: reconcile },
      {
        id: 'universe.restore-sweep',
        everyMs: SWEEP_MS,
        scope: 'cluster',
        async run() {
          await restores.sweep();
          await recordings.sweep();
        },
      },
    ],
    drain: () => looked,
  };
}
