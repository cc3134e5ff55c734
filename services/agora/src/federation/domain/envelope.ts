/** What one node says to another: a signed envelope whose bytes are the canonical JSON of it, and nothing else. */
import { canonicalJson, canonicalOf } from '@svc/contract/canonical.ts';
import { z } from 'zod';

export const MAX_ENVELOPE_BYTES = 512 * 1024;
const MAX_ENVELOPE_DEPTH = 64;
/** Clocks of two nodes may differ by so much. */
export const MAX_SKEW_MS = 300_000;
/** Recipient of what is said to everybody. */
export const EVERYBODY = '*';

/** Why a message is dropped, in the order of the checks. */
export const REJECTIONS = [
  'size',
  'unknown',
  'misdirected',
  'stale',
  'signature',
  'replay',
  'schema',
  'quota',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

export const NODE_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** 16 bytes in base64url; the last character has two bits that mean something. */
const NONCE = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const MAX_SIGNATURE = 100;

const SignedEnvelope = z.strictObject({
  v: z.literal(1),
  from: z.string().regex(NODE_NAME),
  to: z.string().regex(/^(\*|[A-Za-z0-9_-]{1,64})$/),
  keyId: z.string().min(1).max(64),
  ts: z.int().min(0),
  nonce: z.string().regex(NONCE),
  type: z.string().min(1).max(64),
  body: z.record(z.string(), z.unknown()),
  sig: z.string().min(1).max(MAX_SIGNATURE),
});

export type SignedEnvelope = z.output<typeof SignedEnvelope>;
export type Envelope = Omit<SignedEnvelope, 'sig'>;

export interface ReadEnvelope {
  readonly envelope: SignedEnvelope;
  /** What its signature is over. */
  readonly signed: string;
  readonly bytes: number;
}

const SENDER = '"from":"';

/**
 * Whom a text names as its sender, told without reading it; null = it names nobody. In canonical JSON what follows the
 * sender are strings and numbers, in which no such key can stand.
 */
export function claimedSender(text: string): string | null {
  const at = text.lastIndexOf(SENDER);
  if (at < 0) return null;
  const from = at + SENDER.length;
  const name = text.slice(from, text.indexOf('"', from));
  return NODE_NAME.test(name) ? name : null;
}

/** What the signature of an envelope is over. */
export function signedBytes(envelope: Envelope): string {
  return `svc-agora-envelope\0${canonicalJson(envelope)}`;
}

export function envelopeText(envelope: Envelope, sig: string): string {
  return canonicalJson({ ...envelope, sig });
}

/** Text that somebody sent -> an envelope of the right form, whoever it is from. */
export function readEnvelope(text: string): ReadEnvelope | Extract<Rejection, 'size' | 'schema'> {
  if (text.length > MAX_ENVELOPE_BYTES || isTooDeep(text)) return 'size';
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_ENVELOPE_BYTES) return 'size';
  const parsed = SignedEnvelope.safeParse(jsonOf(text));
  if (!parsed.success) return 'schema';
  const { sig, ...envelope } = parsed.data;
  // One envelope has one text: what only parses to the same is another message.
  if (canonicalOf({ ...envelope, sig }) !== text) return 'schema';
  return { envelope: parsed.data, signed: signedBytes(envelope), bytes };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

const [QUOTE, ESCAPE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Before anything is parsed. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isInString) {
      if (unit === ESCAPE) at += 1;
      else if (unit === QUOTE) isInString = false;
    } else if (unit === QUOTE) isInString = true;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) depth += 1;
    else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1;
    if (depth > MAX_ENVELOPE_DEPTH) return true;
  }
  return false;
}

/** Who receives it, and what it knows of others. */
export interface Recipient {
  readonly name: string;
  readonly now: number;
  isPeer(node: string): boolean;
  isSigned(envelope: SignedEnvelope, signed: string): boolean;
}

/** The checks up to the signature, in their order; null = it is what it says it is. `to`: what it has to be addressed to. */
export function rejectionOf({ envelope, signed }: ReadEnvelope, recipient: Recipient, to: string): Rejection | null {
  const { from, ts } = envelope;
  if (from === recipient.name || !recipient.isPeer(from)) return 'unknown';
  if (envelope.to !== to) return 'misdirected';
  if (Math.abs(recipient.now - ts) > MAX_SKEW_MS) return 'stale';
  return recipient.isSigned(envelope, signed) ? null : 'signature';
}
