/**
 * How the scenarios of the cluster share two cores. Most files need nothing but the cluster that all share: several at once,
 * on few processes. The others have a cluster of their own too, which rests while nobody breaks it: one file at a time in
 * each of two runs, so that one works while the other waits until what it broke is whole.
 */
const filesOf = (...names: readonly string[]): readonly string[] =>
  names.map((name) => `scenarios/${name}.scenario.ts`);

/** Every scenario of these has a cluster of its own: their run starts no other. */
export const BREAKING = filesOf(
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
);

/** Some scenarios of these have. */
export const APART = filesOf(
  'agora-garbage',
  'brain-boot',
  'brain-crash',
  'brain-merging',
  'brain-names-everywhere',
  'brain-poison',
  'brain-sync',
  'escrow-frozen',
  'escrow-refused',
  'escrow-services',
  'events',
  'forum-posts',
  'garbage',
  'habitat-audit',
  'habitat-concurrency',
  'habitat-succession',
  'habitat-tampering',
  'habitat-tokens',
  'market-storm',
  'market-windows',
  'memory-crash',
  'settings',
  'storage',
  'temporary',
  'universe-remote',
  'universe-shell',
);

/** `none`: a run of files of the first kind starts no target that files share. */
export const SHARED_TARGET = 'E2E_SHARED_TARGET';
/** How many files of the cluster are run at once; one unless told. */
export const AT_ONCE = 'E2E_CLUSTER_FILES_AT_ONCE';
