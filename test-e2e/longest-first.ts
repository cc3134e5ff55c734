/**
 * Files that take long begin first: otherwise the run ends with one of them and an idle machine. Those that mostly wait
 * stand between those that work. Those that want their cluster divided in the same way follow each other, because to
 * divide it anew starts processes.
 */
import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONGEST = [
  'market-crash.scenario.ts',
  'standstill.scenario.ts',
  'event-log-crash.scenario.ts',
  'agora-crash.scenario.ts',
  'forum-posts.scenario.ts',
  'universe-crash.scenario.ts',
  'escrow-frozen.scenario.ts',
  'escrow-crash.scenario.ts',
  'universe-worlds-faults.scenario.ts',
  'crews-crash.scenario.ts',
  'universe-cron-crash.scenario.ts',
  'universe-boot-faults.scenario.ts',
  'agora-members.scenario.ts',
  'cli.scenario.ts',
  'cli-terminal.scenario.ts',
  'agora-federation.scenario.ts',
  'gateway-limits.scenario.ts',
  'qos.scenario.ts',
  'operations-guide.scenario.ts',
  'roll.scenario.ts',
  'habitat-audit.scenario.ts',
  'restart.scenario.ts',
  'habitat-tokens.scenario.ts',
  'habitat-concurrency.scenario.ts',
  'escrow-services.scenario.ts',
  'faults.scenario.ts',
  'rolling.scenario.ts',
  'backup.scenario.ts',
  'brain-sync-network.scenario.ts',
  'brain-rows.scenario.ts',
  'brain-poison.scenario.ts',
  'brain-merging.scenario.ts',
  'habitat-families.scenario.ts',
  'gateway-tokens.scenario.ts',
  'gateway-bounds.scenario.ts',
  'escrow-refused.scenario.ts',
  'brain-boot.scenario.ts',
  'client.scenario.ts',
  'access-matrix.scenario.ts',
  'members-at-once.scenario.ts',
  'universe-sandbox.scenario.ts',
  'agora-convergence.scenario.ts',
  'islands-crash.scenario.ts',
  'brain-crash.scenario.ts',
  'mcp-conformance.scenario.ts',
  'brain-people.scenario.ts',
  'brain-disk.scenario.ts',
  'growth.alone.test.ts',
  'mutants.pg.test.ts',
  'jobs.bullmq.redis.test.ts',
  'bus.nats.test.ts',
  'start.test.ts',
  'crash.test.ts',
  'stdio.test.ts',
  'boot-repair.test.ts',
  'remote-failures.test.ts',
  'crash.pg.test.ts',
  'races.pg.test.ts',
  'doors.test.ts',
  'database.embedded.test.ts',
  'socket-rights.test.ts',
  'sockets.test.ts',
  'start-refused.test.ts',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(basename(moduleId));
  return at < 0 ? LONGEST.length : at;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
