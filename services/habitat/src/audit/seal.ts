/** The key that vouches for the audit. It never lies in the database, so whoever rules there cannot vouch for anything. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigProblem } from '@svc/runtime/config.ts';
import { auditKeyBytes } from '@svc/runtime/config-values.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type ChainEnd, macOf } from '../domain/audit-chain.ts';
import { syncDirectory } from './sync-directory.ts';

export interface Seal {
  /** Whose it is, for whoever must mend it. */
  readonly origin: string;
  sign(end: ChainEnd): string;
  /** Also when the other key that counts made it. */
  isSignatureOf(mac: string, end: ChainEnd): boolean;
  /** Another key counts too. */
  readonly isChanging: boolean;
  /** The signature is that of the other key, so it is to be replaced before that key counts no more. */
  isBorrowed(mac: string, end: ChainEnd): boolean;
}

const KEY_BYTES = 32;
const DIRECTORY = 'audit';
const KEY_FILE = 'key';

/** The directory of the audit below the data directory, made if need be; null where nothing can be written. */
export async function openAuditDirectory({ config, log }: Pick<Platform, 'config' | 'log'>): Promise<string | null> {
  const directory = join(resolve(config.SVC_DATA_DIR), DIRECTORY);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return directory;
  } catch (error) {
    log.warn({ err: error, directory }, 'no directory for the audit: its checkpoints go to the log alone');
    return null;
  }
}

/** The configured key, else the one in the directory, made at the first start. Throws ConfigProblem when there is neither. */
export async function openSeal(config: Platform['config'], directory: string | null): Promise<Seal> {
  const { SVC_AUDIT_KEY: configured, SVC_AUDIT_KEY_ALSO: other } = config;
  const also = other === undefined ? null : auditKeyBytes(other);
  if (configured !== undefined) return createSeal(auditKeyBytes(configured), 'SVC_AUDIT_KEY', also);
  if (directory === null) throw new ConfigProblem('SVC_AUDIT_KEY is needed where the data directory cannot be written');
  const file = join(directory, KEY_FILE);
  return createSeal(await keyIn(file), `the key in ${file}`, also);
}

/** Signs with `key`; `also` = a second one whose signatures count. */
export function createSeal(key: Buffer, origin = 'the key', also: Buffer | null = null): Seal {
  const isOf = (mac: string, end: ChainEnd, by: Buffer) => {
    const given = Buffer.from(mac);
    const right = Buffer.from(macOf(by, end));
    return given.length === right.length && timingSafeEqual(given, right);
  };
  const isBorrowed = (mac: string, end: ChainEnd) => also !== null && !isOf(mac, end, key) && isOf(mac, end, also);
  return {
    origin,
    isChanging: also !== null,
    sign: (end) => macOf(key, end),
    isSignatureOf: (mac, end) => isOf(mac, end, key) || isBorrowed(mac, end),
    isBorrowed,
  };
}

/** Made if there is none. Throws ConfigProblem when what lies there is less than a key, which others could guess. */
async function keyIn(file: string): Promise<Buffer> {
  const key = (await readFile(file).catch(nullWhenAbsent)) ?? (await makeKey(file));
  if (key.length >= KEY_BYTES) return key;
  throw new ConfigProblem(
    `${file} holds ${key.length} bytes and no key of the audit: put the one back that was there, or remove the file, and another key is made, under which what was signed before does not verify`,
  );
}

async function makeKey(file: string): Promise<Buffer> {
  // Two processes may start at once: the name is given to one complete file.
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  await writeFile(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx', flush: true });
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  // A key whose name is lost in a power cut leaves signatures that nobody can judge.
  await syncDirectory(dirname(file));
  return readFile(file);
}

/** The key that was made here before one was configured, and counts no more; null = there is none. */
export async function idleKeyOf({ SVC_AUDIT_KEY, SVC_DATA_DIR }: Platform['config']): Promise<string | null> {
  if (SVC_AUDIT_KEY === undefined) return null;
  const file = join(resolve(SVC_DATA_DIR), DIRECTORY, KEY_FILE);
  return (await readFile(file).catch(nullWhenAbsent)) === null ? null : file;
}

function nullWhenAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
