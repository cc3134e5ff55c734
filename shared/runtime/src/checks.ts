/** How a process stands to the servers it shares with others, one by one. */
import type { Check } from '@svc/contract/discovery.ts';
import type { Link, Platform, StatelessPlatform } from './platform.ts';

/** How long PostgreSQL has to answer a probe. */
const DATABASE_WITHIN_MS = 800;

export function check(name: string, isOk: boolean): Check {
  return { name, status: isOk ? 'ok' : 'fail' };
}

export function linkChecks({ links }: Pick<StatelessPlatform, 'links'>): Check[] {
  return links.map((link) => ({ name: link.name, status: linkStatus(link) }));
}

function linkStatus({ isNeeded, isUp, isWhole = isUp }: Link): Check['status'] {
  if (!isUp()) return isNeeded ? 'fail' : 'degraded';
  return isWhole() ? 'ok' : 'degraded';
}

export async function storeChecks(platform: Pick<Platform, 'links' | 'database'>): Promise<Check[]> {
  const { database } = platform;
  // What only reads goes on where nothing is written.
  const status = await database.ping(DATABASE_WITHIN_MS).then(
    (takesWrites) => (takesWrites ? 'ok' : 'degraded'),
    () => 'fail' as const,
  );
  return [{ name: database.name, status }, ...linkChecks(platform)];
}
