/** A file system of its own, a few MiB large, that a test fills, takes the writing from, and gives back. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  freeKib(): number;
  /** Not a byte is left, or so much. */
  fill(leftKib?: number): void;
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
    process.stderr.write('SKIPPED: tests on a small disk, because this user may not mount one\n');
    return null;
  }
  const ballast = join(path, 'ballast');
  return {
    path,
    freeKib() {
      const { bavail, bsize } = statfsSync(path);
      return (bavail * bsize) / 1024;
    },
    fill(leftKib = 0) {
      const file = openSync(ballast, 'a');
      try {
        while (leftKib === 0 || this.freeKib() > leftKib) writeSync(file, CHUNK);
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

/**
 * From now on nothing below the folder can be written through it; answers how that ends. The view is made read-only at
 * another place and only then laid over the folder: a mount through which somebody has opened a file to write cannot
 * be made read-only any more.
 */
export function makeReadOnly(folder: string): () => void {
  const view = mkdtempSync(join(tmpdir(), 'svc-read-only-'));
  run('mount', '--bind', folder, view);
  try {
    run('mount', '-o', 'remount,bind,ro', view);
    run('mount', '--bind', view, folder);
  } finally {
    run('umount', view);
    rmdirSync(view);
  }
  return () => run('umount', '--lazy', folder);
}

/** Nobody can change, rename or remove the file, not even root; answers how that ends. */
export function makeImmutable(file: string): () => void {
  run('chattr', '+i', file);
  return () => run('chattr', '-i', file);
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'pipe' });
}
