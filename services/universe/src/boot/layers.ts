/** The layers as they are now: each asked for itself, within half a second, and not again within a second. */
import { type Check, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { serversOf } from '../connectors/servers.ts';
import type { Outside } from '../doors-ports.ts';
import { answerWithin } from '../within.ts';
import { LAYERS, type LayerName, type LayerState, stateOfParts } from './domain/layer.ts';

export interface Layer {
  readonly name: LayerName;
  readonly order: number;
  readonly state: LayerState;
  /** What answered, with its version, or why it does not; never a secret. */
  readonly detail: string;
  readonly checkedAt: number;
  readonly latencyMs: number;
}

export interface Layers {
  read(): Promise<readonly Layer[]>;
}

/** A part of the sandbox, as far as it matters here. */
export interface SandboxPart {
  readonly name: string;
  readonly enabled: boolean;
  readonly ready: boolean;
}

interface LayerParts {
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'config' | 'kind' | 'node'>;
  readonly servers: ReturnType<typeof serversOf>;
  readonly outside: Outside;
  /** Of this service. */
  checks(): Promise<readonly Check[]>;
  sandbox(): Promise<readonly SandboxPart[]>;
}

interface Found {
  readonly state: LayerState;
  readonly detail: string;
}

const CHECKED_WITHIN_MS = 500;
const KEPT_MS = 1000;

const Checks = z.array(z.object({ name: z.string(), status: z.enum(['ok', 'degraded', 'fail']) }));

export function createLayers(parts: LayerParts): Layers {
  const { platform } = parts;
  const probes = probesOf(parts);
  let latest: { readonly at: number; readonly layers: Promise<readonly Layer[]> } | null = null;
  const look = async (name: LayerName, order: number): Promise<Layer> => {
    const begunAt = performance.now();
    const { state, detail } = await answerWithin(CHECKED_WITHIN_MS, probes[name]()).catch(() => SILENT);
    const latencyMs = Math.round(performance.now() - begunAt);
    return { name, order, state, detail, checkedAt: platform.clock.now(), latencyMs };
  };
  return {
    read() {
      const now = platform.clock.now();
      if (latest === null || Math.abs(now - latest.at) >= KEPT_MS) {
        latest = { at: now, layers: Promise.all(LAYERS.map((name, index) => look(name, index + 1))) };
      }
      return latest.layers;
    },
  };
}

/** What a driver says may name addresses and users. */
const SILENT: Found = { state: 'down', detail: `no answer within ${CHECKED_WITHIN_MS} ms` };

function probesOf(parts: LayerParts): Readonly<Record<LayerName, () => Promise<Found>>> {
  const { platform, servers, outside } = parts;
  const { node, kind } = platform;
  const service = (name: string) => async (): Promise<Found> => {
    const deadlineAt = platform.clock.now() + CHECKED_WITHIN_MS;
    return ofChecks(Checks.parse(JSON.parse(await platform.bus.request(SUBJECTS.checks(name), '', { deadlineAt }))));
  };
  const server = (name: keyof typeof servers) => async (): Promise<Found> => ({
    state: 'up',
    detail: await servers[name].probe(CHECKED_WITHIN_MS),
  });
  return {
    config: async () => ({ state: 'up', detail: `version ${node.version}, ${kind}` }),
    store: server('postgres'),
    bus: server('bus'),
    queue: server('queue'),
    habitat: service('habitat'),
    escrow: service('escrow'),
    brain: service('brain'),
    agora: service('agora'),
    market: service('market'),
    universe: async () => ofChecks(await parts.checks()),
    async sandbox() {
      const all = await parts.sandbox();
      const detail = all.map(
        ({ name, enabled, ready }) => `${name} ${enabled ? (ready ? 'ready' : 'not proven') : 'off'}`,
      );
      return { state: stateOfParts(all), detail: detail.join(', ') };
    },
    async sync() {
      const { remotes, failing } = (await outside.brain.outside({})).sync;
      if (remotes === 0) return { state: 'off', detail: 'no remote is configured' };
      const state = failing.length === 0 ? 'up' : failing.length < remotes ? 'degraded' : 'down';
      return { state, detail: failing.length === 0 ? `remotes: ${remotes}` : `failing: ${failing.join(', ')}` };
    },
  };
}

function ofChecks(checks: readonly Check[]): Found {
  const wrong = checks.filter(({ status }) => status !== 'ok');
  const state = wrong.length === 0 ? 'up' : wrong.some(({ status }) => status === 'fail') ? 'down' : 'degraded';
  return { state, detail: wrong.length === 0 ? `checks: ${checks.length}` : wrong.map(({ name }) => name).join(', ') };
}
