/** What can go wrong at a remote: one code for each thing that somebody can do about it, one kind for each cause. */
import type { RemoteAddress } from './remote-url.ts';
import type { TransferStage } from './transfer-output.ts';

export const REMOTE_CODES = {
  dns: 'E_REMOTE_UNREACHABLE',
  refused: 'E_REMOTE_UNREACHABLE',
  silent: 'E_REMOTE_UNREACHABLE',
  slow: 'E_REMOTE_UNREACHABLE',
  cut: 'E_REMOTE_UNREACHABLE',
  redirect: 'E_REMOTE_UNREACHABLE',
  http: 'E_REMOTE_UNREACHABLE',
  other: 'E_REMOTE_UNREACHABLE',
  certificate: 'E_REMOTE_TLS',
  authorities: 'E_REMOTE_TLS',
  handshake: 'E_REMOTE_TLS',
  'host-key': 'E_REMOTE_TLS',
  credential: 'E_REMOTE_AUTH',
  absent: 'E_REMOTE_ABSENT',
  full: 'E_REMOTE_FULL',
  hook: 'E_REMOTE_REJECTED',
  protected: 'E_REMOTE_REJECTED',
  policy: 'E_REMOTE_REJECTED',
  damaged: 'E_REMOTE_CORRUPT',
  excess: 'E_REMOTE_CORRUPT',
  format: 'E_REMOTE_CORRUPT',
} as const;

export type RemoteKind = keyof typeof REMOTE_CODES;
type RemoteCode = (typeof REMOTE_CODES)[RemoteKind];

interface RemoteCircumstances {
  /** What the remote itself said, cleaned; null = nothing. */
  readonly said?: string | null;
  /** How far the transfer was. */
  readonly stage?: TransferStage | null;
  /** Set while the breaker is open. */
  readonly retryAfterMs?: number | null;
  /** What git said, without a credential: for the operator's log alone, because it may name paths. */
  readonly detail?: string | null;
}

export class RemoteError extends Error {
  readonly code: RemoteCode;
  readonly kind: RemoteKind;
  readonly said: string | null;
  readonly stage: TransferStage | null;
  readonly retryAfterMs: number | null;
  readonly detail: string | null;

  /** `message` is shown to callers: it names the host, never a credential or a path. */
  constructor(kind: RemoteKind, message: string, circumstances: RemoteCircumstances = {}) {
    super(message);
    this.name = 'RemoteError';
    this.code = REMOTE_CODES[kind];
    this.kind = kind;
    this.said = circumstances.said ?? null;
    this.stage = circumstances.stage ?? null;
    this.retryAfterMs = circumstances.retryAfterMs ?? null;
    this.detail = circumstances.detail ?? null;
  }
}

/** What a refusal says of a remote. */
export interface RemotePlace {
  readonly name: string;
  readonly address: Pick<RemoteAddress, 'host'>;
  readonly credential?: unknown;
}

const DOING: Readonly<Record<TransferStage, string>> = {
  counting: 'counting objects',
  compressing: 'compressing objects',
  receiving: 'receiving objects',
  resolving: 'resolving deltas',
  writing: 'writing objects',
  unpacking: 'unpacking objects',
  checking: 'checking objects',
};

export interface Happening {
  readonly stage: TransferStage | null;
  /** Of the silence, or of the whole transfer; 0 = not ours. */
  readonly limitMs: number;
  /** What the remote or its protocol gave as the reason, in a few words. */
  readonly reason: string | null;
}

/** One sentence: what happened at which host, and which setting may help. */
export function sentenceOf(kind: RemoteKind, remote: RemotePlace, { stage, limitMs, reason }: Happening): string {
  const host = remote.address.host ?? `The remote ${remote.name}`;
  const because = reason === null ? '' : ` (${reason})`;
  const during = limitMs === 0 ? '' : ` for ${Math.round(limitMs / 100) / 10} s`;
  const sentences: Readonly<Record<RemoteKind, string>> = {
    dns: `The name ${host} cannot be resolved.`,
    refused: `${host} does not take the connection.`,
    silent: `${host} gave no sign of life${during}, ${
      stage === null ? 'before it answered anything' : `while ${DOING[stage]}`
    }.`,
    slow: `The transfer with ${host} went on${during} and was given up.`,
    cut: `${host} broke the connection off.`,
    redirect: `${host} redirects elsewhere, which is not followed; set its final address.`,
    http: `${host} answered with an error${because}.`,
    other: `${host} cannot be reached.`,
    certificate: `The certificate of ${host} is not trusted; SVC_SYNC_CA_FILE names authorities to trust.`,
    authorities: `${host} was not asked: the certificates in SVC_SYNC_CA_FILE cannot be read.`,
    handshake: `No secure connection to ${host} came about.`,
    'host-key': `The host key of ${host} is not known to ssh here.`,
    credential:
      remote.credential === undefined
        ? `${host} wants a credential; HOST_TOKEN is sent to SVC_HOST_URL alone.`
        : `${host} refuses the credential (HOST_TOKEN).`,
    absent: `${host} has no such repository, or does not show it to this credential.`,
    full: `${host} has no room for what was pushed.`,
    hook: `${host} refuses the push${because}.`,
    protected: `${host} protects the branch${because}.`,
    policy: `${host} refuses the push${because}.`,
    damaged: `${host} sent damaged or dangerous data${because}.`,
    excess: `${host} sent too much.`,
    format: `${host} has a repository of another object format${because} than brains have (sha1); it has to be made anew there.`,
  };
  return sentences[kind];
}
