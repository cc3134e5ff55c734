/** How a process stands to the servers it shares with others, one by one. */
import type { Check } from '@svc/contract/discovery.ts';
import type { Platform, StatelessPlatform } from './platform.ts';

/** How long PostgreSQL has to answer a probe. */
const DATABASE_WITHIN_MS = 800;

export function check(name: string, isOk: boolean): Check {
  return { name, status: isOk ? 'ok' : 'fail' };
}

/** Without Redis limits and schedules are less exact, and everything is served. */
export function wireChecks({ kind, bus, redis }: Pick<StatelessPlatform, 'kind' | 'bus' | 'redis'>): Check[] {
  const wire = check(kind === 'cluster' ? 'nats' : 'bus', bus.connected);
  if (redis === null) return [wire];
  return [wire, { name: 'redis', status: redis.status === 'ready' ? 'ok' : 'degraded' }];
}

export async function storeChecks(platform: Pick<Platform, 'kind' | 'bus' | 'redis' | 'database'>): Promise<Check[]> {
  const answers = await platform.database.ping(DATABASE_WITHIN_MS).then(
    () => true,
    () => false,
  );
  return [check(platform.kind === 'cluster' ? 'postgresql' : 'database', answers), ...wireChecks(platform)];
}
