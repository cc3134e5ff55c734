/**
 * Another deployment under the name of this one, with its key: a copy that was put back from a backup while this one goes on.
 * Peers cannot tell the two apart, and what they ask comes to one of them, so each has to notice by itself.
 */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { RepeatedTrouble } from '@svc/runtime/repeated-trouble.ts';
import { EVERYBODY, MAX_SKEW_MS, readEnvelope } from '../domain/envelope.ts';
import type { Keyring } from '../domain/keyring.ts';
import { PRESENCE } from '../domain/messages.ts';
import { BEACON_EVERY_MS } from '../domain/peer.ts';
import { spendNonce } from '../store/peer-rows.ts';
import type { Sealed } from './wire.ts';

/** The processes of both share what they hear, so that this one hears some of its beacons. */
const TOLD_FOR_MS = 12 * BEACON_EVERY_MS;

export interface OwnDouble {
  /** The text of a beacon, noted before it is sent, so that no process of this deployment takes it for one of the double. */
  noted(beacon: Sealed): Promise<string>;
  /** Judges a text that claims to be from this node. */
  heard(text: string): Promise<void>;
  /** It was heard twice a short while ago: once may have been a beacon that could not be noted. */
  isThere(): boolean;
}

interface DoubleParts {
  readonly keyring: Keyring;
  readonly client: SqlClient;
  readonly log: Platform['log'];
  readonly now: () => number;
}

export function createOwnDouble({ keyring, client, log, now }: DoubleParts): OwnDouble {
  const trouble = new RepeatedTrouble();
  let [lastAt, beforeAt] = [-Infinity, -Infinity];
  const isFresh = (at: number): boolean => Math.abs(now() - at) <= TOLD_FOR_MS;
  const isThere = (): boolean => isFresh(lastAt) && isFresh(beforeAt);

  /** The nonce of what is a beacon of this node, or of its double; else null. */
  function nonceOf(text: string): string | null {
    const read = readEnvelope(text);
    if (typeof read === 'string') return null;
    const { to, type, ts, nonce } = read.envelope;
    if (to !== EVERYBODY || type !== PRESENCE || Math.abs(now() - ts) > MAX_SKEW_MS) return null;
    return keyring.isOwnEnvelope(read.envelope, read.signed) ? nonce : null;
  }

  /** False where it was noted before, and while nobody knows. */
  async function note(nonce: string): Promise<boolean> {
    try {
      return await spendNonce(client, keyring.name, nonce, now());
    } catch (error) {
      log.debug({ err: error }, 'a beacon was not noted');
      return false;
    }
  }

  return {
    isThere,
    async noted({ nonce, text }) {
      await note(nonce);
      return text;
    },
    async heard(text) {
      const nonce = nonceOf(text);
      if (nonce === null || !(await note(nonce))) return;
      [lastAt, beforeAt] = [now(), lastAt];
      if (isThere() && trouble.isDue(keyring.name)) {
        log.error(
          `another deployment is ${keyring.name} too, with its key: stop one of the two, or give it another SVC_NODE_NAME`,
        );
      }
    },
  };
}
