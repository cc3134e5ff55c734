/** Starts the target that the scenarios of a project share, and tells them where it is. */
import { chmodSync } from 'node:fs';
import { fastFolder } from '@svc/testing/fast-folder.ts';
import { removeFolder, temporaryFolder } from '@svc/testing/servers/processes.ts';
import type { TestProject } from 'vitest/node';
import { SHARED_TARGET } from '../lanes.ts';
import { BREAKER_OPEN_S } from '../settings.ts';
import { bundle } from './bundle.ts';
import { serversThere, startCluster } from './cluster.ts';
import { startEmbedded } from './embedded.ts';
import { startsOfRun } from './service-process.ts';
import { API_KEY, type Environment, type OwnTarget, type TargetKind, type TargetPlace } from './target.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Null where servers are missing; `none` where every file has its own. */
    target: TargetPlace | 'none' | null;
    keyed: TargetPlace | 'none' | null;
    targetKind: TargetKind;
  }
}

/** What takes a minute by itself would hold up a worker for it. */
const IMPATIENT: Environment = { SVC_BREAKER_OPEN_S: String(BREAKER_OPEN_S) };

/** Options of Node for those that live as long as the run. */
const LONG_LIVED: readonly string[] = [];

/** Of the processes that scenarios start. */
const ENTRIES: readonly string[] = [
  'deploy/embedded.ts',
  'deploy/node.ts',
  'deploy/svc.ts',
  'test-e2e/targets/eighth.main.ts',
];

/** Three, because some promises are about more than two. */
const SHARED_GATEWAYS = 3;

let target: OwnTarget | null = null;
let twin: OwnTarget | null = null;
let folder: string | null = null;

export async function setup(project: TestProject): Promise<void> {
  const kind: TargetKind = project.name === 'e2e-cluster' ? 'cluster' : 'embedded';
  // Workers are ended hard, so whatever they leave lies in one folder of the run; servers that are not root pass through it.
  // In memory for one kind, and on the disk for the other: a system of files behaves in ways of its own.
  folder = temporaryFolder('run', kind === 'cluster' ? { inside: fastFolder() } : {});
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  await bundle(ENTRIES);
  project.provide('targetKind', kind);
  if (process.env[SHARED_TARGET] === 'none') return provideNone(project, kind);
  if (kind === 'cluster') target = await startCluster(IMPATIENT, { gateways: SHARED_GATEWAYS });
  else
    [target, twin] = await Promise.all([
      startEmbedded(IMPATIENT, LONG_LIVED),
      startEmbedded({ ...IMPATIENT, SVC_API_KEY: API_KEY }, LONG_LIVED),
    ]);
  if (target === null) process.stderr.write('SKIPPED: every scenario on the cluster, because a server is missing\n');
  project.provide('target', target?.place ?? null);
  project.provide('keyed', (twin ?? target)?.place ?? null);
}

/** Files that have their own are skipped without servers as all others are. */
async function provideNone(project: TestProject, kind: TargetKind): Promise<void> {
  const told = kind === 'embedded' || (await serversThere()) ? 'none' : null;
  project.provide('target', told);
  project.provide('keyed', told);
}

export async function teardown(): Promise<void> {
  for (const own of [target, twin]) {
    for (const one of own?.everybody ?? []) {
      if (!one.isRunning) process.stderr.write(`${one.name} died during the run:\n${one.tail()}\n`);
    }
    await own?.stop();
  }
  process.stdout.write(`${startsOfRun()}\n`);
  if (folder !== null) removeFolder(folder);
}
