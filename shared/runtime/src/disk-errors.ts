/** What an error says about the disk below it, whoever met it: a call of ours, git in its own words, or the database. */
import { CallError, type ErrorDetails, Refusal } from '@svc/contract/codes.ts';
import { layersOf } from './database-errors.ts';

export type DiskReason = 'no space' | 'read-only' | 'permission' | 'fault';

export interface DiskTrouble {
  readonly reason: DiskReason;
  /** The part of the data directory that it hit, as far as the error tells. */
  readonly place: string | null;
}

/** The disk refused; everything is as it was before the call. */
export class DiskRefusal extends Error {}

const REASON_OF_CODE: Readonly<Record<string, DiskReason>> = {
  ENOSPC: 'no space',
  EDQUOT: 'no space',
  EROFS: 'read-only',
  EACCES: 'permission',
  EPERM: 'permission',
  EIO: 'fault',
  // SQLSTATE: disk_full, io_error
  '53100': 'no space',
  '58030': 'fault',
};
/** Calls that are refused for reasons that no disk has. */
const NO_DISK = new Set(['connect', 'listen', 'bind', 'kill', 'spawn', 'setuid', 'setgid']);
const REASON_OF_TEXT: readonly (readonly [RegExp, DiskReason])[] = [
  [/No space left on device|Disk quota exceeded/, 'no space'],
  [/Read-only file system/, 'read-only'],
  // What ssh says about a credential, `Permission denied (publickey)`, is about no file.
  [/Permission denied(?! \()|Operation not permitted|insufficient permission/, 'permission'],
  // Of a file that git has opened and checks out it does not say why.
  [/Input\/output error|unable to write file/, 'fault'],
];
const PLACES = /[/\\](brains|worktrees|journal|cache|backups|database|audit)(?:[/\\]|\b)/;

/** Null when the error is not about the disk, or is an answer already. */
export function diskTroubleOf(error: unknown): DiskTrouble | null {
  if (error instanceof CallError || error instanceof Refusal) return null;
  for (const { codes, syscall, message, texts } of layersOf(error)) {
    const told = syscall !== null && NO_DISK.has(syscall) ? undefined : codes.find((code) => code in REASON_OF_CODE);
    const reason = told === undefined ? reasonIn(texts) : REASON_OF_CODE[told];
    if (reason === undefined || reason === null) continue;
    const place = /^53|^58/.test(told ?? '') ? 'database' : placeIn([...texts, message]);
    return { reason, place };
  }
  return error instanceof DiskRefusal ? { reason: 'fault', place: null } : null;
}

function reasonIn(texts: readonly string[]): DiskReason | null {
  for (const text of texts) {
    const found = REASON_OF_TEXT.find(([pattern]) => pattern.test(text));
    if (found !== undefined) return found[1];
  }
  return null;
}

function placeIn(texts: readonly string[]): string | null {
  for (const text of texts) {
    const [, place] = PLACES.exec(text) ?? [];
    if (place !== undefined) return place;
  }
  return null;
}

/** The typed refusal of a change that the disk did not take; null when the error is about something else. */
export function diskRefusalOf(error: unknown): Refusal | null {
  const trouble = diskTroubleOf(error);
  if (trouble === null) return null;
  const { reason, place } = trouble;
  const details: ErrorDetails = { reason, ...(place === null ? {} : { place }) };
  const message = `The disk refused the write (${diskTroubleText(trouble)}); nothing changed.`;
  return new Refusal('E_STATE_WRITE', details, message);
}

export function diskTroubleText({ reason, place }: DiskTrouble): string {
  return place === null ? reason : `${reason}, in ${place}`;
}
