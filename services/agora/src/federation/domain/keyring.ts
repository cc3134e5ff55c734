/** Signs in the name of this node and knows whose signatures count, whichever kind of key they are made with. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { EVERYBODY, type SignedEnvelope } from './envelope.ts';
import {
  ed25519Signature,
  HMAC,
  hmacSignature,
  isEd25519Signature,
  isHmacSignature,
  ledgerKey,
  pairKey,
  publicKeyId,
} from './keys.ts';
import { LOCAL, type NodeIdentity } from './settings.ts';

type LedgerLabel =
  | 'svc-agora-header'
  | 'svc-agora-ballot'
  | 'svc-agora-entry'
  | 'svc-agora-decision'
  | 'svc-agora-binding';

/** What a ledger needs of the node it belongs to. */
export interface NodeSigner {
  /** `local` while the node has no name. */
  readonly name: string;
  /** The node's voting principal. */
  readonly agentId: string | null;
  /** base64url, over the label, a NUL byte and the canonical JSON; null while the node has no name. */
  sign(label: LedgerLabel, value: unknown): string | null;
  verify(node: string, label: LedgerLabel, value: unknown, signature: string): boolean;
}

export interface Keyring extends NodeSigner {
  /** Of what this node signs. */
  readonly keyId: string;
  signEnvelope(to: string, signed: string): string;
  isEnvelopeSigned(envelope: Pick<SignedEnvelope, 'from' | 'to' | 'keyId' | 'sig'>, signed: string): boolean;
  /** Whether that was said to everybody by this node, or by another one that has its key. */
  isOwnEnvelope(envelope: Pick<SignedEnvelope, 'sig'>, signed: string): boolean;
  /** Whether a node of that name may become known by saying that it is there; else it has to be configured. */
  mayAnnounce(node: string): boolean;
}

/** So many derived keys are kept; beyond it the memory starts anew. */
const MAX_KEYS = 10_000;

export function createKeyring({ name, agentId, keys, peers }: NodeIdentity): Keyring {
  const keyFor = rememberedKeys();
  const group = [keys.secret, ...(keys.previous === null ? [] : [keys.previous])];

  const isSaid = (from: string, to: string, keyId: string, bytes: string, signature: string): boolean => {
    const peer = peers.get(from);
    if (peer?.publicKey !== undefined) {
      return keyId === publicKeyId(peer.publicKey) && isEd25519Signature(peer.publicKey, bytes, signature);
    }
    if (keys.own !== null || keyId !== HMAC) return false;
    const secrets = to === EVERYBODY || peer?.secret === undefined ? group : [peer.secret];
    return secrets.some((secret) => isHmacSignature(keyFor(secret, from, to), bytes, signature));
  };
  const signTo = (to: string, bytes: string): string => {
    if (keys.own !== null) return ed25519Signature(keys.own, bytes);
    const secret = (to === EVERYBODY ? undefined : peers.get(to)?.secret) ?? keys.secret;
    return hmacSignature(keyFor(secret, name, to), bytes);
  };
  /** With a key of its own nothing else: everybody who has the secret could sign what the node signed before with that. */
  const isOwn = (bytes: string, signature: string): boolean =>
    keys.own === null
      ? group.some((secret) => isHmacSignature(keyFor(secret, name, EVERYBODY), bytes, signature))
      : isEd25519Signature(keys.own.publicKey, bytes, signature);

  return {
    name,
    agentId,
    keyId: keys.own?.keyId ?? HMAC,
    sign: (label, value) => signTo(EVERYBODY, labelled(label, value)),
    verify(node, label, value, signature) {
      const bytes = labelled(label, value);
      if (node === name) return isOwn(bytes, signature);
      const publicKey = peers.get(node)?.publicKey;
      return isSaid(node, EVERYBODY, publicKey === undefined ? HMAC : publicKeyId(publicKey), bytes, signature);
    },
    signEnvelope: signTo,
    isEnvelopeSigned: ({ from, to, keyId, sig }, signed) => isSaid(from, to, keyId, signed, sig),
    isOwnEnvelope: ({ sig }, signed) => isOwn(signed, sig),
    mayAnnounce: (node) => (keys.own === null ? true : peers.get(node)?.publicKey !== undefined),
  };
}

function labelled(label: LedgerLabel, value: unknown): string {
  return `${label}\0${canonicalJson(value)}`;
}

function rememberedKeys(): (secret: string, from: string, to: string) => Buffer {
  const known = new Map<string, Buffer>();
  return (secret, from, to) => {
    const id = `${from}\0${to}\0${secret}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const key = to === EVERYBODY ? ledgerKey(secret, from) : pairKey(secret, from, to);
    if (known.size >= MAX_KEYS) known.clear();
    known.set(id, key);
    return key;
  };
}

/** Of a deployment that is no node: what it decides never leaves it, and nobody signs for it. */
export const UNNAMED_SIGNER: NodeSigner = {
  name: LOCAL,
  agentId: null,
  sign: () => null,
  verify: () => false,
};
