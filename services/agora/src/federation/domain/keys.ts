/** Keys between nodes: derived from a secret for each ordered pair and each ledger, or Ed25519 where keys are configured. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign as signWith,
  timingSafeEqual,
  verify as verifyWith,
} from 'node:crypto';

/** Key id of everything that is signed with a key derived from a secret. */
export const HMAC = 'hmac';

const SALT = 'svc-agora-v1';
const KEY_BYTES = 32;
/** What comes before the 32 bytes of a seed, or of a public key, in the form that node:crypto reads (RFC 8410). */
const SEED_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

interface Ed25519Key {
  readonly keyId: string;
  /** base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

export interface NodeKeys {
  readonly secret: string;
  /** Accepted, never signed with. */
  readonly previous: string | null;
  /** Null = the node signs with keys derived from the secret. */
  readonly own: Ed25519Key | null;
}

function derived(secret: string, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, SALT, info, KEY_BYTES));
}

/** The key of what `from` says to `to`. */
export function pairKey(secret: string, from: string, to: string): Buffer {
  return derived(secret, `pair\0${from}\0${to}`);
}

/** The key of what a node says to everybody: its ledgers and its beacons. */
export function ledgerKey(secret: string, node: string): Buffer {
  return derived(secret, `ledger\0${node}`);
}

/** `seed`: 32 bytes in base64url. */
export function ed25519Key(seed: string): Ed25519Key {
  const der = Buffer.concat([SEED_PREFIX, Buffer.from(seed, 'base64url')]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKey = spki.subarray(PUBLIC_PREFIX.length);
  return { keyId: keyIdOf(publicKey), publicKey: publicKey.toString('base64url'), privateKey };
}

function keyIdOf(publicKey: Buffer): string {
  return hash('sha256', publicKey, 'hex').slice(0, 16);
}

/** `publicKey`: base64url. */
export function publicKeyId(publicKey: string): string {
  return keyIdOf(Buffer.from(publicKey, 'base64url'));
}

export function hmacSignature(key: Buffer, bytes: string): string {
  return createHmac('sha256', key).update(bytes).digest('base64url');
}

export function ed25519Signature({ privateKey }: Pick<Ed25519Key, 'privateKey'>, bytes: string): string {
  return signWith(null, Buffer.from(bytes), privateKey).toString('base64url');
}

/** In constant time; a signature has one text alone. */
export function isHmacSignature(key: Buffer, bytes: string, signature: string): boolean {
  const [expected, given] = [Buffer.from(hmacSignature(key, bytes)), Buffer.from(signature)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

export function isEd25519Signature(publicKey: string, bytes: string, signature: string): boolean {
  const given = Buffer.from(signature, 'base64url');
  if (given.toString('base64url') !== signature) return false;
  return verifyWith(null, Buffer.from(bytes), publicKeyObject(publicKey), given);
}

const objects = new Map<string, KeyObject>();
/** Keys are those of the environment, so there are few. */
function publicKeyObject(publicKey: string): KeyObject {
  const known = objects.get(publicKey);
  if (known !== undefined) return known;
  const der = Buffer.concat([PUBLIC_PREFIX, Buffer.from(publicKey, 'base64url')]);
  const object = createPublicKey({ key: der, format: 'der', type: 'spki' });
  objects.set(publicKey, object);
  return object;
}
