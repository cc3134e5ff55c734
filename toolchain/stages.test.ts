import { describe, expect, test, vi } from 'vitest';
import { commandStage, runStages, sideBySide, type Tally, tallyOf, type VitestReport } from './stages.ts';

const allPassed: VitestReport = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  testResults: [{ name: 'a.test.ts', status: 'passed', message: '', assertionResults: [testNamed('adds', 'passed')] }],
};

function testNamed(fullName: string, status: string, ...failureMessages: string[]) {
  return { fullName, status, failureMessages };
}

describe('counting a vitest run', () => {
  test('passes, failures and skips are those of the report', () => {
    expect(tallyOf(allPassed, 0)).toEqual({ passed: 3, failed: 0, skipped: 2, failures: [] });
    expect(tallyOf({ ...allPassed, numFailedTests: 2 }, 1)).toMatchObject({ passed: 3, failed: 2, skipped: 2 });
  });

  test('a file that broke before its tests were known is a failure', () => {
    const broken = { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] };
    const tally = tallyOf({ ...allPassed, testResults: [broken] }, 1);
    expect(tally).toMatchObject({ failed: 1, failures: ['b.test.ts\n    no such module'] });
  });

  test('each test that failed is named with what it said first', () => {
    const assertionResults = [testNamed('adds', 'passed'), testNamed('divides', 'failed', 'wanted 2, got 3\n at x')];
    const file = { name: 'a.test.ts', status: 'failed', message: '', assertionResults };
    const tally = tallyOf({ ...allPassed, numFailedTests: 1, testResults: [file] }, 1);
    expect(tally.failures).toEqual(['divides\n    wanted 2, got 3']);
  });

  test.each([
    ['no report was written', null, 0],
    ['the run ended badly although its tests passed', allPassed, 1],
    [
      'nothing was tested',
      { ...allPassed, numPassedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] },
      0,
    ],
  ])('it is a failure that %s', (_what, report, exitCode) => {
    expect(tallyOf(report, exitCode).failed).toBe(1);
  });
});

describe('a command', () => {
  test.each([
    ['that succeeds', [process.execPath, '-e', ''], { passed: 1, failed: 0, skipped: 0 }],
    ['that ends with a code', [process.execPath, '-e', 'process.exit(3)'], { passed: 0, failed: 1, skipped: 0 }],
    [
      'that is killed',
      [process.execPath, '-e', 'process.kill(process.pid, "SIGKILL")'],
      { passed: 0, failed: 1, skipped: 0 },
    ],
    ['that does not exist', ['no-such-command-here'], { passed: 0, failed: 1, skipped: 0 }],
  ])('%s counts as one test', async (_what, [command = '', ...args], tally) => {
    expect(await commandStage('sample', command, ...args).run()).toEqual(tally);
  });

  test('is over when it ends, whatever it left running', { timeout: 60_000 }, async () => {
    expect(await commandStage('sample', 'sh', '-c', 'sleep 90 &').run()).toMatchObject({ passed: 1 });
  });
});

test('the run ends with the files that took longest', async () => {
  const written: string[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const slowest = [{ file: 'a.test.ts', seconds: 12.34 }];
  await runStages([{ name: 'sample', run: async () => ({ passed: 1, failed: 0, skipped: 0, slowest }) }]);
  stdout.mockRestore();
  expect(written.join('')).toContain('── slowest files: sample\n    12.3 s  a.test.ts\n');
});

test('stages side by side run at the same time and count as one', async () => {
  const both = Promise.withResolvers<void>();
  let begun = 0;
  const stageOf = (name: string, tally: Tally) => ({
    name,
    async run() {
      begun += 1;
      if (begun === 2) both.resolve();
      await both.promise;
      return tally;
    },
  });
  const one = { passed: 3, failed: 0, skipped: 1, slowest: [{ file: 'a', seconds: 1 }] };
  const other = { passed: 4, failed: 2, skipped: 0, failures: ['b failed'], slowest: [{ file: 'b', seconds: 2 }] };
  expect(await sideBySide('both', [stageOf('one', one), stageOf('other', other)]).run()).toEqual({
    passed: 7,
    failed: 2,
    skipped: 1,
    failures: ['b failed'],
    slowest: [
      { file: 'b', seconds: 2 },
      { file: 'a', seconds: 1 },
    ],
  });
});
