/** What commits are called for whom something of a brain is hidden: the id of a commit tells a guesser what it holds. */
import { createHmac } from 'node:crypto';
import type { IdReadings } from '../git/refs.ts';

const ID_BYTES = 20;
const HALF_BYTES = ID_BYTES / 2;
const ROUNDS = [0, 1, 2, 3] as const;
const FULL_ID = /^[0-9a-f]{40}$/;

/** How one subject names the commits of a brain. */
export interface CommitNames extends IdReadings {
  /** Something of the brain is hidden from whoever names its commits like this. */
  readonly isOpaque: boolean;
  /** The id as it is shown. */
  shown(id: string): string;
  /** A message, say, with the ids in it made unusable for a guess. */
  shownText(text: string): string;
}

/**
 * A permutation of all ids that only the key knows: four Feistel rounds, HMAC-SHA-256 in each. So a handle has the form
 * of an id, is resolved without any list, and tells nothing; one that nobody was shown leads to no commit.
 */
export class CommitHandles {
  readonly #key: Uint8Array;

  /** `brainId`: no two brains share it, also not one after the other under the same name. */
  constructor(key: Uint8Array, brainId: string) {
    this.#key = createHmac('sha256', key).update(`commit-handles\0${brainId}`).digest();
  }

  handleOf(id: string): string {
    let [left, right] = halvesOf(id);
    for (const round of ROUNDS) [left, right] = [right, this.#mixed(left, right, round)];
    return left.toString('hex') + right.toString('hex');
  }

  idOf(handle: string): string {
    let [left, right] = halvesOf(handle);
    for (const round of ROUNDS.toReversed()) [left, right] = [this.#mixed(right, left, round), left];
    return left.toString('hex') + right.toString('hex');
  }

  /** For whom nothing is hidden: git's ids, and the handles that others may have passed on. */
  readonly plain: CommitNames = {
    isOpaque: false,
    shown: (id) => id,
    shownText: (text) => text,
    readings: (hex) => (FULL_ID.test(hex) ? [hex, this.idOf(hex)] : [hex]),
  };

  /** For everybody else: handles alone, and those whole. */
  readonly opaque: CommitNames = {
    isOpaque: true,
    shown: (id) => (FULL_ID.test(id) ? this.handleOf(id) : id),
    shownText: (text) => withoutIds(text, (id) => this.handleOf(id)),
    readings: (hex) => (FULL_ID.test(hex) ? [this.idOf(hex)] : []),
  };

  #mixed(half: Buffer, by: Buffer, round: number): Buffer {
    const mask = createHmac('sha256', this.#key).update(Uint8Array.of(round)).update(by).digest();
    return Buffer.from(half.map((byte, index) => byte ^ (mask[index] ?? 0)));
  }
}

function halvesOf(id: string): [Buffer, Buffer] {
  const bytes = Buffer.from(id, 'hex');
  if (bytes.byteLength !== ID_BYTES) throw new RangeError('not the id of a commit');
  return [bytes.subarray(0, HALF_BYTES), bytes.subarray(HALF_BYTES)];
}

const HEX_WORD = /(?<![0-9A-Za-z])[0-9A-Fa-f]{7,40}(?![0-9A-Za-z])/g;
const SHORTENED = '[id]';

/** `git revert` and its like write whole ids; shortened ones have a digit and a letter but for one in thirty. */
function withoutIds(text: string, handleOf: (id: string) => string): string {
  return text.replaceAll(HEX_WORD, (word) => {
    const hex = word.toLowerCase();
    if (FULL_ID.test(hex)) return handleOf(hex);
    return /[0-9]/.test(hex) && /[a-f]/.test(hex) ? SHORTENED : word;
  });
}

/** As the service itself names them. */
export const OWN_NAMES: CommitNames = {
  isOpaque: false,
  shown: (id) => id,
  shownText: (text) => text,
  readings: (hex) => [hex],
};
