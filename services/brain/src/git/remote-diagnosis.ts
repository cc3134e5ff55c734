/** Tells from git's exit and its (untranslated) words what went wrong at a remote. */
import { DiskRefusal } from '../files/durable-write.ts';
import { type Happening, RemoteError, type RemoteKind, type RemotePlace, sentenceOf } from './remote-error.ts';
import { GitError } from './run.ts';
import type { TransferStage } from './transfer-output.ts';

const SAID_BYTES = 1024;
/** Lines that come from the other side; everything else is git's own here and may quote an address or a path. */
const REMOTE_LINE = /^(?:remote: ?|(?=ERROR: ))(.*)$/;

export interface Attempt {
  readonly remote: RemotePlace & { readonly credential?: { readonly token: string } };
  readonly stage: TransferStage | null;
  readonly silenceMs: number;
  readonly timeoutMs: number;
  /** A transfer that brings something may fail at the disk here. */
  readonly brings: boolean;
}

/** What the remote said, without control characters and without our token, at most 1 KiB; null = nothing. */
export function remoteWords(stderr: string, token?: string): string | null {
  const lines = stderr.split(/[\r\n]/).flatMap((line) => {
    const clean = cleaned(REMOTE_LINE.exec(line)?.[1] ?? '');
    return clean === '' ? [] : [clean];
  });
  return shown(lines, token);
}

/** All that git said, cleaned like what the remote said. */
function ownWords(stderr: string, token?: string): string | null {
  return shown(stderr.split(/[\r\n]/).map(cleaned), token);
}

function shown(lines: readonly string[], token?: string): string | null {
  const text = lines.filter((line) => line !== '').join('\n');
  const safe = token === undefined || token === '' ? text : text.replaceAll(token, '***');
  return safe === '' ? null : bounded(safe);
}

/** Without what a terminal would obey: colours, clearing of lines, changes of direction. */
function cleaned(line: string): string {
  const plain = line.replace(/\u001B\[[0-9;]*[A-Za-z]/g, '').replace(/[\p{Cf}\p{Co}\p{Cn}]/gu, '');
  return plain.replace(/\p{Cc}/gu, ' ').trim();
}

function bounded(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= SAID_BYTES) return text;
  return new TextDecoder().decode(bytes.subarray(0, SAID_BYTES - 4), { stream: true }) + '…';
}

const LOCAL_DISK = /No space left on device|Disk quota exceeded|Read-only file system|Input\/output error/;
const LOCAL_REFUSAL =
  /insufficient permission|unable to (?:create|write|open|rename).*Permission denied|cannot lock ref.*Permission denied/;

const CORRUPT =
  /fsck|index-pack|unpack-objects|bad object|corrupt|inflate|bad pack|pack signature|missing blob|missing tree|did not send all necessary objects|invalid (?:pack|sha1|object)|protocol error|bad line length|unexpected line|malformed|unable to parse|expected .* got/i;
/** A complaint about what an object holds; a broken line gives none. */
const BAD_CONTENT = /fsck error|bad object|corrupt|inflate/i;

const FULL = /no space left on device|disk quota exceeded|quota exceeded|out of disk space/i;
const OTHER_FORMAT = /mismatched algorithms: client \w+; server (\w+)/;

/** The first that matches tells. */
const SIGNS: readonly (readonly [RegExp, RemoteKind])[] = [
  [OTHER_FORMAT, 'format'],
  [FULL, 'full'],
  [
    /authentication failed|could not read (?:username|password)|permission denied|returned error: 40[13]|terminal prompts disabled|access denied|invalid username|permission to .* denied/i,
    'credential',
  ],
  [/host key verification failed|no .* host key is known/i, 'host-key'],
  [/could not resolve/i, 'dns'],
  [
    /connection refused|couldn't connect to server|failed to connect|no route to host|network is unreachable/i,
    'refused',
  ],
  [/timed out|timeout/i, 'silent'],
  [
    /repository .*not found|does not appear to be a git repository|repository not found|returned error: 404|not found on this server|does not exist/i,
    'absent',
  ],
  [/returned error: 3\d\d|unable to update url base from redirection/i, 'redirect'],
  [/returned error: \d{3}/i, 'http'],
  [
    /early eof|unexpected disconnect|hung up|connection (?:was )?reset|connection closed|RPC failed|non-properly terminated|empty reply|recv error|SSL_read|SSL_ERROR_SYSCALL|broken pipe/i,
    'cut',
  ],
  [/problem with the SSL CA cert|error (?:setting certificate|adding trust anchors)/i, 'authorities'],
  [/certificate|CAfile/i, 'certificate'],
  [/gnutls|openssl|\bSSL\b|\bTLS\b|handshake/i, 'handshake'],
];
const CUT_OFF: ReadonlySet<RemoteKind> = new Set(['cut', 'dns', 'refused', 'silent', 'certificate', 'handshake']);

/** What to throw for a failed run of git over the network. */
export function diagnose(error: unknown, attempt: Attempt): unknown {
  if (!(error instanceof GitError)) return error;
  const stderr = withoutNames(error.stderr);
  const { silenceMs, timeoutMs } = attempt;
  switch (error.code) {
    case 'silence':
      return remoteError('silent', attempt, { stderr, limitMs: silenceMs });
    case 'timeout':
      return remoteError('slow', attempt, { stderr, limitMs: timeoutMs });
    case 'output-limit':
      return remoteError('excess', attempt, { stderr });
    case 'exit':
      return ofExit(stderr, attempt);
    default:
      return error;
  }
}

/** What git did before it failed: a branch or a repository may have a name that reads like a complaint. */
const DONE_LINE = /^(?:From | [-+*t= ] .* -> )/;

function withoutNames(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => !DONE_LINE.test(line))
    .join('\n');
}

function ofExit(stderr: string, attempt: Attempt): Error {
  const atDisk = attempt.brings ? complaintOfDisk(stderr) : undefined;
  if (atDisk !== undefined) return new DiskRefusal(atDisk);
  return remoteError(kindOf(stderr), attempt, { stderr, reason: reasonIn(stderr) });
}

/** What an object is refused for, by git's name of it, or the format of all of them, or the status of an answer. */
function reasonIn(stderr: string): string | null {
  const format = OTHER_FORMAT.exec(stderr)?.[1];
  if (format !== undefined) return format;
  const flaw = /^error: object [0-9a-f]{40}: (\w+): /m.exec(stderr)?.[1];
  if (flaw !== undefined) return flaw;
  const status = /returned error: (\d{3})/.exec(stderr)?.[1];
  return status === undefined ? null : `HTTP ${status}`;
}

/** Of this machine: what the remote says of its own disk stands in lines of its own. */
function complaintOfDisk(stderr: string): string | undefined {
  const own = stderr.split('\n').filter((line) => !REMOTE_LINE.test(line));
  return own.find((line) => LOCAL_DISK.test(line) || LOCAL_REFUSAL.test(line));
}

function kindOf(stderr: string): RemoteKind {
  const sign = SIGNS.find(([pattern]) => pattern.test(stderr))?.[1] ?? 'other';
  if (sign === 'credential' || sign === 'full' || !CORRUPT.test(stderr)) return sign;
  return CUT_OFF.has(sign) && !BAD_CONTENT.test(stderr) ? sign : 'damaged';
}

/** A push that the remote did not take; `reason` is what the report says in brackets. */
export function refusedPush(reason: string, stderr: string, attempt: Attempt): RemoteError {
  const words = remoteWords(reason === '' ? '' : `remote: ${reason}`, attempt.remote.credential?.token);
  const isFull = FULL.test(stderr);
  const kind = isFull ? 'full' : /protect|rule/i.test(reason) ? 'protected' : /hook/i.test(reason) ? 'hook' : 'policy';
  return remoteError(kind, attempt, { stderr, reason: words });
}

export function remoteError(
  kind: RemoteKind,
  { remote, stage }: Attempt,
  { stderr, ...happening }: Partial<Happening> & { readonly stderr: string },
): RemoteError {
  const sentence = sentenceOf(kind, remote, { limitMs: 0, reason: null, ...happening, stage });
  const token = remote.credential?.token;
  return new RemoteError(kind, sentence, { said: remoteWords(stderr, token), stage, detail: ownWords(stderr, token) });
}
