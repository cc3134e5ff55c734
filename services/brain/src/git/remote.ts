/** The network stage: fetch and push. Runs outside every queue; moves only references under `refs/remotes/`. */
import { join } from 'node:path';
import { withJournal } from './journal.ts';
import { moveRefs, readRef, readRefs } from './refs.ts';
import type { RemoteAddress } from './remote-url.ts';
import { RemoteError, toRemoteError } from './remote-error.ts';
import { type Repository, RepositoryProblem } from './repository.ts';
import { configurationProblem } from './repository-config.ts';
import { branchRef, type GitCall, type GitOutput, objectId, refName } from './run.ts';

const NETWORK_TIMEOUT_MS = 120_000;
const ASKPASS = join(import.meta.dirname, 'askpass.sh');

/** A constant: git hands it to a shell, and appends host and path as arguments of their own. */
const SSH_COMMAND =
  'ssh -oBatchMode=yes -oConnectTimeout=20 -oStrictHostKeyChecking=yes -oClearAllForwardings=yes -oPermitLocalCommand=no';

const NETWORK_CONFIG = [
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  // always a pack: it is checked whole before any of it is kept
  'fetch.unpackLimit=1',
  'http.followRedirects=false',
  'http.sslVerify=true',
  'credential.helper=',
  'maintenance.auto=false',
];

export interface Remote {
  /** Names the tracking references: `refs/remotes/<name>/<branch>`. */
  readonly name: string;
  readonly address: RemoteAddress;
  /** Put before every branch name at the remote, with its slash: `brain/<brain>/`, or nothing. */
  readonly prefix?: string;
  readonly credential?: { readonly username?: string; readonly token: string };
  /** Certificates to trust instead of the system's. */
  readonly caFile?: string;
  readonly timeoutMs?: number;
}

export function trackingRef(remote: Remote, branch: string): string {
  return refName(`refs/remotes/${remote.name}/${branch}`);
}

/** Branch -> commit at the remote, as of the last fetch. */
export function readRemoteHeads(repository: Repository, remote: Remote): Promise<Map<string, string>> {
  return readRefs(repository, `${refName(`refs/remotes/${remote.name}`)}/`);
}

/** Brings the remote's branches under `refs/remotes/<name>/`; vanished ones go. Throws RemoteError. */
export async function fetchRemote(repository: Repository, remote: Remote): Promise<void> {
  const tracking = `${refName(`refs/remotes/${remote.name}`)}/`;
  const prefix = remotePrefix(remote);
  // the shared repository holds other brains' branches beside those of the default brain
  const others = prefix === '' ? ['^refs/heads/brain/*'] : [];
  await withJournal(repository, [tracking], () =>
    runNetwork(repository, remote, {
      args: [
        'fetch',
        '--no-tags',
        '--prune',
        '--no-write-fetch-head',
        '--no-recurse-submodules',
        '--no-auto-maintenance',
        '--no-show-forced-updates',
        '--refmap=',
        '--quiet',
        '--',
        remote.address.url,
        `+refs/heads/${prefix}*:${tracking}*`,
        ...others,
      ],
    }),
  );
  await repository.objectDirectories.fsyncChanged();
}

export type PushResult = 'pushed' | 'up-to-date' | 'moved';

/**
 * Pushes one commit to one branch, never forced. `moved`: the remote has commits that ours lacks, so fetch and integrate
 * first. Throws RemoteError.
 */
export async function pushBranch(
  repository: Repository,
  remote: Remote,
  { branch, commit, at }: { branch: string; commit: string; at: Date },
): Promise<PushResult> {
  const target = branchRef(`${remotePrefix(remote)}${branch}`);
  const { exitCode, stdout } = await runNetwork(repository, remote, {
    args: [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-signed',
      '--no-follow-tags',
      '--recurse-submodules=no',
      '--no-progress',
      '--',
      remote.address.url,
      `${objectId(commit)}:${target}`,
    ],
    answers: [0, 1],
  });
  const result = pushResult(exitCode, stdout.toString('utf8'), target);
  if (result !== 'moved') await track(repository, trackingRef(remote, branch), commit, at);
  return result;
}

function pushResult(exitCode: number, report: string, target: string): PushResult {
  const line = report.split('\n').find((candidate) => candidate.split('\t')[1]?.endsWith(`:${target}`));
  if (line === undefined) {
    if (exitCode === 0) return 'up-to-date';
    throw new RemoteError('E_REMOTE_UNREACHABLE', 'the remote gave no answer to the push');
  }
  if (!line.startsWith('!')) return line.startsWith('=') ? 'up-to-date' : 'pushed';
  const moved =
    /fetch first|non-fast-forward|stale info|failed to update ref|incorrect old value|cannot lock ref|reference already exists/;
  if (moved.test(line)) return 'moved';
  throw new RemoteError('E_REMOTE_REJECTED', 'the remote refuses the push');
}

/** The remote has the commit; a fetch that noted it first is no failure. */
async function track(repository: Repository, ref: string, commit: string, at: Date): Promise<void> {
  const from = await readRef(repository, ref);
  if (from !== commit) await moveRefs(repository, [{ ref, to: commit, from }], at);
}

function remotePrefix({ prefix = '' }: Remote): string {
  if (prefix !== '') branchRef(prefix.replace(/\/$/, ''));
  return prefix;
}

async function runNetwork(
  repository: Repository,
  remote: Remote,
  call: Pick<GitCall, 'args' | 'answers'>,
): Promise<GitOutput> {
  const { git, gitDir } = repository;
  // a setting for one host beats those of the command line, so none may have been added since the repository was opened
  const problem = await configurationProblem(git, gitDir);
  if (problem !== null) throw new RepositoryProblem('configuration', problem);
  try {
    return await git.run({
      ...call,
      gitDir,
      config: [...NETWORK_CONFIG, `protocol.${remote.address.transport}.allow=always`],
      env: networkEnvironment(remote),
      timeoutMs: remote.timeoutMs ?? NETWORK_TIMEOUT_MS,
    });
  } catch (error) {
    throw toRemoteError(error);
  }
}

function networkEnvironment({ address, credential, caFile }: Remote): Record<string, string> {
  const token = address.origin === null ? undefined : credential?.token;
  return {
    GIT_SSH_COMMAND: SSH_COMMAND,
    GIT_SSH_VARIANT: 'ssh',
    ...(caFile === undefined ? {} : { GIT_SSL_CAINFO: caFile }),
    ...(token === undefined || address.origin === null
      ? {}
      : {
          GIT_ASKPASS: ASKPASS,
          SVC_ASKPASS_ORIGIN: address.origin,
          SVC_ASKPASS_USER: credential?.username ?? 'x-access-token',
          SVC_ASKPASS_TOKEN: token,
        }),
  };
}
