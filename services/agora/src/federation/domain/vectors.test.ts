/** The bytes that every node computes alike. */
import { describe, expect, test } from 'vitest';
import { envelopeText, readEnvelope, signedBytes } from './envelope.ts';
import { createKeyring } from './keyring.ts';
import { ed25519Key, ed25519Signature, hmacSignature, isEd25519Signature, ledgerKey, pairKey } from './keys.ts';
import { identityOf } from './settings.ts';

const SECRET = 'correct horse battery staple';
const ENVELOPE = {
  body: { afterSeq: 0, topic: 'lunch' },
  from: 'alpha',
  keyId: 'hmac',
  nonce: 'AAECAwQFBgcICQoLDA0ODw',
  to: 'beta',
  ts: 1_790_000_000_000,
  type: 'topic.get',
  v: 1,
} as const;
const SIGNATURE = 'RyLjPhEwHBLp1dz909VeK3WsaCFULUwqKkpMs2mmzK4';

describe('keys between nodes', () => {
  test.each([
    [
      'alpha to beta',
      pairKey(SECRET, 'alpha', 'beta'),
      '7906bb871b3205b274988ecf7d82d0ef98573000e79ee094ed4531a89f87fb6e',
    ],
    [
      'beta to alpha',
      pairKey(SECRET, 'beta', 'alpha'),
      '99c0036e93177c17ca63db9fbacf3c03effcbf62d7a07e1812494e2766c5fb84',
    ],
    [
      'ledgers of alpha',
      ledgerKey(SECRET, 'alpha'),
      'ed700c37571fa1c163aca67ff5520a9a96640d5ebee88486da70562a12e9d749',
    ],
  ])('the key of %s', (_what, key, hex) => {
    expect(key.toString('hex')).toBe(hex);
  });

  test('the signature of an envelope', () => {
    expect(hmacSignature(pairKey(SECRET, 'alpha', 'beta'), signedBytes(ENVELOPE))).toBe(SIGNATURE);
  });

  test('an Ed25519 key from its seed, its id, and what it signs', () => {
    const key = ed25519Key(Buffer.alloc(32, 7).toString('base64url'));
    expect([key.publicKey, key.keyId]).toEqual(['6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw', 'fe812c12f3ab4ce6']);
    const signature = ed25519Signature(key, 'said');
    expect(isEd25519Signature(key.publicKey, 'said', signature)).toBe(true);
    expect(isEd25519Signature(key.publicKey, 'sAid', signature)).toBe(false);
  });

  test('a node signs and reads exactly these bytes', () => {
    const nodes = { SVC_NODE_PORT: 3457, SVC_NODE_SECRET: SECRET, SVC_NODE_AGENT_ID: 'ann' };
    const [alpha, beta] = ['alpha', 'beta'].map((name) => {
      const identity = identityOf({ ...nodes, SVC_NODE_NAME: name });
      if (identity === null) throw new Error('a node without identity');
      return createKeyring(identity);
    });
    const text = envelopeText(ENVELOPE, alpha?.signEnvelope('beta', signedBytes(ENVELOPE)) ?? '');
    const read = readEnvelope(text);
    if (typeof read === 'string') throw new Error(read);
    expect(read.envelope.sig).toBe(SIGNATURE);
    expect(beta?.isEnvelopeSigned(read.envelope, read.signed)).toBe(true);
  });
});
