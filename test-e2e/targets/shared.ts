/** Starts the target that the scenarios of a project share, and tells them where it is. */
import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster.ts';
import { startEmbedded } from './embedded.ts';
import type { OwnTarget, TargetKind, TargetPlace } from './target.ts';

declare module 'vitest' {
  interface ProvidedContext {
    target: TargetPlace | null;
    targetKind: TargetKind;
  }
}

let target: OwnTarget | null = null;

export async function setup(project: TestProject): Promise<void> {
  const kind: TargetKind = project.name === 'e2e-cluster' ? 'cluster' : 'embedded';
  target = kind === 'cluster' ? await startCluster() : await startEmbedded();
  if (target === null) process.stderr.write('SKIPPED: every scenario on the cluster, because a server is missing\n');
  project.provide('target', target?.place ?? null);
  project.provide('targetKind', kind);
}

export async function teardown(): Promise<void> {
  const { brains = [], habitats = [], escrows = [], gateways = [] } = target ?? {};
  for (const one of new Set([...brains, ...habitats, ...escrows, ...gateways])) {
    if (!one.isRunning) process.stderr.write(`${one.name} died during the run:\n${one.tail()}\n`);
  }
  await target?.stop();
}
