/** What each role of a cluster is connected to: NATS and Redis. */
import { type Bus, MAX_PAYLOAD_BYTES } from '@svc/runtime/bus.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { type Config, ConfigProblem } from '@svc/runtime/config.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { connectRedis, readRedisId } from '@svc/runtime/redis.ts';
import type { Redis } from 'ioredis';
import type { ProcessContext } from './process-context.ts';

/** Long enough for balancers to notice that a process is not ready any more. */
const DRAIN_WAIT_MS = 8000;

export type Connected = StatelessPlatform & { readonly redis: Redis; readonly giveUpAt: number; readonly role: string };

/** For services that keep nothing: they get no credential for the database. */
export async function connectCluster(
  context: ProcessContext,
  lifecycle: Lifecycle,
  service: string,
): Promise<Connected> {
  const { config, log, clock } = context;
  const natsUrl = required(config, 'NATS_URL');
  const giveUpAt = clock.now() + config.SVC_START_WAIT_MS;
  const redis = await connectRedis({ url: required(config, 'REDIS_URL'), name: service, log, giveUpAt });
  lifecycle.onShutdown('redis', async () => redis.disconnect());
  const bus = await connectNatsBus({
    urls: [natsUrl],
    name: context.node.instance,
    inboxPrefix: `_INBOX_${service}`,
    member: { group: service, process: context.node.instance },
    deployment: config.SVC_NODE_NAME,
    clock,
    log,
    giveUpAt,
  });
  lifecycle.onShutdown('bus', () => bus.close());
  tellWhenNarrow(bus, log);
  return {
    ...context,
    kind: 'cluster',
    durability: 'full',
    bus,
    links: [
      { name: 'nats', isNeeded: true, isUp: () => bus.connected, isWhole: () => !bus.isDeaf && !isNarrow(bus) },
      { name: 'redis', isNeeded: false, isUp: () => redis.status === 'ready' },
    ],
    shared: (forms) => forms.redis(redis),
    servers: async () => ofServer('REDIS_URL', await readRedisId(redis)),
    drainWaitMs: DRAIN_WAIT_MS,
    redis,
    giveUpAt,
    role: service,
  };
}

/** What fits into a call does not fit through this server: as it comes, NATS takes an eighth of what is needed. */
function isNarrow({ maxPayloadBytes }: Bus): boolean {
  return maxPayloadBytes < MAX_PAYLOAD_BYTES;
}

/** At each connection, because the server may be another one than before. */
function tellWhenNarrow(bus: Bus, log: ProcessContext['log']): void {
  const tell = () => {
    const { maxPayloadBytes } = bus;
    if (isNarrow(bus))
      log.warn({ maxPayloadBytes }, `NATS refuses larger messages: set its max_payload to ${MAX_PAYLOAD_BYTES}`);
  };
  tell();
  bus.onConnection((connected) => {
    if (connected) tell();
  });
}

/** Nothing of one that does not answer. */
export function ofServer(variable: 'DATABASE_URL' | 'REDIS_URL', id: string | null): Readonly<Record<string, string>> {
  return id === null ? {} : { [variable]: id };
}

export function required(config: Config, name: 'DATABASE_URL' | 'NATS_URL' | 'REDIS_URL'): string {
  const value = config[name];
  if (value === undefined) throw new ConfigProblem(`${name} is needed to run a service of the cluster`);
  return value;
}
