/** Where brains sync to: set by operators, in the environment or by a call, never read from a file that travels. */
import { resolve } from 'node:path';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { Config } from '@svc/runtime/config.ts';
import { ConfigProblem } from '@svc/runtime/config.ts';
import { Breaker } from '../git/breaker.ts';
import type { Remote } from '../git/remote.ts';
import { type AddressProblem, parseRemoteUrl, type RemoteAddress } from '../git/remote-url.ts';
import type { NamedRemote, RemoteStore } from '../sync/remote-store.ts';
import { Transfers } from './transfers.ts';

export interface SyncSettings {
  /** Of every remote of the brain, of all brains without one; the default one first. */
  namesFor(brain: string | null): Promise<readonly string[]>;
  /** Where HOST_REPO lies, however the remotes are named; null = HOST_TOKEN or HOST_REPO is not set. */
  readonly host: Remote | null;
  /** Variables that it lacks. */
  readonly missing: readonly string[];
  /** The remote of that name as it concerns one brain; null when there is none. */
  remoteFor(brain: string, name: string): Promise<Remote | null>;
  /** Whether it can be a remote, with its address as git gets it; VAF_INPUT_INVALID has the `problem` in words. */
  judge(wish: NamedRemote): Decision<NamedRemote, 'E_REMOTE_TAKEN' | 'VAF_INPUT_INVALID'>;
  /** One per remote: it counts failures over all brains. */
  breakerFor(name: string): Breaker;
  /** Of all brains of this process. */
  readonly transfers: Transfers;
}

export const DEFAULT_REMOTE = 'origin';

/** Names the settings that are missing, so that whoever is told can tell the operator. */
export function noRemote(remote: string): Denial<'E_NOT_CONFIGURED'> {
  const settings = remote === DEFAULT_REMOTE ? ['SVC_SYNC_REMOTES', 'HOST_REPO'] : ['SVC_SYNC_REMOTES'];
  const ways = [...settings, 'svc_remote_addProvider'].join(' or ');
  const message = `No remote of this brain is named ${remote}; the operator sets it with ${ways}.`;
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

/**
 * The environment comes before what was named by a call. Throws ConfigProblem for a remote that cannot be used. `now`: ms
 * on a clock that never goes back.
 */
export function readSyncSettings(
  config: SyncVariables,
  named: Pick<RemoteStore, 'all' | 'find'>,
  now: () => number,
): SyncSettings {
  const addresses = addressesIn(config);
  const addressOf = async (brain: string, name: string): Promise<RemoteAddress | null> => {
    const remote = await named.find(name);
    if (remote === null || !isOf(remote, brain)) return null;
    // What was allowed when it was named may be so no more.
    const address = parseRemoteUrl(remote.url, { allowFile: config.SVC_SYNC_ALLOW_FILE });
    return typeof address === 'string' ? null : address;
  };
  const hostOrigin = new URL(config.SVC_HOST_URL).origin;
  const manner = mannerOf(config);
  const breakers = new Map<string, Breaker>();
  return {
    host: hostIn(config),
    missing: HOST_VARIABLES.filter((name) => config[name] === undefined),
    async namesFor(brain) {
      const others = (await named.all()).filter((remote) => brain === null || isOf(remote, brain));
      const names = [...new Set([...addresses.keys(), ...others.map(({ name }) => name)])];
      return names.sort((a, b) => Number(b === DEFAULT_REMOTE) - Number(a === DEFAULT_REMOTE));
    },
    transfers: new Transfers(config.SVC_SYNC_TRANSFERS, now),
    judge: (wish) => (addresses.has(wish.name) ? deny('E_REMOTE_TAKEN', { name: wish.name }) : judged(wish, config)),
    async remoteFor(brain, name) {
      const address = addresses.get(name) ?? (await addressOf(brain, name));
      if (address === null) return null;
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

function isOf({ brain: only }: NamedRemote, brain: string): boolean {
  return only === null || only === brain;
}

const PROBLEMS: Readonly<Record<AddressProblem, string>> = {
  credentials: 'config.url must not hold a user or a password',
  form: 'config.url must be the address of a repository, without a query or a fragment',
  transport: 'config.url must be an https or ssh address',
};

function judged(wish: NamedRemote, config: SyncVariables): Decision<NamedRemote, 'VAF_INPUT_INVALID'> {
  const wrong = (problem: string) => deny('VAF_INPUT_INVALID', { problem });
  if (!REMOTE_NAME.test(wish.name))
    return wrong('config.name of a git remote must be 1 to 32 letters, digits, underscores or dashes');
  const address = parseRemoteUrl(wish.url, { allowFile: config.SVC_SYNC_ALLOW_FILE });
  return typeof address === 'string' ? wrong(PROBLEMS[address]) : allow({ ...wish, url: address.url });
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
    ...(config.SVC_SYNC_CA_FILE === undefined ? {} : { caFile: resolve(config.SVC_SYNC_CA_FILE) }),
  };
}

function hostUrl({ SVC_HOST_URL: url, HOST_REPO: repository }: Pick<Config, 'SVC_HOST_URL' | 'HOST_REPO'>): string {
  return `${url}/${repository}.git`;
}
