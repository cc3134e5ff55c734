/**
 * Files whose every scenario has a cluster of its own, and which mostly wait until what they broke is whole: a run of
 * theirs beside that of the other files lets both wait at the same time, with one broken cluster and not several.
 */
export const BREAKING: readonly string[] = [
  'standstill',
  'faults',
  'agora-members',
  'roll',
  'brain-backup',
  'market-crash',
  'event-log-crash',
  'universe-cron-crash',
  'islands-crash',
  'backup',
  'rolling',
  'universe-crash',
  'universe-worlds-faults',
  'restart',
  'agora-crash',
  'crews-crash',
  'escrow-crash',
  'universe-boot-faults',
  'brain-sync-network',
  'brain-sync-history',
  'semantic',
  'brain-sync-several',
].map((name) => `scenarios/${name}.scenario.ts`);

/** `none`: a run of those files alone starts no target that files share. */
export const SHARED_TARGET = 'E2E_SHARED_TARGET';
