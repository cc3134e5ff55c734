/** Scenarios that take long, or mostly wait, begin first: otherwise the run ends with one of them and an idle machine. */
import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONGEST = [
  'standstill',
  'faults',
  'qos',
  'gateway-limits',
  'brain-poison',
  'brain-merging',
  'habitat-audit',
  'habitat-families',
  'escrow-crash',
  'brain-crash',
  'islands-crash',
  'rolling',
  'roll',
  'brain-people',
  'brain-disk',
  'gateway-tokens',
  'habitat-concurrency',
  'brain-rows',
  'gateway-bounds',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(basename(moduleId, '.scenario.ts'));
  return at < 0 ? LONGEST.length : at;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
