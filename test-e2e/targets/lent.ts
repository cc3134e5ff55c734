/**
 * The target that the files of one worker use one after the other: each may break it, and gives it back whole. Starting
 * one for each file took more time than what the files prove.
 */
import { endsLikeAnyProcess } from '@svc/testing/worker-end.ts';
import { BRAIN_APART, type ClusterShape, startCluster } from './cluster.ts';
import { startEmbedded } from './embedded.ts';
import type { Environment, OwnTarget, TargetKind } from './target.ts';

let standing: OwnTarget | null = null;
let isLent = false;

endsLikeAnyProcess();

export function startTarget(
  kind: TargetKind,
  environment: Environment,
  shape: ClusterShape = {},
): Promise<OwnTarget | null> {
  return kind === 'cluster' ? startCluster(environment, shape) : startEmbedded(environment);
}

/** With these settings, and these roles for themselves. Whoever asks while it is lent gets another one, for itself alone. */
export async function lendTarget(
  kind: TargetKind,
  environment: Environment,
  apart: readonly string[] = BRAIN_APART,
): Promise<OwnTarget | null> {
  if (isLent) return startTarget(kind, environment, { apart });
  isLent = true;
  try {
    standing =
      standing === null ? await startTarget(kind, environment, { apart }) : await standing.revive(environment, apart);
    return standing;
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Throws when it cannot be made whole again; then the next one starts anew. */
export async function giveBack(
  target: OwnTarget,
  environment: Environment,
  apart: readonly string[] = BRAIN_APART,
): Promise<void> {
  if (target !== standing) return target.stop();
  try {
    standing = await target.revive(environment, apart);
    // Until somebody wants it, it takes nothing from the files of other workers; whoever gets it lets it go on.
    for (const one of standing.everybody) one.signal('SIGSTOP');
    isLent = false;
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Without its processes, so that nothing they remember meets the next one. */
export async function giveBackAsleep(target: OwnTarget): Promise<void> {
  if (target !== standing) return target.stop();
  await Promise.all(target.gateways.map((one) => one.dispose()));
  isLent = false;
}

async function discard(): Promise<void> {
  const broken = standing;
  standing = null;
  isLent = false;
  await broken?.stop();
}
