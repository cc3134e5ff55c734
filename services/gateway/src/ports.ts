/** What the gateway asks of the registry of identities over the bus. No answer is never a yes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId } from '@svc/contract/names.ts';
import type { HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { createRegistryClient, createStampedCache, type RegistryClient, type Revision } from '@svc/runtime/registry.ts';
import { createSettings, type Settings } from '@svc/runtime/settings.ts';
import { isBuiltIn, NO_PROFILES, type SetProfiles } from './domain/profiles.ts';
import type { TokenMeter } from './gateway-metrics.ts';
import { createPolicyCache, type PolicyCache } from '@svc/runtime/policy-cache.ts';
import { createTokenCache, type TokenCache } from './token-cache.ts';

/** An identity as it acts in a workspace, and its roles in each. Null subject = it has no role anywhere. */
type AgentContext = Pick<HabitatAnswer<'context'>, 'subject' | 'quarantined' | 'roles' | 'org' | 'plan'>;

/** Under what the caller is judged; null = the registry does not answer. Asked for only where it matters. */
type UnderStamp = () => Promise<RegistryStamp | null>;

export interface Ports {
  /** What the registry stands at, read after this call began; null = it does not answer. Never throws. */
  revision(session: string | undefined): Promise<Revision | null>;
  /** The same for whoever cannot go on without. Throws SERVICE_UNAVAILABLE. */
  requireRevision(session?: string): Promise<Revision>;
  readonly tokens: TokenCache;
  /** Whether a token, by its id, has not been revoked; its time is judged by whoever asks. Throws SERVICE_UNAVAILABLE. */
  tokenStands(tokenId: string, stamp: RegistryStamp): Promise<boolean>;
  /** The identity in `workspace` if it has a role there, else at home. Throws SERVICE_UNAVAILABLE. */
  agentContext(agentId: string, workspace: string | null, stamp: RegistryStamp): Promise<AgentContext>;
  /** Throws SERVICE_UNAVAILABLE. */
  isWorkspace(name: string, stamp: RegistryStamp): Promise<boolean>;
  readonly policiesOf: PolicyCache;
  readonly settings: Settings;
  /** What has to be known of set profiles to tell what the named one is; null = no profile. */
  profilesFor(name: string | null | undefined, under: UnderStamp): SetProfiles | Promise<SetProfiles>;
  close(): void;
}

/** How long a caller who can do without waits for a registry that did not answer the one before. */
const PATIENCE_WHEN_AWAY_MS = 50;
const MAX_AGENTS = 10_000;
const MAX_TOKENS = 10_000;
const MAX_WORKSPACES = 10_000;
const NO_AGENT: AgentContext = { subject: null, quarantined: false, roles: {} };

export function createPorts(
  platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log' | 'config'>,
  meter: TokenMeter,
): Ports {
  const registry = createRegistryClient(platform, 'gateway');
  const settings = createSettings({ config: platform.config, registry });
  const tokens = createTokenCache({ platform, registry, meter });
  const agents = createStampedCache<AgentContext, { agentId: string; workspace: string | null }>({
    hangsOn: 'rev',
    max: MAX_AGENTS,
    keyOf: ({ agentId, workspace }) => `${agentId} ${workspace ?? ''}`,
    async read({ agentId, workspace }) {
      const within = workspace === null ? {} : { workspace };
      const { stamp, ...value } = await registry.context({ agentId, ...within, plan: true });
      return { stamp, value };
    },
  });
  const standing = createStampedCache<boolean>({
    hangsOn: 'rev',
    max: MAX_TOKENS,
    async read(tokenId) {
      const { stamp, stands } = await registry.tokenStands({ tokenId });
      return { stamp, value: stands };
    },
  });
  const workspaces = createStampedCache<boolean>({
    hangsOn: 'policies',
    max: MAX_WORKSPACES,
    async read(workspaceId) {
      const { stamp, known } = await registry.roles({ userId: 'anonymous', workspaceId });
      return { stamp, value: known };
    },
  });
  return {
    ...revisions(registry, platform),
    tokens,
    tokenStands: async (tokenId, stamp) => standing.get(tokenId, stamp),
    async agentContext(agentId, workspace, stamp) {
      return IdentityId.safeParse(agentId).success ? agents.get({ agentId, workspace }, stamp) : NO_AGENT;
    },
    isWorkspace: async (name, stamp) => name === DEFAULT_WORKSPACE || workspaces.get(name, stamp),
    policiesOf: createPolicyCache(registry),
    settings,
    profilesFor(name, under) {
      if (name === null || name === undefined || isBuiltIn(name)) return NO_PROFILES;
      return under().then((stamp) => settings.readGroup('profiles', stamp));
    },
    close: tokens.close,
  };
}

/** A registry that is away must not make every call slow that can do without it. */
function revisions(
  registry: Pick<RegistryClient<'gateway'>, 'revision'>,
  { log }: Pick<StatelessPlatform, 'log'>,
): Pick<Ports, 'revision' | 'requireRevision'> {
  let isAway = false;

  function answered(revision: Revision): Revision {
    if (isAway) log.info('the registry of identities answers again');
    isAway = false;
    return revision;
  }

  function notice(error: unknown): null {
    if (!isAway) log.warn({ err: error }, 'the registry of identities does not answer');
    isAway = true;
    return null;
  }

  return {
    async requireRevision(session) {
      try {
        return answered(await registry.revision(session));
      } catch (error) {
        notice(error);
        throw error instanceof CallError ? error : new CallError('SERVICE_UNAVAILABLE');
      }
    },
    revision(session) {
      const asked = registry.revision(session).then(answered, notice);
      if (!isAway) return asked;
      return Promise.race([asked, sleep(PATIENCE_WHEN_AWAY_MS, null, { ref: false })]);
    },
  };
}
