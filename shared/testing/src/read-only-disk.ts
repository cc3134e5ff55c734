/** A file system that takes no writes, from root neither. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface ReadOnlyDisk extends Disposable {
  readonly path: string;
}

/** Null, after one loud line, where this user may not mount. */
export function mountReadOnlyDisk(): ReadOnlyDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'read-only-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=100m', 'tmpfs', path], { stdio: 'pipe' });
  } catch {
    rmdirSync(path);
    process.stderr.write('SKIPPED: tests on a read-only disk, because this user may not mount one\n');
    return null;
  }
  return {
    path,
    [Symbol.dispose]() {
      execFileSync('umount', ['--lazy', path]);
      rmdirSync(path);
    },
  };
}
