/**
 * Files that take long begin first: otherwise the run ends with one of them and an idle machine. Those that mostly wait
 * stand between those that work.
 */
import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONGEST = [
  'standstill.scenario.ts',
  'cli.scenario.ts',
  'gateway-limits.scenario.ts',
  'faults.scenario.ts',
  'brain-sync-network.scenario.ts',
  'qos.scenario.ts',
  'brain-rows.scenario.ts',
  'roll.scenario.ts',
  'habitat-audit.scenario.ts',
  'brain-poison.scenario.ts',
  'operations-guide.scenario.ts',
  'rolling.scenario.ts',
  'brain-merging.scenario.ts',
  'habitat-families.scenario.ts',
  'gateway-tokens.scenario.ts',
  'backup.scenario.ts',
  'gateway-bounds.scenario.ts',
  'restart.scenario.ts',
  'escrow-refused.scenario.ts',
  'escrow-frozen.scenario.ts',
  'brain-boot.scenario.ts',
  'client.scenario.ts',
  'access-matrix.scenario.ts',
  'islands-crash.scenario.ts',
  'escrow-crash.scenario.ts',
  'brain-crash.scenario.ts',
  'mcp-conformance.scenario.ts',
  'brain-people.scenario.ts',
  'brain-disk.scenario.ts',
  'habitat-concurrency.scenario.ts',
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
