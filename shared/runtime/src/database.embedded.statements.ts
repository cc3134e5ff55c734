/**
 * Statements that come again are kept by the session under names of ours: to parse and plan one takes the engine three to
 * eight times what it takes to run it. Clients send them unnamed, as if each was new, and are answered like that.
 */
import { type Answer, type Message, MESSAGE, messageOf, messagesIn } from './database.embedded.messages.ts';

/** With those that came once. A plan takes some tens of kilobytes. */
const MOST_KEPT = 500;
/** Longer ones are made for one occasion. */
const LONGEST_BYTES = 16 * 1024;
const UNNAMED = 0;
const PORTAL = 0x50;
const NAMED = 0x53;
const PARSE_COMPLETE = messageOf(MESSAGE.parseComplete);
const SYNC = messageOf(MESSAGE.sync);

/** A round trip as the session is to run it. */
export interface Trip {
  readonly bytes: Uint8Array;
  /** What the client is to hear first, because the session is not asked for it. */
  readonly answeredBefore: Uint8Array | null;
  /** Kept from now on if the session parses it. */
  readonly parsed: { readonly text: string; readonly name: string } | null;
}

export class KeptStatements {
  /** By text and types of parameters, those used last at the end; null = came once. */
  readonly #names = new Map<string, string | null>();
  #released: string[] = [];
  #made = 0;
  #isSchemaChanging = false;

  use(roundTrip: Uint8Array): Trip {
    const bytes = Buffer.from(roundTrip.buffer, roundTrip.byteOffset, roundTrip.byteLength);
    const once = this.#isSchemaChanging ? null : runOfOneStatement(bytes);
    if (once === null) return { bytes: roundTrip, answeredBefore: null, parsed: null };
    const { parse, bind } = once;
    const text = bytes.toString('latin1', parse.body + 1, parse.to);
    const known = this.#names.get(text);
    this.#remember(text, known ?? null);
    if (known === undefined) return { bytes: roundTrip, answeredBefore: null, parsed: null };
    const name = known ?? `kept_${(this.#made += 1)}`;
    const bound = messageOf(MESSAGE.bind, '', name, bytes.subarray(bind.body + 2, bind.to));
    const rest = bytes.subarray(bind.to);
    if (known !== null) return { bytes: Buffer.concat([bound, rest]), answeredBefore: PARSE_COMPLETE, parsed: null };
    const named = messageOf(MESSAGE.parse, name, bytes.subarray(parse.body + 1, parse.to));
    return { bytes: Buffer.concat([named, bound, rest]), answeredBefore: null, parsed: { text, name } };
  }

  /** A schema that changes in a transaction changes again when that is undone, so until it ends nothing is kept. */
  learn({ parsed }: Trip, answer: Answer, isInTransaction: boolean): void {
    if (parsed !== null && answer.isParsed) this.#remember(parsed.text, parsed.name);
    this.#isSchemaChanging ||= answer.mayChangeSchema;
    if (this.#isSchemaChanging || answer.isStale) this.#forgetAll();
    this.#isSchemaChanging &&= isInTransaction;
  }

  /** A round trip after which the session no longer has what is kept no longer; null = nothing to do. */
  release(): Uint8Array | null {
    if (this.#released.length === 0) return null;
    const closes = this.#released.map((name) => messageOf(MESSAGE.close, Buffer.of(NAMED), name));
    this.#released = [];
    return Buffer.concat([...closes, SYNC]);
  }

  #remember(text: string, name: string | null): void {
    this.#names.delete(text);
    this.#names.set(text, name);
    if (this.#names.size <= MOST_KEPT) return;
    const [oldest] = this.#names;
    if (oldest === undefined) return;
    this.#names.delete(oldest[0]);
    if (oldest[1] !== null) this.#released.push(oldest[1]);
  }

  #forgetAll(): void {
    for (const name of this.#names.values()) if (name !== null) this.#released.push(name);
    this.#names.clear();
  }
}

/** An unnamed statement that is parsed, bound and run in one round trip; null for whatever else a client may send. */
function runOfOneStatement(bytes: Buffer): { readonly parse: Message; readonly bind: Message } | null {
  const [parse, bind, ...rest] = messagesIn(bytes);
  if (parse?.type !== MESSAGE.parse || bind?.type !== MESSAGE.bind) return null;
  if (parse.to - parse.from > LONGEST_BYTES || bytes[parse.body] !== UNNAMED) return null;
  if (bytes[bind.body] !== UNNAMED || bytes[bind.body + 1] !== UNNAMED) return null;
  const isRun = ({ type, body }: Message) =>
    type === MESSAGE.execute || type === MESSAGE.sync || (type === MESSAGE.describe && bytes[body] === PORTAL);
  return rest.every(isRun) ? { parse, bind } : null;
}
