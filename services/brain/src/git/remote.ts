/** The network stage: fetch and push. Runs outside every queue; moves only references under `refs/remotes/`. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withJournal } from './journal.ts';
import { moveRefs, readRef, readRefs } from './refs.ts';
import type { RemoteAddress } from './remote-url.ts';
import { type Attempt, diagnose, refusedPush, remoteError } from './remote-diagnosis.ts';
import { RemoteError } from './remote-error.ts';
import { type Repository, RepositoryProblem } from './repository.ts';
import { configurationProblem } from './repository-config.ts';
import { branchRef, type Git, type GitCall, type GitOutput, objectId, refName } from './run.ts';
import type { TransferWatch } from './spawner.ts';
import { askGit } from './spoken-protocol.ts';
import { withoutTornPacks } from './torn-packs.ts';
import type { TransferStage } from './transfer-output.ts';

const SILENCE_MS = 15_000;
const TRANSFER_MS = 30 * 60_000;
const NO_REPOSITORY = '/nonexistent';
const ASKPASS = join(import.meta.dirname, 'askpass.sh');

/** A constant: git hands it to a shell, and appends host and path as arguments of their own. */
const SSH_COMMAND =
  'ssh -oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=5 -oStrictHostKeyChecking=yes -oClearAllForwardings=yes -oPermitLocalCommand=no';

const NETWORK_CONFIG = [
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  // Harmless, and in many a history that git itself, or a tool of its day, wrote long ago.
  ...['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode'].map((flaw) => `fetch.fsck.${flaw}=ignore`),
  // always a pack: it is checked whole before any of it is kept
  'fetch.unpackLimit=1',
  'http.followRedirects=false',
  'http.sslVerify=true',
  'credential.helper=',
  'maintenance.auto=false',
  // the report of a push names commits whole
  'core.abbrev=40',
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
  /** How long it may say nothing; default 15 s. */
  readonly silenceMs?: number;
  /** How long one transfer may take; default 30 min. */
  readonly transferMs?: number;
}

export function trackingRef(remote: Remote, branch: string): string {
  return refName(`refs/remotes/${remote.name}/${branch}`);
}

/** Branch -> commit at the remote, as of the last fetch. */
export function readRemoteHeads(repository: Repository, remote: Remote): Promise<Map<string, string>> {
  return readRefs(repository, `${refName(`refs/remotes/${remote.name}`)}/`);
}

/** Brings the remote's branches under `refs/remotes/<name>/`; vanished ones go. Throws RemoteError, DiskRefusal. */
export async function fetchRemote(repository: Repository, remote: Remote, watch: TransferWatch = {}): Promise<void> {
  const tracking = `${refName(`refs/remotes/${remote.name}`)}/`;
  const prefix = remotePrefix(remote);
  // the shared repository holds other brains' branches beside those of the default brain
  const others = prefix === '' ? ['^refs/heads/brain/*'] : [];
  const fetch = (env: Readonly<Record<string, string>>): Promise<GitOutput> =>
    runNetwork(repository, remote, {
      brings: true,
      watch,
      env,
      args: [
        'fetch',
        '--progress',
        '--no-tags',
        '--prune',
        '--no-write-fetch-head',
        '--no-recurse-submodules',
        '--no-auto-maintenance',
        '--no-show-forced-updates',
        '--refmap=',
        '--',
        remote.address.url,
        `+refs/heads/${prefix}*:${tracking}*`,
        ...others,
      ],
    });
  const asked = () => askRemote(remote, (env) => pastWhatPasses(() => fetch(env)));
  const { isGit } = await withJournal(repository, [tracking], () => withoutTornPacks(repository, asked));
  await repository.objectDirectories.fsyncChanged();
  if (!isGit && (await readRemoteHeads(repository, remote)).size === 0) throw notGit(attemptOn(remote, true));
}

/** Only over http may something else answer without an error. */
function askRemote(
  { address }: Remote,
  ask: (environment: Readonly<Record<string, string>>) => Promise<GitOutput>,
): ReturnType<typeof askGit<GitOutput>> {
  return address.origin === null ? ask({}).then((value) => ({ value, isGit: true })) : askGit(ask);
}

const notGit = (attempt: Attempt): Error => remoteError('absent', attempt, { stderr: '' });

const PASSING = [
  // Git looks at the heads of all working trees; while one is being made, its head is an object that nobody has.
  /bad object worktrees\/[^\n]+\/HEAD/,
  // Another fetch, or a push, has moved it meanwhile.
  /cannot lock ref 'refs\/remotes\/[^']+': (?:is at [0-9a-f]+ but expected|Unable to create)/,
];
const PASSES_WITHIN_MS = 2000;
const LOOK_AGAIN_MS = 50;

async function pastWhatPasses(fetch: () => Promise<GitOutput>): Promise<GitOutput> {
  const giveUpAt = performance.now() + PASSES_WITHIN_MS;
  for (;;) {
    try {
      return await fetch();
    } catch (error) {
      const isPassing = error instanceof RemoteError && PASSING.some((said) => said.test(error.detail ?? ''));
      if (!isPassing || performance.now() >= giveUpAt) throw error;
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

export interface Pushed {
  /** `moved`: the remote has commits that ours lacks, so fetch and integrate first. */
  readonly result: 'pushed' | 'up-to-date' | 'moved';
  /** Where the remote's branch was; null when it is new there or did not move. */
  readonly replaced: string | null;
}

/** Pushes one commit to one branch, never forced. Throws RemoteError. */
export async function pushBranch(
  repository: Repository,
  remote: Remote,
  { branch, commit, at, watch = {} }: { branch: string; commit: string; at: Date; watch?: TransferWatch },
): Promise<Pushed> {
  const target = branchRef(`${remotePrefix(remote)}${branch}`);
  const { exitCode, stdout, stderr } = await runNetwork(repository, remote, {
    brings: false,
    watch,
    args: [
      'push',
      '--porcelain',
      '--no-verify',
      '--no-signed',
      '--no-follow-tags',
      '--recurse-submodules=no',
      '--progress',
      '--',
      remote.address.url,
      `${objectId(commit)}:${target}`,
    ],
    answers: [0, 1],
  });
  const pushed = pushReport({ exitCode, report: stdout.toString('utf8'), stderr }, target, attemptOn(remote, false));
  if (pushed.result !== 'moved') await track(repository, trackingRef(remote, branch), commit, at);
  return pushed;
}

const MOVED =
  /fetch first|non-fast-forward|stale info|failed to update ref|incorrect old value|cannot lock ref|reference already exists/;

function pushReport(
  { exitCode, report, stderr }: { exitCode: number; report: string; stderr: string },
  target: string,
  attempt: Attempt,
): Pushed {
  const line = report.split('\n').find((candidate) => candidate.split('\t')[1]?.endsWith(`:${target}`));
  if (line === undefined) {
    if (exitCode === 0) return { result: 'up-to-date', replaced: null };
    throw remoteError('cut', attempt, { stderr });
  }
  if (!line.startsWith('!')) {
    const replaced = /\t([0-9a-f]{40})\.\.[0-9a-f]{40}/.exec(line)?.[1] ?? null;
    return { result: line.startsWith('=') ? 'up-to-date' : 'pushed', replaced };
  }
  const refusal = refusedPush(/\(([^()]*)\)\s*$/.exec(line)?.[1] ?? '', stderr, attempt);
  if (refusal.kind !== 'full' && MOVED.test(line)) return { result: 'moved', replaced: null };
  throw refusal;
}

/** The remote has the commit; a fetch that noted it first is no failure. */
async function track(repository: Repository, ref: string, commit: string, at: Date): Promise<void> {
  const from = await readRef(repository, ref);
  if (from !== commit) await moveRefs(repository, [{ ref, to: commit, from }], at);
}

/** How many branches it shows to this credential. Needs no repository here. Throws RemoteError. */
export async function countRemoteBranches(git: Git, remote: Remote, withinMs: number): Promise<number> {
  const attempt = { remote, stage: null, brings: false, silenceMs: withinMs, timeoutMs: withinMs };
  try {
    const { value, isGit } = await askRemote(remote, (env) =>
      git.run({
        args: ['ls-remote', '--heads', '--', remote.address.url],
        gitDir: NO_REPOSITORY,
        cwd: '/',
        config: [...NETWORK_CONFIG, `protocol.${remote.address.transport}.allow=always`],
        env: { ...networkEnvironment(remote), ...env },
        timeoutMs: withinMs,
      }),
    );
    const branches = value.stdout.toString('utf8').split('\n').filter(Boolean).length;
    if (!isGit && branches === 0) throw notGit(attempt);
    return branches;
  } catch (error) {
    throw diagnose(error, attempt);
  }
}

function remotePrefix({ prefix = '' }: Remote): string {
  if (prefix !== '') branchRef(prefix.replace(/\/$/, ''));
  return prefix;
}

function attemptOn(remote: Remote, brings: boolean, stage: TransferStage | null = null): Attempt {
  const { silenceMs = SILENCE_MS, transferMs = TRANSFER_MS } = remote;
  return { remote, stage, brings, silenceMs, timeoutMs: transferMs };
}

interface NetworkCall {
  readonly brings: boolean;
  readonly watch: TransferWatch;
}

async function runNetwork(
  repository: Repository,
  remote: Remote,
  { brings, watch, env, ...call }: Pick<GitCall, 'args' | 'answers' | 'env'> & NetworkCall,
): Promise<GitOutput> {
  const { git, gitDir } = repository;
  // a setting for one host beats those of the command line, so none may have been added since the repository was opened
  const problem = await configurationProblem(git, gitDir);
  if (problem !== null) throw new RepositoryProblem('configuration', problem);
  let stage: TransferStage | null = null;
  const { silenceMs, timeoutMs } = attemptOn(remote, brings);
  try {
    return await git.run({
      ...call,
      gitDir,
      config: [...NETWORK_CONFIG, `protocol.${remote.address.transport}.allow=always`],
      env: { ...networkEnvironment(remote), ...env },
      timeoutMs,
      transfer: {
        silenceMs,
        ...watch,
        onProgress: (progress) => {
          ({ stage } = progress);
          watch.onProgress?.(progress);
        },
      },
    });
  } catch (error) {
    throw diagnose(error, attemptOn(remote, brings, stage));
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
