/** A PostgreSQL whose connections break at a chosen statement of a section, and that can be out of reach for new ones. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The statement never arrives, or nobody hears its answer. */
export type Cut = 'unsent' | 'unanswered';
export const CUTS: readonly Cut[] = ['unsent', 'unanswered'];

/** Each statement of a section of that many that never arrives, and COMMIT, of which nobody hears that it was done. */
export function cutsOf(length: number): (readonly [Cut, number])[] {
  const unsent = Array.from({ length: length - 1 }, (_, index) => ['unsent', index + 1] as const);
  return [...unsent, ['unanswered', length - 1]];
}

export interface CutDatabase {
  readonly url: string;
  /**
   * The statement of that number, BEGIN being 0, is the last that the connection of the next section carries. `held`: it
   * stays open, and nobody hears anything on it any more.
   */
  cutAt(index: number | 'COMMIT', cut: Cut, ends?: 'lost' | 'away' | 'held'): void;
  /** False as long as the section was not cut. */
  readonly isCut: boolean;
  /** How many statements the last section had. */
  readonly length: number;
  /** Out of reach: every connection is lost, and no new one is taken. */
  goAway(): void;
  comeBack(): void;
  close(): Promise<void>;
}

/** What enters a section. */
const ENTERS = 'brain.brain_leases l JOIN brain.brain_owners';
/** A server that is idle has answered by then. */
const ANSWERED_MS = 100;

interface Plan {
  readonly index: number | 'COMMIT';
  readonly cut: Cut;
  readonly ends: 'away' | 'held' | 'lost';
}

class Cutting {
  plan: Plan | null = null;
  length = 0;
  isAway = false;
  readonly #texts = new Map<string, string>();
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();

  readonly #enters: string;

  constructor(target: string, enters: string) {
    this.#target = new URL(target);
    this.#enters = enters;
  }

  accept(client: Socket): void {
    if (this.isAway) {
      client.destroy();
      return;
    }
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [client, server]) this.#sockets.add(socket.on('error', () => {}));
    const end = () => [client, server].map((socket) => socket.destroy());
    client.on('close', end);
    server.on('close', end);
    let isDeaf = false;
    server.on('data', (data) => isDeaf || client.write(data));
    const statements = new Statements(this.#texts, this.#enters);
    client.on('data', (data) => {
      for (const piece of statements.take(data)) {
        if (isDeaf) return;
        const plan = this.#planFor(piece);
        if (plan === null) {
          server.write(piece.bytes);
          continue;
        }
        isDeaf = true;
        const cut = () => (plan.ends === 'away' ? this.goAway() : plan.ends === 'lost' && end());
        if (plan.cut === 'unsent') cut();
        else server.write(piece.bytes, () => setTimeout(cut, ANSWERED_MS));
      }
    });
  }

  /** A plan is for one statement. */
  #planFor({ index, isCommit, isOfSection }: Piece): Plan | null {
    if (!isOfSection || index === null) return null;
    this.length = index + 1;
    const { plan } = this;
    if (plan === null || (plan.index === 'COMMIT' ? !isCommit : plan.index !== index)) return null;
    this.plan = null;
    return plan;
  }

  goAway(): void {
    this.isAway = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}

interface Piece {
  readonly bytes: Buffer;
  /** Of a statement in its transaction; null = it is none, or in none. */
  readonly index: number | null;
  readonly isCommit: boolean;
  readonly isOfSection: boolean;
}

const HEADER_BYTES = 4;

/** Cuts what a client sends into statements; what comes before the first one is passed on as it is. */
class Statements {
  readonly #texts: Map<string, string>;
  #rest = Buffer.alloc(0);
  #isStarted = false;
  #parts: Buffer[] = [];
  #text = '';
  /** Of the transaction; null = there is none. */
  #index: number | null = null;
  #isOfSection = false;

  readonly #enters: string;

  /** `texts`: of named statements, by name, of all connections. */
  constructor(texts: Map<string, string>, enters: string) {
    this.#texts = texts;
    this.#enters = enters;
  }

  take(data: Buffer): Piece[] {
    this.#rest = Buffer.concat([this.#rest, data]);
    const pieces: Piece[] = [];
    for (let message = this.#next(); message !== null; message = this.#next()) {
      this.#parts.push(message);
      if (this.#isEndOfStatement(message)) pieces.push(this.#piece());
    }
    return pieces;
  }

  #next(): Buffer | null {
    const typed = this.#isStarted ? 1 : 0;
    if (this.#rest.length < typed + HEADER_BYTES) return null;
    const length = this.#rest.readInt32BE(typed) + typed;
    if (this.#rest.length < length) return null;
    const message = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return message;
  }

  #isEndOfStatement(message: Buffer): boolean {
    const type = this.#isStarted ? String.fromCharCode(message[0] ?? 0) : '';
    this.#isStarted = true;
    const [first = '', second = ''] = message
      .subarray(1 + HEADER_BYTES)
      .toString('latin1')
      .split('\0');
    if (type === 'Q') this.#text = first;
    if (type === 'P') this.#texts.set(first, second);
    if (type === 'B') this.#text = this.#texts.get(second) ?? '';
    return !'PBDE'.includes(type) || type === '';
  }

  #piece(): Piece {
    const text = this.#text;
    if (text.startsWith('BEGIN')) this.#isOfSection = false;
    if (text.includes(this.#enters)) this.#isOfSection = true;
    if (text.startsWith('BEGIN')) this.#index = 0;
    else if (this.#index !== null && text !== '') this.#index += 1;
    const isCommit = text.startsWith('COMMIT');
    const piece = { bytes: Buffer.concat(this.#parts), index: this.#index, isCommit, isOfSection: this.#isOfSection };
    if (/^(?:COMMIT|ROLLBACK)/.test(text)) this.#index = null;
    this.#parts = [];
    this.#text = '';
    return piece;
  }
}

/** `enters`: a part of the statement by which the transactions that may be cut are known. */
export async function startCutDatabase(target: string, enters = ENTERS): Promise<CutDatabase> {
  const cutting = new Cutting(target, enters);
  const server = createServer((client) => cutting.accept(client));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    cutAt(index, cut, ends = 'lost') {
      cutting.plan = { index, cut, ends };
    },
    get isCut() {
      return cutting.plan === null;
    },
    get length() {
      return cutting.length;
    },
    goAway: () => cutting.goAway(),
    comeBack() {
      cutting.isAway = false;
    },
    async close() {
      server.close();
      cutting.goAway();
    },
  };
}
