import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { createLineWriter } from './line-writer.ts';

const hasFull = process.platform === 'linux';

test.runIf(hasFull)(
  'a disk that takes nothing costs lines of the log, and the process neither its turn nor its end',
  () => {
    const script = `
    import { createLog } from ${JSON.stringify(join(import.meta.dirname, 'log.ts'))};
    const log = createLog('info', {});
    for (let line = 0; line < 1000; line += 1) log.info('nobody takes it');
    setTimeout(() => process.exit(7), 10);`;
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', full],
      timeout: 60_000,
    });
    expect([ended.status, ended.signal]).toEqual([7, null]);
  },
);

test.runIf(hasFull)('where lines are taken again, how many were lost stands before them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'log');
  const fd = openSync(path, 'a');
  const lines = createLineWriter(fd, () => 5);
  lines.write('first\n');
  closeSync(fd);
  for (let line = 0; line < 3; line += 1) lines.write('lost\n');
  // The lowest free number is given again.
  const again = openSync(path, 'a');
  onTestFinished(() => closeSync(again));
  expect(again).toBe(fd);
  lines.write('second\n');
  expect(readFileSync(path, 'utf8')).toBe(
    'first\n{"level":40,"time":5,"lost":3,"msg":"lines of the log were lost"}\nsecond\n',
  );
});
