/** Where brains sync to: set by the operator through the environment, never read from a file that travels. */
import { deny, type Denial } from '@svc/contract/decision.ts';
import type { Config } from '@svc/runtime/config.ts';
import { ConfigProblem } from '@svc/runtime/config.ts';
import { Breaker } from '../git/breaker.ts';
import type { Remote } from '../git/remote.ts';
import { parseRemoteUrl, type RemoteAddress } from '../git/remote-url.ts';
import { Transfers } from './transfers.ts';

export interface SyncSettings {
  /** Of every remote, the default one first. */
  readonly names: readonly string[];
  /** Where HOST_REPO lies, however the remotes are named; null = HOST_TOKEN or HOST_REPO is not set. */
  readonly host: Remote | null;
  /** Variables that it lacks. */
  readonly missing: readonly string[];
  /** The remote of that name as it concerns one brain; null when there is none. */
  remoteFor(brain: string, name: string): Remote | null;
  /** One per remote: it counts failures over all brains. */
  breakerFor(name: string): Breaker;
  /** Of all brains of this process. */
  readonly transfers: Transfers;
}

export const DEFAULT_REMOTE = 'origin';

/** Names the settings that are missing, so that whoever is told can tell the operator. */
export function noRemote(remote: string): Denial<'E_NOT_CONFIGURED'> {
  const settings = remote === DEFAULT_REMOTE ? ['SVC_SYNC_REMOTES', 'HOST_REPO'] : ['SVC_SYNC_REMOTES'];
  const message = `No remote is named ${remote}; the operator sets it with ${settings.join(' or ')}.`;
  return deny('E_NOT_CONFIGURED', { remote, settings }, message);
}

const REMOTE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;

type SyncVariables = Pick<
  Config,
  | 'SVC_SYNC_REMOTES'
  | 'SVC_SYNC_ALLOW_FILE'
  | 'SVC_SYNC_CA_FILE'
  | 'SVC_SYNC_SILENCE_MS'
  | 'SVC_SYNC_TRANSFER_MS'
  | 'SVC_SYNC_TRANSFERS'
  | 'HOST_REPO'
  | 'HOST_TOKEN'
  | 'SVC_HOST_URL'
  | 'SVC_BRAIN'
>;

/** Throws ConfigProblem for a remote that cannot be used. `now`: ms on a clock that never goes back. */
export function readSyncSettings(config: SyncVariables, now: () => number): SyncSettings {
  const addresses = addressesIn(config);
  const hostOrigin = new URL(config.SVC_HOST_URL).origin;
  const manner = mannerOf(config);
  const breakers = new Map<string, Breaker>();
  return {
    host: hostIn(config),
    missing: HOST_VARIABLES.filter((name) => config[name] === undefined),
    names: [...addresses.keys()].sort((a, b) => Number(b === DEFAULT_REMOTE) - Number(a === DEFAULT_REMOTE)),
    transfers: new Transfers(config.SVC_SYNC_TRANSFERS, now),
    remoteFor(brain, name) {
      const address = addresses.get(name);
      if (address === undefined) return null;
      const trusted = config.HOST_TOKEN !== undefined && address.origin === hostOrigin;
      return {
        ...manner,
        name,
        address,
        // Brains share the remote's repository; the default one has its branches at the top.
        prefix: brain === config.SVC_BRAIN ? '' : `brain/${brain}/`,
        ...(trusted ? { credential: { token: config.HOST_TOKEN ?? '' } } : {}),
      };
    },
    breakerFor(name) {
      const known = breakers.get(name) ?? new Breaker({ now });
      breakers.set(name, known);
      return known;
    },
  };
}

const HOST_VARIABLES = ['HOST_TOKEN', 'HOST_REPO'] as const;

function addressesIn(config: SyncVariables): Map<string, RemoteAddress> {
  const addresses = new Map<string, RemoteAddress>();
  const host = config.HOST_REPO === undefined ? [] : [`${DEFAULT_REMOTE}=${hostUrl(config)}`];
  for (const pair of [...host, ...(config.SVC_SYNC_REMOTES?.split(',') ?? [])]) {
    const [name = '', url = ''] = pair.trim().split(/=(.*)/s);
    if (!REMOTE_NAME.test(name)) throw new ConfigProblem('SVC_SYNC_REMOTES: must look like name=url,name=url');
    const address = parseRemoteUrl(url, { allowFile: config.SVC_SYNC_ALLOW_FILE });
    if (typeof address === 'string')
      throw new ConfigProblem(`SVC_SYNC_REMOTES: the url of ${name} has a problem: ${address}`);
    addresses.set(name, address);
  }
  return addresses;
}

function hostIn(config: SyncVariables): Remote | null {
  const { HOST_REPO, HOST_TOKEN: token } = config;
  const address = HOST_REPO === undefined ? 'form' : parseRemoteUrl(hostUrl(config));
  if (token === undefined || typeof address === 'string') return null;
  return { name: DEFAULT_REMOTE, address, credential: { token }, ...mannerOf(config) };
}

/** How every remote is spoken to. */
function mannerOf(config: SyncVariables): Pick<Remote, 'silenceMs' | 'transferMs' | 'caFile'> {
  return {
    silenceMs: config.SVC_SYNC_SILENCE_MS,
    transferMs: config.SVC_SYNC_TRANSFER_MS,
    ...(config.SVC_SYNC_CA_FILE === undefined ? {} : { caFile: config.SVC_SYNC_CA_FILE }),
  };
}

function hostUrl({ SVC_HOST_URL: url, HOST_REPO: repository }: Pick<Config, 'SVC_HOST_URL' | 'HOST_REPO'>): string {
  return `${url}/${repository}.git`;
}
