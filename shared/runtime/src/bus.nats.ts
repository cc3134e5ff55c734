/** The bus of a cluster, over NATS core: at most once, no storage. */
import { setTimeout as delay } from 'node:timers/promises';
import { AuthorizationError, connect, type NodeConnectionOptions } from '@nats-io/transport-node';
import type { Bus } from './bus.ts';
import { Absence } from './bus.nats.absence.ts';
import { NatsBus, type NatsBusOptions } from './bus.nats.connection.ts';
import { NatsRefused } from './bus.nats.listening.ts';
import { addressOf, reasonOf, StartProblem } from './start-problem.ts';

const NATS_PORT = '4222';
const FIRST_CONNECT_RETRY_MS = 250;
/** While a start waits, it says so this often. */
const TELL_EVERY_MS = 5000;
const CONNECT_TIMEOUT_MS = 20_000;
const LOOK_TIMEOUT_MS = 5000;

/**
 * Connects, waiting for a server that is not there yet. Throws NatsRefused when the server refuses who we are, StartProblem
 * when it does not come in time.
 */
export async function connectNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { log, giveUpAt = Number.POSITIVE_INFINITY, trouble } = options;
  const address = options.urls.map((url) => addressOf(url, NATS_PORT)).join(', ');
  let toldAt = 0;
  for (;;) {
    try {
      return await connectOnce(options, address, giveUpAt);
    } catch (error) {
      if (error instanceof StartProblem) throw error;
      const now = Date.now();
      if (now + FIRST_CONNECT_RETRY_MS >= giveUpAt) {
        throw new StartProblem(`NATS at ${address} cannot be reached: ${reasonOf(error)} (NATS_URL)`);
      }
      if (trouble === undefined ? now - toldAt >= TELL_EVERY_MS : trouble.isDue(reasonOf(error))) {
        log.warn({ err: error }, `NATS at ${address} cannot be reached yet`);
        toldAt = now;
      }
      await delay(FIRST_CONNECT_RETRY_MS);
    }
  }
}

async function connectOnce(options: NatsBusOptions, address: string, giveUpAt: number): Promise<Bus> {
  const { urls, name, inboxPrefix } = options;
  const timeout = Math.max(FIRST_CONNECT_RETRY_MS, Math.min(CONNECT_TIMEOUT_MS, giveUpAt - Date.now()));
  try {
    const connection = await connect({ ...connectionOptions(urls, name, inboxPrefix), timeout });
    const absence = new Absence({ log: options.log, address, reason: () => reasonAway(options) });
    const bus = new NatsBus(connection, absence, options);
    await bus.start();
    return bus;
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    throw new NatsRefused(`NATS at ${address} refuses the credential in NATS_URL: ${error.message}`);
  }
}

/** Null = it can be reached. What is refused by a server that is there, the connection itself hears. */
async function reasonAway({ urls, name, inboxPrefix }: NatsBusOptions): Promise<string | null> {
  try {
    const another = await connect({
      ...connectionOptions(urls, name, inboxPrefix),
      reconnect: false,
      timeout: LOOK_TIMEOUT_MS,
    });
    await another.close();
    return null;
  } catch (error) {
    return error instanceof AuthorizationError ? null : reasonOf(error);
  }
}

function connectionOptions(
  urls: readonly string[],
  name: string,
  inboxPrefix: string | undefined,
): NodeConnectionOptions {
  const parsed = urls.map((url) => new URL(url));
  const user = decodeURIComponent(parsed[0]?.username ?? '');
  const pass = decodeURIComponent(parsed[0]?.password ?? '');
  return {
    servers: parsed.map(({ host }) => host),
    name,
    ...(pass === '' ? (user === '' ? {} : { token: user }) : { user, pass }),
    ...(parsed.some(({ protocol }) => protocol === 'tls:') ? { tls: {} } : {}),
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    // Stack traces for errors that never happen cost a fifth of the throughput.
    noAsyncTraces: true,
    pingInterval: 5000,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
  };
}
