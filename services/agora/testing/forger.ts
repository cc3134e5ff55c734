/** Messages as whoever has a node's name, and some keys, can make them. */
import { systemRandom } from '@svc/runtime/clock.ts';
import { type Envelope, envelopeText, signedBytes } from '../src/federation/domain/envelope.ts';
import { createKeyring, type Keyring } from '../src/federation/domain/keyring.ts';
import { identityOf, type NodeVariables } from '../src/federation/domain/settings.ts';
import { SECRET } from './node-bed.ts';

/** A node that calls itself so, with these settings. */
export function impostor(name: string, over: Partial<NodeVariables> = {}): Keyring {
  const settings = { SVC_NODE_NAME: name, SVC_NODE_PORT: 1, SVC_NODE_SECRET: SECRET, SVC_NODE_AGENT_ID: 'eve' };
  const identity = identityOf({ ...settings, ...over });
  if (identity === null) throw new Error('an impostor without identity');
  return createKeyring(identity);
}

/** A question to alpha, signed by `by` whatever it says. */
export function forgedBy(by: Keyring, over: Partial<Envelope> = {}): string {
  const nonce = systemRandom.bytes(16).toString('base64url');
  const body = { topic: 'lunch', afterSeq: 0 };
  const whole = { v: 1, from: by.name, to: 'alpha', keyId: by.keyId, ts: Date.now(), nonce, type: 'topic.get', body };
  const envelope = { ...whole, ...over } as Envelope;
  return envelopeText(envelope, by.signEnvelope(envelope.to, signedBytes(envelope)));
}
