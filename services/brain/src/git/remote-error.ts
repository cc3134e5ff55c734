/** What went wrong at a remote, told from git's exit and its (untranslated) words. */
import { GitError } from './run.ts';

export type RemoteCode =
  | 'E_REMOTE_UNREACHABLE'
  | 'E_REMOTE_AUTH'
  | 'E_REMOTE_REJECTED'
  | 'E_REMOTE_CORRUPT'
  | 'E_REMOTE_RACE';

export class RemoteError extends Error {
  readonly code: RemoteCode;
  /** Set while the breaker is open. */
  readonly retryAfterMs: number | null;

  constructor(code: RemoteCode, message: string, retryAfterMs: number | null = null) {
    super(message);
    this.name = 'RemoteError';
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

const AUTH =
  /authentication failed|could not read (?:username|password)|permission denied|returned error: 40[13]|terminal prompts disabled|access denied|invalid username/i;
const CORRUPT =
  /fsck|index-pack|unpack-objects|bad object|corrupt|inflate|bad pack|pack signature|missing blob|missing tree|did not send all necessary objects|invalid (?:pack|sha1|object)|protocol error|bad line length|unexpected line|malformed|unable to parse|expected .* got/i;
const CUT_OFF =
  /early eof|unexpected disconnect|hung up|connection reset|RPC failed|could not resolve|timed out|failed to connect|gnutls|openssl|ssl/i;

/** Git's own words go no further than the log: they may quote what the remote said. */
export function toRemoteError(error: unknown): unknown {
  if (!(error instanceof GitError)) return error;
  if (error.code === 'timeout') return new RemoteError('E_REMOTE_UNREACHABLE', 'the remote did not answer in time');
  if (error.code === 'output-limit') return new RemoteError('E_REMOTE_CORRUPT', 'the remote sent too much');
  if (error.code !== 'exit') return error;
  if (AUTH.test(error.stderr)) return new RemoteError('E_REMOTE_AUTH', 'the remote refuses the credential');
  if (CORRUPT.test(error.stderr) && !isCutOff(error.stderr)) {
    return new RemoteError('E_REMOTE_CORRUPT', 'the remote sent damaged or dangerous data');
  }
  return new RemoteError('E_REMOTE_UNREACHABLE', 'the remote cannot be reached');
}

/** A broken line also makes a broken pack; a complaint about an object's content is the remote's own. */
function isCutOff(stderr: string): boolean {
  return CUT_OFF.test(stderr) && !/fsck error|bad object|corrupt|inflate/i.test(stderr);
}
