/** The servers that the processes of a cluster share: whether they answer, and what they say that they are. */
import type { Config } from '@svc/runtime/config.ts';
import type { Platform } from '@svc/runtime/platform.ts';

export interface Server {
  readonly name: 'postgres' | 'bus' | 'queue';
  readonly kind: string;
  readonly variable: 'DATABASE_URL' | 'NATS_URL' | 'REDIS_URL';
  readonly configured: boolean;
  /** What answers, with its version. Throws when nothing does. */
  probe(withinMs: number): Promise<string>;
}

type Needs = Pick<Platform, 'bus' | 'clock' | 'config' | 'database' | 'links' | 'shared'>;

/** Without a server of its own the part runs inside of this process, and its probe says so. */
export function serversOf(platform: Needs): Record<Server['name'], Server> {
  const { bus, config, database, shared, links } = platform;
  const server = (name: Server['name'], variable: Server['variable'], probe: Server['probe']): Server => ({
    name,
    kind: KINDS[name],
    variable,
    configured: isSet(config, variable),
    probe,
  });
  return {
    postgres: server('postgres', 'DATABASE_URL', async (withinMs) => {
      await database.ping(withinMs);
      const { rows } = await database.pool.query<{ server_version: string }>('SHOW server_version');
      return `PostgreSQL ${rows[0]?.server_version ?? ''}${isSet(config, 'DATABASE_URL') ? '' : ' in this process'}`;
    }),
    bus: server('bus', 'NATS_URL', async () => {
      if (!bus.connected || links.some(({ name, isUp }) => (name === 'nats' || name === 'bus') && !isUp()))
        throw new Error('the connection to the bus is lost');
      return isSet(config, 'NATS_URL') ? 'NATS' : 'in this process';
    }),
    queue: server('queue', 'REDIS_URL', () =>
      shared({
        memory: async () => 'in this process',
        async redis(redis) {
          if (redis.status !== 'ready') throw new Error('the connection to Redis is lost');
          const [, version = ''] = /^redis_version:(\S+)/m.exec(await redis.info('server')) ?? [];
          return `Redis ${version}`.trim();
        },
      }),
    ),
  };
}

const KINDS: Readonly<Record<Server['name'], string>> = { postgres: 'database', bus: 'bus', queue: 'queue' };

function isSet(config: Config, variable: Server['variable']): boolean {
  return config[variable] !== undefined;
}
