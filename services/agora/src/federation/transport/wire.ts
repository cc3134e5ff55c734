/** Where nodes reach each other, and how what they say is put into envelopes. */
import type { Clock, Random } from '@svc/runtime/clock.ts';
import { BETWEEN_DEPLOYMENTS } from '@svc/runtime/bus-subject.ts';
import { type Envelope, envelopeText, signedBytes } from '../domain/envelope.ts';
import type { Keyring } from '../domain/keyring.ts';

export const PRESENCE_SUBJECT = `${BETWEEN_DEPLOYMENTS}presence`;
export const subjectOf = (node: string): string => `${BETWEEN_DEPLOYMENTS}${node}.agora`;

const NONCE_BYTES = 16;

export interface Sealed {
  readonly text: string;
  readonly nonce: string;
}

export type Seal = (to: string, type: string, body: Readonly<Record<string, unknown>>) => Sealed;

/** Signs what this node says, each with a nonce of its own. */
export function createSeal(keyring: Keyring, { clock, random }: { clock: Clock; random: Random }): Seal {
  return (to, type, body) => {
    const nonce = random.bytes(NONCE_BYTES).toString('base64url');
    const { name: from, keyId } = keyring;
    const envelope: Envelope = { v: 1, from, to, keyId, ts: clock.now(), nonce, type, body };
    return { nonce, text: envelopeText(envelope, keyring.signEnvelope(to, signedBytes(envelope))) };
  };
}
