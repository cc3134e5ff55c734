/** Opens the rooms at the edge of the deployment. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createBootStore } from './boot/boot-store.ts';
import { createLayers, type SandboxPart } from './boot/layers.ts';
import type { Compute } from './compute/compute.ts';
import { createConnectors } from './connectors/connectors.ts';
import { createContactStore } from './connectors/contact-store.ts';
import { serversOf } from './connectors/servers.ts';
import type { DoorDeps } from './doors-deps.ts';
import { createDoorPorts } from './doors-ports.ts';
import type { Registry } from './registry.ts';
import { createNodeClient } from './remote/node-client.ts';
import { createRemoteStore } from './remote/remote-store.ts';
import { createRemotes } from './remote/remotes.ts';
import type { Shell } from './shell/shell.ts';
import type { UniverseStore } from './universe-store.ts';

interface Needs {
  readonly store: UniverseStore;
  readonly registry: Registry;
  readonly compute: Compute;
  readonly shell: Shell;
}

export interface Doors {
  readonly deps: Omit<DoorDeps, 'registry' | 'keyedRuns'>;
  readonly jobs: readonly JobDeclaration[];
}

const SWEEP_MS = 600_000;

export async function openDoors(platform: Platform, { store, registry, compute, shell }: Needs): Promise<Doors> {
  const { clock, node } = platform;
  const { tasks, gitRemotes, outside } = createDoorPorts(platform);
  const servers = serversOf(platform);
  const contacts = createContactStore(store);
  const boots = createBootStore(store, node.nodeId);
  await boots.forgetOwn();
  const allowPrivate = () => registry.setting('network.allowPrivate', null);
  const remotes = createRemotes({
    store: createRemoteStore(store),
    ids: platform.ids,
    git: gitRemotes,
    client: createNodeClient(),
    config: platform.config,
    allowPrivate,
  });
  const connectors = createConnectors({
    servers,
    outside,
    contacts,
    more: remotes.connectors,
    now: () => clock.now(),
  });
  const sandbox = async (): Promise<SandboxPart[]> => {
    const [code, programs] = await Promise.all([
      registry.setting('compute.enabled', null),
      registry.setting('shell.enabled', null),
    ]);
    return [
      { name: 'compute', enabled: code, ready: code && (await compute.probe()).ok },
      { name: 'shell', enabled: programs, ready: programs && (await shell.probe())?.ok === true },
    ];
  };
  const layers = createLayers({ platform, servers, outside, checks: () => store.checks(), sandbox });
  return {
    deps: { boots, layers, connectors, contacts, tasks, remotes, allowPrivate },
    jobs: [{ id: 'universe.boots', everyMs: SWEEP_MS, scope: 'cluster', run: () => boots.sweep() }],
  };
}
