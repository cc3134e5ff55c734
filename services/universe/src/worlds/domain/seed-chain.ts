/** Seeds: each follows from the one above it by a hash, so that equal names have equal seeds on every node. */
import { hash } from 'node:crypto';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const NUL = Buffer.from([0]);
const DOMAIN = Buffer.concat([Buffer.from('svc-seedchain'), NUL]);
/** What nobody names goes by this one; the last byte keeps it apart from whatever can be named. */
const DEFAULT_UNIVERSE = 'svc-default-universe\u0001';
const MAX_UNIVERSE_BYTES = 256;

type UniverseSource = 'explicit' | 'environment' | 'default';

export interface Universe {
  readonly source: UniverseSource;
  /** Never shown. */
  readonly seed: Buffer;
  readonly fingerprint: string;
}

export interface UniverseWish {
  /** As the call names it. */
  readonly named?: string | undefined;
  /** As the node's environment names it. */
  readonly configured?: string | undefined;
}

function hashOf(...parts: readonly (Buffer | string)[]): Buffer {
  const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part));
  return hash('sha256', Buffer.concat(bytes), 'buffer');
}

function isUniverse(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes >= 1 && bytes <= MAX_UNIVERSE_BYTES && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

export function universeOf({ named, configured }: UniverseWish): Decision<Universe, 'E_SNAPSHOT_UNIVERSE'> {
  const text = named ?? configured;
  if (text !== undefined && !isUniverse(text)) return deny('E_SNAPSHOT_UNIVERSE');
  const seed = hashOf(DOMAIN, 'universe', NUL, text ?? DEFAULT_UNIVERSE);
  const source = named !== undefined ? 'explicit' : configured !== undefined ? 'environment' : 'default';
  return allow({ source, seed, fingerprint: hashOf(DOMAIN, 'fingerprint', NUL, seed).toString('hex') });
}

/** Of a plain world, whatever its name looks like. */
export function worldSeed({ seed }: Pick<Universe, 'seed'>, name: string): Buffer {
  return hashOf(seed, DOMAIN, 'scope', NUL, `world:${name}`);
}

/** Of a fork of the world with that seed. */
export function childSeed(parent: Buffer, child: string): Buffer {
  return hashOf(parent, DOMAIN, 'child', NUL, child);
}

const NUMBER_BYTES = 6;

/** From 0 up to, but without, `max`. */
export function numberOf(seed: Buffer, max: number, salt: string): number {
  return hashOf(seed, DOMAIN, 'int', NUL, salt).readUIntBE(0, NUMBER_BYTES) % max;
}
