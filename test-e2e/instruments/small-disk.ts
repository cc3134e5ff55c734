/** A file system of its own, a few MiB large, that a scenario fills, takes the writing from, and gives it back. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  freeKib(): number;
  /** Not a byte is left. */
  fill(): void;
  /** Takes away what `fill` put there. */
  empty(): void;
  dispose(): void;
}

const CHUNK = Buffer.alloc(4096, 'x');

/** Null, after one loud line, where this user may not mount. */
export function mountSmallDisk(mib: number): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', path);
  } catch {
    rmdirSync(path);
    process.stderr.write('SKIPPED: scenarios on a small disk, because this user may not mount one\n');
    return null;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    freeKib() {
      const { bavail, bsize } = statfsSync(path);
      return (bavail * bsize) / 1024;
    },
    fill() {
      const file = openSync(ballast, 'a');
      try {
        for (;;) writeSync(file, CHUNK);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    dispose() {
      run('umount', '--lazy', path);
      rmdirSync(path);
    },
  };
}

/** From now on nothing below the folder can be written; answers how that ends. */
export function makeReadOnly(folder: string): () => void {
  run('mount', '--bind', folder, folder);
  run('mount', '-o', 'remount,bind,ro', folder);
  return () => run('umount', folder);
}

/** Nobody can change, rename or remove the file, not even root; answers how that ends. */
export function makeImmutable(file: string): () => void {
  run('chattr', '+i', file);
  return () => run('chattr', '-i', file);
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'ignore' });
}
