/** What a piece of work sends: statements to the database, waits for their answers, questions over the bus. The same on a busy machine. */
import type { Platform } from '@svc/runtime/platform.ts';

export interface Traffic {
  /** Texts of the statements outside of transactions. */
  readonly statements: readonly string[];
  /** Those that have begun. */
  readonly transactions: readonly Transaction[];
  /** Subjects of messages that ask, whatever number of questions is in each. */
  readonly asked: readonly string[];
}

interface Transaction {
  /** From BEGIN to the end. */
  readonly statements: readonly string[];
  /** Statements that go out together are waited for once. */
  readonly waits: number;
}

interface Connection {
  query(...args: unknown[]): unknown;
}

interface Sent extends Transaction {
  readonly statements: string[];
  waits: number;
}

interface Count {
  readonly statements: string[];
  readonly transactions: Sent[];
  readonly asked: string[];
}

/** Of a transaction that takes long: how many there are the machine decides. */
const SIGN_OF_LIFE = 'SELECT 1';

/** Starts to watch; the answered function tells what `work`, and whatever else goes on meanwhile, has sent. */
export function watchTraffic({
  database: { pool },
  bus,
}: Pick<Platform, 'database' | 'bus'>): (work: () => Promise<unknown>) => Promise<Traffic> {
  let count = nothing();
  const watched = new WeakSet<object>();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    watch(client, () => count);
  });
  const request = bus.request.bind(bus);
  bus.request = (...args) => {
    count.asked.push(args[0]);
    return request(...args);
  };
  return async (work) => {
    count = nothing();
    await work();
    return count;
  };
}

function nothing(): Count {
  return { statements: [], transactions: [], asked: [] };
}

function watch(connection: Connection, count: () => Count): void {
  const query = connection.query.bind(connection);
  let pending = 0;
  let transaction: Sent | null = null;
  connection.query = (...args) => {
    const [what] = args;
    const text = typeof what === 'string' ? what : (what as { readonly text: string }).text;
    if (text === SIGN_OF_LIFE) return query(...args);
    if (text.startsWith('BEGIN')) {
      transaction = { statements: [], waits: 0 };
      count().transactions.push(transaction);
    }
    (transaction ?? count()).statements.push(text);
    if (transaction !== null && pending === 0) transaction.waits += 1;
    if (text === 'COMMIT' || text === 'ROLLBACK') transaction = null;
    const answer = query(...args);
    // Whoever gives a callback has one statement, and no transaction.
    if (typeof args.at(-1) === 'function') return answer;
    pending += 1;
    const end = (): void => {
      pending -= 1;
    };
    Promise.resolve(answer).then(end, end);
    return answer;
  };
}
