/** What one decision of the row rules costs: `npm run bench -- --only decisions`. */
import { decide, keysOf, type Policy } from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { markdownTable } from './figures.ts';

const DECISIONS = 200_000;
const RULES = 64;

const SUBJECT: Subject = {
  userId: 'ada',
  agentId: 'ada',
  workspace: 'acme',
  roles: ['admin', 'editor', 'viewer'],
  team: 'red',
  brain: 'svc',
};

/** The rule that admits is the last of the longest list there may be. */
const POLICY: Policy = {
  readableBy: [...Array.from({ length: RULES - 1 }, (_, index) => `user:somebody-${index}`), 'brain:svc'],
  writableBy: ['role:admin'],
  container: 'acme',
  filter: [],
  mask: [],
};

/** Median and 99th percentile of single decisions in microseconds, the clock included. */
export function measureDecisions(): string {
  const keys = keysOf(SUBJECT);
  const rows = [
    ['one row, keys made for it', () => decide(POLICY, SUBJECT, 'read')],
    ['one of many rows, keys made once', () => decide(POLICY, SUBJECT, 'read', keys)],
  ] as const;
  const measured = rows.map(([name, run]) => {
    const times = Float64Array.from({ length: DECISIONS }, () => timeOf(run)).sort();
    const at = (part: number): string => ((times[Math.floor(DECISIONS * part)] ?? 0) * 1000).toFixed(1);
    return [name, at(0.5), at(0.99)];
  });
  return markdownTable(['decision over 64 rules', 'median us', 'p99 us'], measured);
}

function timeOf(run: () => { readonly allowed: boolean }): number {
  const startedAt = performance.now();
  if (!run().allowed) throw new Error('the decision should admit');
  return performance.now() - startedAt;
}
