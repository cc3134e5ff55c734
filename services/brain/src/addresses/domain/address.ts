/** Where data is found by what it is: equal data has one address, on every node. */
import { hash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { barcodeOf } from './barcode.ts';

/** SHA-256 in hex, but for tests in which different texts shall collide. */
export type Digest = (text: string) => string;

export const sha256: Digest = (text) => hash('sha256', text, 'hex');

/** Data as it is hashed and kept: a text as its own UTF-8, everything else as canonical JSON. */
export interface Addressed {
  readonly barcode: string;
  readonly sha256: string;
  readonly form: 'text' | 'json';
  readonly text: string;
  /** Of the text as UTF-8. */
  readonly bytes: number;
}

export function addressOf(data: unknown, digest: Digest = sha256): Addressed {
  const form = typeof data === 'string' ? 'text' : 'json';
  const text = typeof data === 'string' ? data : canonicalJson(data);
  const hashed = digest(text);
  return { barcode: barcodeOf(hashed), sha256: hashed, form, text, bytes: Buffer.byteLength(text) };
}

/** What lies under an address. */
export type StoredObject = Pick<Addressed, 'sha256' | 'form' | 'text'>;

/** Whether it is there already. A text, and data that is written like it, have one hash and are not the same. */
export function decideStore(
  stored: Pick<StoredObject, 'sha256' | 'form'> | null,
  { barcode, sha256: hashed, form }: Pick<Addressed, 'barcode' | 'sha256' | 'form'>,
): Decision<{ readonly existed: boolean }, 'E_ADDRESS_COLLISION'> {
  if (stored === null) return allow({ existed: false });
  return stored.sha256 === hashed && stored.form === form
    ? allow({ existed: true })
    : deny('E_ADDRESS_COLLISION', { barcode });
}

/** The data, if what is stored is still what was addressed. */
export function decideRead(
  barcode: string,
  stored: StoredObject,
  digest: Digest = sha256,
): Decision<unknown, 'E_ADDRESS_CORRUPT'> {
  const hashed = digest(stored.text);
  if (hashed !== stored.sha256 || barcodeOf(hashed) !== barcode) return deny('E_ADDRESS_CORRUPT', { barcode });
  return allow(stored.form === 'text' ? stored.text : (JSON.parse(stored.text) as unknown));
}
