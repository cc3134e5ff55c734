import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { JobLog } from './job-log.ts';
import type { JobDeclaration } from './jobs.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a job that goes on failing is told once a minute, another reason at once, and the end of it', async () => {
  const lines: string[] = [];
  const tell = (level: string) => (fields: object) => {
    const { job, failures } = fields as { job: string; failures: number };
    lines.push(`${level} ${job} ${failures}`);
  };
  const log = new JobLog({ error: tell('error'), warn: tell('warn'), info: tell('info') });
  const context = { scheduledAt: 0, signal: AbortSignal.abort() };
  let trouble: Error | null = null;
  const job: JobDeclaration = {
    id: 'test.job',
    everyMs: 1000,
    scope: 'process',
    async run() {
      if (trouble !== null) throw trouble;
    },
  };
  const second = async (count: number) => {
    for (let run = 0; run < count; run += 1) {
      await log.run(job, context);
      vi.advanceTimersByTime(1000);
    }
  };
  await second(3);
  trouble = new Error('away');
  await second(61);
  trouble = new Error('broken');
  await second(2);
  for (const code of ['ECONNREFUSED', '57P03']) {
    trouble = Object.assign(new Error(`met as ${code}`), { code });
    await second(2);
  }
  trouble = null;
  await second(2);
  trouble = new Error('broken');
  await second(1);
  expect(lines).toEqual([
    'error test.job 1',
    'error test.job 61',
    'error test.job 62',
    'warn test.job 64',
    'info test.job 67',
    'error test.job 1',
  ]);
});
