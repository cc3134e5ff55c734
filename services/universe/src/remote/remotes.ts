/** Other nodes as they are called, with the token that the environment of this process has for them, and git remotes. */
import { allow, deny } from '@svc/contract/decision.ts';
import { REACHED_WITHIN_MS } from '@svc/contract/outside.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Config } from '@svc/runtime/config.ts';
import { z } from 'zod';
import type { MoreConnectors } from '../connectors/connectors.ts';
import type { GitRemotes } from '../doors-ports.ts';
import type { Remote } from './domain/remote.ts';
import type { NodeCall, NodeClient } from './node-client.ts';
import { connectorOf, type RemoteStore } from './remote-store.ts';

export interface Remotes {
  readonly store: RemoteStore;
  readonly client: NodeClient;
  readonly git: GitRemotes;
  newId(): string;
  tokenOf(remote: Pick<Remote, 'tokenRef'>): string | null;
  call(
    remote: Remote,
    call: Pick<NodeCall, 'tool' | 'args' | 'key' | 'hops' | 'withinMs'>,
  ): ReturnType<NodeClient['call']>;
  readonly connectors: MoreConnectors;
}

interface RemoteParts {
  readonly store: RemoteStore;
  readonly client: NodeClient;
  readonly git: GitRemotes;
  readonly ids: Ids;
  readonly config: Pick<Config, 'remoteTokens'>;
  allowPrivate(): Promise<readonly string[]>;
}

const Status = z.object({ content: z.object({ status: z.object({ version: z.string().max(100) }) }) });

export function createRemotes({ store, client, git, ids, config, allowPrivate }: RemoteParts): Remotes {
  const tokenOf = ({ tokenRef }: Pick<Remote, 'tokenRef'>): string | null =>
    tokenRef === null ? null : (config.remoteTokens.get(tokenRef) ?? null);
  const lacksOf = (remote: Remote): string[] =>
    remote.tokenRef !== null && tokenOf(remote) === null ? [remote.tokenRef] : [];
  const call: Remotes['call'] = async (remote, wish) =>
    client.call({ ...wish, url: remote.url, token: tokenOf(remote), allowPrivate: await allowPrivate() });
  return {
    store,
    client,
    git,
    newId: () => ids.next('rmt'),
    tokenOf,
    call,
    connectors: {
      list: async () =>
        (await store.all()).map((remote) => {
          const missing = lacksOf(remote);
          return { service: connectorOf(remote), kind: remote.type, configured: missing.length === 0, missing };
        }),
      async reach(service) {
        const remote = service.startsWith('remote:') ? await store.find(service.slice('remote:'.length)) : null;
        if (remote === null) return null;
        if (remote.type === 'git') return git.reach({ system: 'remote', remote: remote.name });
        const missing = lacksOf(remote);
        if (missing.length > 0) return deny('E_NOT_CONFIGURED', { missing });
        const begunAt = performance.now();
        const wish = { tool: 'svc_framework_status', args: {}, key: null, hops: 1, withinMs: REACHED_WITHIN_MS };
        const decision = await call(remote, wish);
        const latencyMs = Math.round(performance.now() - begunAt);
        if (decision.ok) return allow({ latencyMs, detail: `version ${versionIn(decision.value)}` });
        const said = (decision.details?.['remote'] as { readonly code?: string } | undefined)?.code;
        return deny(said === 'UNAUTHORIZED' || said === 'FORBIDDEN' ? 'E_AUTH' : 'E_UNREACHABLE');
      },
    },
  };
}

function versionIn(result: unknown): string {
  const status = Status.safeParse(result);
  return status.success ? status.data.content.status.version : 'unknown';
}
