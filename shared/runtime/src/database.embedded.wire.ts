/**
 * The PostgreSQL wire protocol in front of one PGlite session.
 *
 * Every connection shares that session, so two things must never interleave: the messages of one round trip
 * (Parse … Sync share the unnamed statement) and the round trips of one transaction. A round trip therefore runs as one
 * piece, however many packets it arrived in, and an open transaction keeps all other connections waiting.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { Answer, MESSAGE, messageAt, messageOf } from './database.embedded.messages.ts';
import { KeptStatements, type Trip } from './database.embedded.statements.ts';

type Session = Pick<PGlite, 'execProtocolRawStream' | 'isInTransaction' | 'runExclusive'>;

interface Turn {
  readonly socket: Socket;
  /** `null`: the connection is gone; undo what it left open. */
  readonly message: Uint8Array | null;
}

const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST = 80_877_102;
const STARTUP_HEADER_BYTES = 8;
const ROLLBACK = messageOf(MESSAGE.query, 'ROLLBACK');

interface WireServer {
  /** Ends every connection; open transactions are rolled back before it resolves. */
  close(): Promise<void>;
}

/** Serves `session` on the unix socket `path`. `onBroken` is told when the session itself failed: nothing works after that. */
export async function serveWire(
  session: Session,
  options: { path: string; maxConnections: number; onBroken: (error: unknown) => void },
): Promise<WireServer> {
  const queue = createTurns(session, options.onBroken);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    acceptConnection(socket, (message) => queue.add({ socket, message }));
    socket.on('close', () => {
      sockets.delete(socket);
      queue.add({ socket, message: null });
    });
  });
  server.maxConnections = options.maxConnections;
  await listen(server, options.path);
  return {
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await queue.idle();
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** One turn at a time; while a connection has a transaction open, only its turns are taken. */
function createTurns(session: Session, onBroken: (error: unknown) => void) {
  const waiting: Turn[] = [];
  const statements = new KeptStatements();
  let transactionOf: Socket | null = null;
  let busy = false;
  let drained: Promise<void> = Promise.resolve();

  function takeNext(): Turn | undefined {
    if (transactionOf === null) return waiting.shift();
    const index = waiting.findIndex((turn) => turn.socket === transactionOf);
    return index === -1 ? undefined : waiting.splice(index, 1)[0];
  }

  async function run({ socket, message }: Turn): Promise<void> {
    if (message === null && transactionOf !== socket) return;
    const trip = statements.use(message ?? ROLLBACK);
    socket.cork();
    const answer = await session.runExclusive(() => runTrip(socket, trip));
    // From here on it would give each statement the answer of another one.
    if (answer.panic !== null) throw new Error(answer.panic);
    socket.uncork();
    const isInTransaction = session.isInTransaction();
    transactionOf = isInTransaction ? socket : null;
    statements.learn(trip, answer, isInTransaction);
  }

  async function runTrip(socket: Socket, { bytes, answeredBefore }: Trip): Promise<Answer> {
    const released = statements.release();
    if (released !== null) await session.execProtocolRawStream(released, { onRawData() {} });
    const answer = new Answer();
    if (answeredBefore !== null && socket.writable) socket.write(answeredBefore);
    await session.execProtocolRawStream(bytes, {
      onRawData: (data) => {
        const copy = Buffer.from(data); // the engine reuses its memory
        answer.read(copy);
        if (socket.writable) socket.write(copy);
      },
    });
    return answer;
  }

  async function drain(): Promise<void> {
    busy = true; // stays so when the session breaks: no turn is taken after that
    for (let turn = takeNext(); turn !== undefined; turn = takeNext()) await run(turn);
    busy = false;
  }

  return {
    add(turn: Turn): void {
      waiting.push(turn);
      if (!busy) drained = drain().catch(onBroken);
    },
    idle: () => drained,
  };
}

/** Cuts the byte stream of a connection into round trips. */
function acceptConnection(socket: Socket, onRoundTrip: (message: Uint8Array) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  let started = false;
  let scanned = 0;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    if (!started) {
      const rest = readStartup(socket, bytes, onRoundTrip);
      if (rest === null) return;
      bytes = rest;
      started = true;
    }
    for (let next = messageAt(bytes, scanned); next !== null; next = messageAt(bytes, scanned)) {
      const { type, to } = next;
      scanned = to;
      if (type === MESSAGE.terminate) socket.end();
      if (type !== MESSAGE.query && type !== MESSAGE.sync) continue;
      onRoundTrip(Uint8Array.from(bytes.subarray(0, to)));
      bytes = bytes.subarray(to);
      scanned = 0;
    }
  });
}

/** Handles what precedes the typed messages. Answers the bytes after the startup packet, or null while it is incomplete. */
function readStartup(socket: Socket, bytes: Buffer, onRoundTrip: (message: Uint8Array) => void): Buffer | null {
  if (bytes.length < STARTUP_HEADER_BYTES) return null;
  const length = bytes.readUInt32BE(0);
  const code = bytes.readUInt32BE(4);
  if (code === CANCEL_REQUEST) {
    socket.destroy(); // there is no second process that could interrupt the session
    return null;
  }
  if (code === SSL_REQUEST) {
    socket.write('N');
    return readStartup(socket, bytes.subarray(length), onRoundTrip);
  }
  if (bytes.length < length) return null;
  onRoundTrip(Uint8Array.from(bytes.subarray(0, length)));
  return bytes.subarray(length);
}
