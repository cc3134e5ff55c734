/** Messages of the PostgreSQL wire protocol: a byte that says what it is, the length of the rest, the rest. */

const HEADER_BYTES = 5;
const CODE = /(?:^|\0)C([0-9A-Z]{5})\0/;
const ENDS_SERVER = /(?:^|\0)V(?:PANIC|FATAL)\0/;
/** What commands complete with that leave it as it is what a statement means; whatever else does may change a table. */
const KEEPS_SCHEMA =
  /^(?:SELECT|INSERT|UPDATE|DELETE|MERGE|BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|SHOW|LOCK|TRUNCATE|COPY|EXPLAIN|VACUUM|ANALYZE|CHECKPOINT|DISCARD PLANS|DECLARE|FETCH|CLOSE)\b/;
/** A kept plan that no longer fits its table, or a kept statement that is not there. */
const STALE: readonly string[] = ['0A000', '26000'];

/** Where a message begins and ends; its body begins after the header. */
export interface Message {
  readonly type: number;
  readonly from: number;
  readonly body: number;
  readonly to: number;
}

export const MESSAGE = {
  bind: 0x42,
  close: 0x43,
  commandComplete: 0x43,
  describe: 0x44,
  execute: 0x45,
  error: 0x45,
  parse: 0x50,
  parseComplete: 0x31,
  query: 0x51,
  sync: 0x53,
  terminate: 0x58,
} as const;

/** The first message from `from` on; null while it is not whole. */
export function messageAt(bytes: Buffer, from: number): Message | null {
  const body = from + HEADER_BYTES;
  if (bytes.length < body) return null;
  const to = from + 1 + bytes.readUInt32BE(from + 1);
  return bytes.length < to ? null : { type: bytes[from] ?? 0, from, body, to };
}

export function* messagesIn(bytes: Buffer): Generator<Message> {
  for (let message = messageAt(bytes, 0); message !== null; message = messageAt(bytes, message.to)) yield message;
}

export function messageOf(type: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)));
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = type;
  header.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([header, body]);
}

/** What the session answers in one round trip, as far as it concerns those who keep the session. */
export class Answer {
  /** Its text, where a server would have ended, such as for a full disk under its log; this engine goes on, out of step. */
  panic: string | null = null;
  isParsed = false;
  mayChangeSchema = false;
  isStale = false;

  /** Each time whole messages. */
  read(bytes: Buffer): void {
    for (const { type, body, to } of messagesIn(bytes)) {
      if (type === MESSAGE.parseComplete) this.isParsed = true;
      else if (type === MESSAGE.commandComplete)
        this.mayChangeSchema ||= !KEEPS_SCHEMA.test(bytes.toString('latin1', body, to - 1));
      else if (type === MESSAGE.error) this.#readError(bytes.toString('utf8', body, to));
    }
  }

  #readError(text: string): void {
    if (ENDS_SERVER.test(text)) this.panic ??= text.replaceAll('\0', ' ').trim();
    this.isStale ||= STALE.includes(CODE.exec(text)?.[1] ?? '');
  }
}
