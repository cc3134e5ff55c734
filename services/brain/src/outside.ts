/** What brains reach outside of the deployment: remotes to sync with, and the endpoint that makes vectors. */
import { allow, deny } from '@svc/contract/decision.ts';
import type { BRAIN } from '@svc/contract/operations.brain.ts';
import { REACHED_WITHIN_MS, type OutsideSystem } from '@svc/contract/outside.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { BrainDeps } from './deps.ts';
import { type Endpoint, EndpointFault } from './embedding/endpoint.ts';
import { countRemoteBranches, type Remote } from './git/remote.ts';
import { RemoteError } from './git/remote-error.ts';

type Served = Handlers<typeof BRAIN, BrainDeps>;
type ReachOutcome = Awaited<ReturnType<Served['reach']>>;

/** Leaves the asker time for the answer. */
const WITHIN_MS = REACHED_WITHIN_MS - 500;

export const outside: Served['outside'] = async (_question, { deps }) => {
  const { remotes } = deps;
  const names = await remotes.namesFor(null);
  return {
    systems: [systemOf('remote-host', 'git', remotes.missing), systemOf('embedder', 'http', await lacksOf(deps))],
    sync: {
      remotes: names.length,
      failing: names.filter((name) => remotes.breakerFor(name).state === 'open'),
    },
  };
};

function systemOf(name: string, kind: string, missing: readonly string[]): OutsideSystem {
  return { name, kind, configured: missing.length === 0, missing: [...missing] };
}

async function lacksOf({ settings, revision }: BrainDeps): Promise<string[]> {
  const { stamp } = await revision();
  const keys = ['embed.url', 'embed.model'] as const;
  const values = await Promise.all(keys.map((key) => settings.read(key, stamp)));
  return keys.filter((_key, index) => values[index] === null);
}

export const reach: Served['reach'] = async ({ system, remote: named }, { deps }) => {
  if (system === 'embedder') return reachEmbedder(deps);
  const remote = system === 'remote-host' ? deps.remotes.host : await remoteNamed(deps, named ?? '');
  if (remote !== null) return reachRemote(deps, remote);
  return deny('E_NOT_CONFIGURED', { missing: system === 'remote-host' ? [...deps.remotes.missing] : [] });
};

/** As the brain that it is for reaches it. */
async function remoteNamed({ remotes, namedRemotes, defaultBrain }: BrainDeps, name: string): Promise<Remote | null> {
  return remotes.remoteFor((await namedRemotes.find(name))?.brain ?? defaultBrain, name);
}

async function reachRemote({ git }: BrainDeps, remote: Remote): Promise<ReachOutcome> {
  const begunAt = performance.now();
  try {
    const branches = await countRemoteBranches(git, remote, WITHIN_MS);
    const place = remote.address.host ?? remote.name;
    return allow({ latencyMs: sinceMs(begunAt), detail: `${place}, branches: ${branches}` });
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // A host that hides what is there answers a refused credential like a missing repository.
    const isRefused = error.code === 'E_REMOTE_AUTH' || error.code === 'E_REMOTE_ABSENT';
    return deny(isRefused ? 'E_AUTH' : 'E_UNREACHABLE', { reason: error.kind }, error.message);
  }
}

async function reachEmbedder(deps: BrainDeps): Promise<ReachOutcome> {
  const { embedder } = deps.meaning;
  const endpoint: Endpoint | null = await embedder.endpoint((await deps.revision()).stamp);
  if (endpoint === null) return deny('E_NOT_CONFIGURED', { missing: await lacksOf(deps) });
  const begunAt = performance.now();
  try {
    const [vector = []] = await embedder.passages(endpoint, ['hello'], AbortSignal.timeout(WITHIN_MS));
    return allow({ latencyMs: sinceMs(begunAt), detail: `${endpoint.model}, dimensions: ${vector.length}` });
  } catch (error) {
    if (!(error instanceof EndpointFault)) throw error;
    const code = error.kind === 'denied' ? 'E_AUTH' : 'E_UNREACHABLE';
    return deny(code, { reason: error.kind }, `The endpoint at embed.url ${error.message}.`);
  }
}

function sinceMs(begunAt: number): number {
  return Math.round(performance.now() - begunAt);
}
