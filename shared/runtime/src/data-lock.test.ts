import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { DataLocked, takeLock } from './data-lock.ts';

const MODULE = JSON.stringify(new URL('./data-lock.ts', import.meta.url).href);

function lockFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'service.lock');
}

/** Leaves the lock of a process that is no more. */
function leaveDeadLock(file: string): void {
  const program = `const { takeLock } = await import(${MODULE}); takeLock(${JSON.stringify(file)}); process.kill(process.pid, 'SIGKILL');`;
  spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(readFileSync(file, 'utf8')).toMatch(/^\d+ /);
}

test('a live holder is named in the refusal; a released lock is free', () => {
  const file = lockFile();
  const lock = takeLock(file);
  expect(() => takeLock(file)).toThrow(DataLocked);
  expect(() => takeLock(file)).toThrow(`held by process ${process.pid}`);
  lock.release();
  takeLock(file).release();
});

test('a dead holder is replaced, and nothing is left over', () => {
  const file = lockFile();
  leaveDeadLock(file);
  takeLock(file).release();
  expect(readdirSync(join(file, '..'))).toEqual([]);
});

test('what killed newcomers left is swept by the next that takes the lock', () => {
  const file = lockFile();
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  for (const left of [`${file}.${pid}-0123abcd`, `${file}.takeover`, `${file}.takeover.${pid}-0123abcd`])
    writeFileSync(left, `${pid} 1 boot`);
  const lock = takeLock(file);
  expect(readdirSync(join(file, '..'))).toEqual(['service.lock']);
  lock.release();
});

test('a process that ends without releasing its lock leaves none', () => {
  const file = lockFile();
  const program = `const { takeLock } = await import(${MODULE}); takeLock(${JSON.stringify(file)}); process.exit(3);`;
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', program]).status).toBe(3);
  expect(readdirSync(join(file, '..'))).toEqual([]);
});

test('locks that are taken and released one after the other leave nothing to do at the end of the process', () => {
  const file = JSON.stringify(lockFile());
  // In a process of its own: who else holds a lock in this one is not for this test to say.
  const program = `const { takeLock } = await import(${MODULE}); const count = () => process.listenerCount('exit');
    const counts = [count()]; for (let time = 0; time < 20; time += 1) takeLock(${file}).release(); counts.push(count());
    const last = takeLock(${file}); counts.push(count()); last.release(); console.log(JSON.stringify(counts));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const [before = NaN, after, holding] = JSON.parse(stdout) as number[];
  expect([after, holding]).toEqual([before, before + 1]);
});

test('a process that merely has the number of the holder does not keep the lock', () => {
  const file = lockFile();
  writeFileSync(file, `${process.pid} 1 another-boot`);
  takeLock(file).release();
});

test('releasing leaves a lock alone that someone else holds', () => {
  const file = lockFile();
  const lock = takeLock(file);
  writeFileSync(file, '1 other');
  lock.release();
  expect(readFileSync(file, 'utf8')).toBe('1 other');
});

test('of many processes that find a dead holder exactly one wins', async () => {
  const file = lockFile();
  leaveDeadLock(file);
  const startAt = Date.now() + 1000;
  const program = `
    const { takeLock } = await import(${MODULE});
    while (Date.now() < ${startAt});
    try { takeLock(${JSON.stringify(file)}); console.log('won'); } catch (error) { console.log(error.constructor.name); }
    process.stdin.resume();`;
  const contenders = Array.from({ length: 8 }, () => spawn(process.execPath, ['--input-type=module', '-e', program]));
  const answers = await Promise.all(
    contenders.map(async ({ stdout }) => String((await once(createInterface({ input: stdout }), 'line'))[0])),
  );
  for (const contender of contenders) contender.kill('SIGKILL');
  expect(answers.filter((answer) => answer === 'won')).toHaveLength(1);
  expect(answers.filter((answer) => answer === 'DataLocked')).toHaveLength(7);
});
