/** What an error of `pg` or the socket below says about the database, told by its codes. */

/** A standby, or a server or session that was told to change nothing. */
const READ_ONLY = '25006';
/** Shutdown, crash, starting up, too many connections, none taken for a while, no writes taken. */
const SQLSTATE_AWAY = ['57P01', '57P02', '57P03', '53300', '55000', READ_ONLY];
const SOCKET_AWAY = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'connect ENOENT', // the unix socket is gone; a plain ENOENT is somebody's missing file
];
/** A session ended by its time: idle in a transaction, in one transaction, idle. */
const SQLSTATE_TIME_OVER = ['25P03', '25P04', '57P05'];
/**
 * The password, the role or its rights are others meanwhile, or the database has gone, or what was in it: what mends it is
 * done at the server.
 */
const SQLSTATE_TURNED_AWAY = ['28P01', '28000', '42501', '3D000', '3F000', '42P01'];
/** Of the TLS below: a certificate that has expired or that nobody here trusts, and what is no handshake. */
const TLS_FAILED = /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH$)/;
const AWAY_CODES = new Set([...SQLSTATE_AWAY, ...SQLSTATE_TIME_OVER, ...SQLSTATE_TURNED_AWAY, ...SOCKET_AWAY]);
/** SQLSTATE class 08: connection exceptions. */
const CONNECTION_SQLSTATE = /^08[0-9A-Z]{3}$/;
/** `pg` gives these no code. */
const AWAY_MESSAGE =
  /^The server does not support SSL|^There was an error establishing an SSL|^Connection terminated|^timeout expired|^Client has encountered a connection error|^Client was closed|^Cannot use a pool after calling end/;
const POOL_WAIT_MESSAGE = /^timeout exceeded when trying to connect/;
/**
 * What an unforeseen failure of the server is called, such as the one of a session that cannot begin because its disk is full.
 * When it ends the session it is none of the statement.
 */
const SERVER_FAILED = 'XX000';
const CONFLICT_CODES = new Set(['40001', '40P01']);
const IN_FAILED_TRANSACTION = '25P02';
const CANCELLED = '57014';
const LOCK_NOT_AVAILABLE = '55P03';
const UNSTORABLE_CODES = new Set(['22021', '22P05']);
const MAX_DEPTH = 6;

/** The server is there and does not let this process in: what waiting alone does not mend. */
export function isTurnedAway(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.some((code) => SQLSTATE_TURNED_AWAY.includes(code)));
}

/** The session takes no writes: one that began while its login or database was told so does not for as long as it lives. */
export function isReadOnly(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.includes(READ_ONLY));
}

/** No byte came for longer than is waited for. */
export function isSilence(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.includes('ETIMEDOUT'));
}

/** The database cannot be reached, or the connection to it was lost. */
export function isDatabaseAway(error: unknown): boolean {
  return layersOf(error).some(
    ({ codes, message, isEndOfSession }) =>
      codes.some((code) => AWAY_CODES.has(code) || CONNECTION_SQLSTATE.test(code) || TLS_FAILED.test(code)) ||
      (isEndOfSession && codes.includes(SERVER_FAILED)) ||
      AWAY_MESSAGE.test(message),
  );
}

/** A NUL in a text, bare or written as \u0000 in JSON: nothing that PostgreSQL could keep or find. */
export function isUnstorableText(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.some((code) => UNSTORABLE_CODES.has(code)));
}

/** Serialization failure or deadlock: rolled back, worth another attempt. */
export function isConflict(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.some((code) => CONFLICT_CODES.has(code)));
}

/** Somebody else kept the lock for longer than this session waits for one. */
export function isLockTaken(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.includes(LOCK_NOT_AVAILABLE));
}

/** A statement before this one has failed, which says why. */
export function isAfterFailure(error: unknown): boolean {
  return layersOf(error).some(({ codes }) => codes.includes(IN_FAILED_TRANSACTION));
}

/** There was no connection in time, or the server gave a statement up: at its time, or because an operator cancelled it. */
export function isOutOfTime(error: unknown): boolean {
  return layersOf(error).some(({ codes, message }) => codes.includes(CANCELLED) || POOL_WAIT_MESSAGE.test(message));
}

interface ErrorLayer {
  readonly codes: string[];
  readonly message: string;
  /** The server has closed the connection with it. */
  readonly isEndOfSession: boolean;
  /** The call of the system that failed. */
  readonly syscall: string | null;
  /** What a program said that was run, and the files that a call was about. */
  readonly texts: string[];
}

/** An error and what it wraps. */
export function layersOf(error: unknown): ErrorLayer[] {
  const layers: ErrorLayer[] = [];
  for (let at = error, depth = 0; isRecord(at) && depth < MAX_DEPTH; depth += 1) {
    const { code, syscall, message, severity, cause, stderr, path } = at;
    layers.push({
      codes: [code, `${String(syscall)} ${String(code)}`].filter((item) => typeof item === 'string'),
      message: typeof message === 'string' ? message : '',
      isEndOfSession: severity === 'FATAL' || severity === 'PANIC',
      syscall: typeof syscall === 'string' ? syscall : null,
      texts: [stderr, path].filter((item) => typeof item === 'string'),
    });
    at = cause;
  }
  return layers;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
